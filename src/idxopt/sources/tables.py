"""CSV, TSV and Parquet: one document a row, values as the program's metadata types say."""

from __future__ import annotations

import base64
import csv
import datetime as dt
import decimal
import importlib
import math
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from idxopt.errors import SourceError
from idxopt.program.schema import Source as SourceMapping
from idxopt.sources.lines import read_lines, text_problem
from idxopt.sources.rejects import Reject, reading
from idxopt.sources.source import Record

_DELIMITERS = ",;\t"
_BATCH_ROWS = 500
_TRUTH = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def _boolean(text: str) -> bool:
    return _TRUTH[text.strip().lower()]


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("JSON has no such number")
    return value


_TYPES: dict[str, Callable[[str], Any]] = {
    "integer": int,
    "long": int,
    "float": _number,
    "double": _number,
    "boolean": _boolean,
}


def delimited(
    path: Path, mapping: SourceMapping, max_bytes: int, delimiter: str | None = None
) -> Iterator[Record | Reject]:
    """Rows below a header line. Empty cells are left out; numbers and booleans are read as `source.metadata` says.

    Raises SourceError for a header or a quoting that cannot be right: nothing below it could be trusted.
    """
    csv.field_size_limit(max(csv.field_size_limit(), max_bytes))
    header: list[str] | None = None
    lines = _text_lines(path, max_bytes)
    first = next(lines, None)
    if first is None:
        return
    reader = csv.reader(_chain(first, lines), delimiter=delimiter or _delimiter(path, first), strict=True)
    types = {column: type_ for column, type_ in mapping.metadata.items() if type_ in _TYPES}
    while True:
        place = f"{path}:{reader.line_num + 1}"
        try:
            cells = next(reader, None)
        except csv.Error as error:
            raise SourceError(
                f"the row cannot be read ({error})",
                remedy='put a cell that holds quotes or line ends in quotes, and double the quotes inside: "a ""b"""',
                place=place,
            ) from error
        if cells is None:
            return
        if not any(cells):
            continue
        if header is None:
            header = _header(place, cells)
        else:
            yield _row(place, header, cells, types)


def _text_lines(path: Path, max_bytes: int) -> Iterator[str]:
    for line in read_lines(path, max_bytes):
        problem = line if isinstance(line, Reject) else text_problem(f"{path}:{line.number}", line.raw, line.offset)
        if problem is not None:
            raise problem.error()
        assert not isinstance(line, Reject)
        yield line.raw.decode("utf-8")


def _chain(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest


def _delimiter(path: Path, header: str) -> str:
    def cells(delimiter: str) -> int:
        try:
            return len(next(csv.reader([header], delimiter=delimiter)))
        except csv.Error as error:
            raise SourceError(
                f"the header cannot be read ({error})", remedy="write it as CSV", place=f"{path}:1"
            ) from error

    return max(_DELIMITERS, key=cells)


def _header(place: str, cells: list[str]) -> list[str]:
    names = [cell.strip() for cell in cells]
    if not all(names):
        raise SourceError(
            f"column {names.index('') + 1} has no name", remedy="name every column in the header", place=place
        )
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SourceError(f"the column `{twice[0]}` occurs twice", remedy="give each column its own name", place=place)
    return names


def _row(place: str, header: list[str], cells: list[str], types: Mapping[str, str]) -> Record | Reject:
    if len(cells) != len(header):
        return Reject(
            place,
            f"the row has {len(cells)} cells, the header {len(header)}",
            "quote cells that hold the delimiter, or fill the row",
        )
    value: dict[str, Any] = {name: cell for name, cell in zip(header, cells, strict=True) if cell}
    for column in sorted(types.keys() & value.keys()):
        try:
            value[column] = _TYPES[types[column]](value[column])
        except (ValueError, KeyError):
            return Reject(
                place,
                f"`{value[column][:60]}` in column `{column}` is no {types[column]}, as the program's metadata says",
                "correct the cell, or declare the column as keyword",
            )
    return Record(place, value)


def parquet(path: Path, max_bytes: int) -> Iterator[Record | Reject]:
    """Rows of a Parquet file. Dates and times become ISO 8601 texts, decimals numbers, bytes base64."""
    with reading(path), path.open("rb") as file:
        rows = _parquet_file(path, file)
        number = 0
        for batch in rows.iter_batches(batch_size=_BATCH_ROWS):
            for value in batch.to_pylist():
                number += 1
                place = f"{path}: row {number}"
                plain = {key: _plain(item) for key, item in value.items() if item is not None}
                size = sum(len(item) for item in plain.values() if isinstance(item, str))
                if size > max_bytes:
                    yield Reject(place, f"the document is larger than {max_bytes:,} bytes", "split it or leave it out")
                else:
                    yield Record(place, plain)


def parquet_rows(path: Path) -> int:
    """Number of rows, from the file's footer."""
    with reading(path), path.open("rb") as file:
        return int(_parquet_file(path, file).metadata.num_rows)


def _parquet_file(path: Path, file: Any) -> Any:
    try:
        module = importlib.import_module("pyarrow.parquet")
    except ImportError as error:
        raise SourceError(
            "Parquet files need pyarrow, which is not installed",
            remedy="pip install 'idxopt[parquet]'",
            place=str(path),
        ) from error
    try:
        return module.ParquetFile(file)
    except (OSError, ValueError) as error:  # pyarrow's ArrowInvalid is a ValueError
        raise SourceError(f"is no Parquet file ({error})", remedy="write the file again", place=str(path)) from error


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value
