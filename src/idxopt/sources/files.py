"""One file of documents: the reader is chosen by the file's name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from idxopt.errors import SourceError
from idxopt.program.schema import Source as SourceMapping
from idxopt.sources import jsonfiles, tables
from idxopt.sources.lines import estimate_lines
from idxopt.sources.places import file_marks
from idxopt.sources.rejects import Reject, reading
from idxopt.sources.source import Estimate, Kind, Options, Record

EXTENSIONS = {
    ".jsonl": "lines",
    ".ndjson": "lines",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
}
"""File name endings (`.gz` may follow all but Parquet's) and how they are read."""


def format_of(path: Path) -> str | None:
    """How a file is read, by its name; None for a name that says nothing."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return EXTENSIONS.get(suffixes[-1]) if suffixes else None


class FileReader:
    """JSON Lines, JSON, CSV, TSV or Parquet. `kind` is `beir` for the corpus of a BEIR folder."""

    def __init__(self, path: Path, place: str, mapping: SourceMapping, options: Options, kind: Kind = "file") -> None:
        found = format_of(path)
        if found is None:
            endings = ", ".join(EXTENSIONS)
            from idxopt.sources.folder import MARKUPS  # its parsers are slow to import

            if path.suffix.lower() in MARKUPS:
                raise SourceError(
                    "is one page; pages are read from a folder, a document a file",
                    remedy=f"name its folder: {path.parent}",
                    place=place,
                )
            raise SourceError(
                f"the name does not say what is in it ({path.suffix or 'no ending'})",
                remedy=f"give the file one of these endings: {endings} (.gz may follow)",
                place=place,
            )
        with reading(path, place):
            if path.stat().st_size == 0:
                raise SourceError("the file is empty", remedy="give a file with at least one document", place=place)
        self.kind: Kind = kind
        self.place = place
        self._path = path
        self._format = found
        self._mapping = mapping
        self._max_bytes = options.max_document_bytes

    def records(self) -> Iterator[Record | Reject]:
        """Documents in the order of the file."""
        match self._format:
            case "csv":
                return tables.delimited(self._path, self._mapping, self._max_bytes)
            case "tsv":
                return tables.delimited(self._path, self._mapping, self._max_bytes, "\t")
            case "parquet":
                return tables.parquet(self._path, self._max_bytes)
            case "json" if jsonfiles.holds_array(self._path):
                return jsonfiles.json_array(self._path, self._max_bytes)
        return jsonfiles.json_lines(self._path, self._max_bytes)

    def marks(self) -> dict[str, Any]:
        return file_marks([(self._path.name, self._path)])

    def estimate(self) -> Estimate:
        """Parquet knows its rows; of other files the first 4 MB are counted (a JSON array only by its bytes)."""
        if self._format == "parquet":
            with reading(self._path):
                size = self._path.stat().st_size
            return Estimate(tables.parquet_rows(self._path), size, exact=True)
        lines, size, whole = estimate_lines(self._path)
        if self._format == "json" and jsonfiles.holds_array(self._path):
            return Estimate(None, size)
        header = 1 if self._format in ("csv", "tsv") else 0
        return Estimate(max(lines - header, 0), size, exact=whole and self._format == "lines")
