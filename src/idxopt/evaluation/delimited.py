"""Query and judgment tables with a header: CSV, semicolon- and tab-separated, tolerant in their column names.

Understood names (case, spaces and underscores do not matter): those of BEIR (`query-id`, `corpus-id`, `score`),
of Quepid (`query`, `docid`, `rating`) and the usual ones of spreadsheets. Where there is no query id the query's
text is its id.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from idxopt.errors import SourceError
from idxopt.evaluation.lines import read_lines

_NAMES: dict[str, frozenset[str]] = {
    "query_id": frozenset({"query-id", "queryid", "qid", "q-id", "id", "topic", "topic-id", "query-number"}),
    "text": frozenset({"query", "text", "query-text", "querytext", "question", "title"}),
    "doc_id": frozenset(
        {"doc-id", "docid", "doc", "did", "docno", "document", "document-id", "corpus-id", "corpusid", "passage-id"}
    ),
    "grade": frozenset({"grade", "score", "rel", "relevance", "rating", "label", "judgment", "judgement"}),
}
_DELIMITERS = ("\t", ",", ";")


@dataclass(frozen=True)
class Columns:
    """Positions of the columns that were recognised."""

    delimiter: str
    query_id: int | None
    text: int | None
    doc_id: int | None
    grade: int | None

    @property
    def holds_queries(self) -> bool:
        return self.text is not None

    @property
    def holds_judgments(self) -> bool:
        return self.doc_id is not None and self.grade is not None and (self.query_id, self.text) != (None, None)


@dataclass(frozen=True, slots=True)
class TableRow:
    """One line of a table; a column that the table lacks is None."""

    line: int
    query_id: str
    text: str | None
    doc_id: str | None
    grade: str | None


def recognise_header(line: str) -> Columns | None:
    """The columns that a first line names, or None if it is no header."""
    for delimiter in _DELIMITERS:
        try:
            cells = next(csv.reader([line], delimiter=delimiter, strict=True), [])
        except csv.Error:
            continue
        columns = _columns(cells, delimiter)
        if columns.holds_judgments or None not in (columns.query_id, columns.text):
            return columns
    return None


def read_table(path: Path, columns: Columns) -> Iterator[TableRow]:
    """Yield the rows below the header. Raises SourceError with FILE:LINE for a row that cannot be read."""
    rows = read_cells(path, columns.delimiter)
    next(rows, None)
    for line, cells in rows:
        yield _row(path, line, cells, columns)


def read_cells(path: Path, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line and the cells of every row that is not empty, the header too. Raises SourceError (FILE:LINE)."""
    reader = csv.reader((text for _, text in read_lines(path)), delimiter=delimiter, strict=True)
    while True:
        start = reader.line_num + 1
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise SourceError(
                f"the row cannot be read ({error})",
                remedy='put a field that holds quotes or line ends in quotes, and double the quotes inside: "a ""b"""',
                place=f"{path}:{start}",
            ) from error
        if any(cell.strip() for cell in cells):
            yield start, cells


def _columns(cells: list[str], delimiter: str) -> Columns:
    names = [cell.strip().lower().replace("_", "-").replace(" ", "-").strip("-#") for cell in cells]

    def position(role: str) -> int | None:
        return next((index for index, name in enumerate(names) if name in _NAMES[role]), None)

    return Columns(delimiter, position("query_id"), position("text"), position("doc_id"), position("grade"))


def _row(path: Path, line: int, cells: list[str], columns: Columns) -> TableRow:
    def cell(role: str, index: int | None) -> str | None:
        if index is None:
            return None
        value = cells[index].strip() if index < len(cells) else ""
        if not value:
            raise SourceError(
                f"the row has no {role}", remedy=f"fill column {index + 1} or remove the row", place=f"{path}:{line}"
            )
        return value

    text = cell("query text", columns.text)
    query_id = cell("query id", columns.query_id) or text
    if query_id is None:
        raise SourceError("the table has no query column", remedy="add a column query-id", place=f"{path}:1")
    return TableRow(line, query_id, text, cell("document id", columns.doc_id), cell("grade", columns.grade))
