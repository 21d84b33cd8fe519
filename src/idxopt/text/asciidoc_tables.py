"""Tables of AsciiDoc (`|===`)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from idxopt.text.blocks import Table, TableRow
from idxopt.text.inline import strip_asciidoc

_COLUMNS = re.compile(r"cols=\"?(?P<columns>[^\"\]]*)")
_HEADER = re.compile(r"%header|(?:options|opts)=\"?[^\"]*header")
_SPECIFIER = re.compile(
    r"(?:^|(?<=\s))(?:(?P<count>\d{1,3})(?:\.\d{1,3})?(?P<sign>[*+])|\.\d{1,3}\+)?[<^>.]{0,4}[a-z]?$"
)
_MAX_COLUMNS = 1_000

SourceLine = tuple[str, int, int]
"""A line of a table and its span in the text."""


@dataclass(slots=True)
class _Cell:
    text: str
    start: int
    end: int


def read_table(lines: Sequence[SourceLine], separator: str, attributes: str) -> Table:
    """The rows between the delimiters. Header: by option, or a first line of cells that a blank line follows."""
    cells: list[_Cell] = []
    width = _declared_width(attributes)
    for line in lines:
        _read_line(line, separator, cells)
        width = width or len(cells)
    width = max(1, width)
    rows = [_row(cells[first : first + width]) for first in range(0, len(cells), width)]
    implicit = len(lines) > 1 and bool(lines[0][0]) and not lines[1][0] and bool(rows) and rows[0].end == lines[0][2]
    header = 1 if rows and (implicit or _HEADER.search(attributes)) else 0
    return Table(tuple(rows[:header]), tuple(rows[header:]))


def _declared_width(attributes: str) -> int:
    match = _COLUMNS.search(attributes)
    if not match:
        return 0
    width = 0
    for column in match["columns"].split(","):
        count, star, _ = column.strip().partition("*")
        width += int(count) if star and count.isdecimal() and len(count) < 4 else 1
    return min(width, _MAX_COLUMNS)


def _read_line(line: SourceLine, separator: str, cells: list[_Cell]) -> None:
    """Cells that begin on the line; text before the first one belongs to the last cell of the line before."""
    text, start, end = line
    before, *pieces = re.split(rf"(?<!\\){re.escape(separator)}", text)
    count, sign, before = _without_specifier(before) if pieces else (1, "", before)
    if cells and before.strip():
        cells[-1].text += f" {before.strip()}"
        cells[-1].end = end
    for number, piece in enumerate(pieces):
        next_count, next_sign = 1, ""
        if number + 1 < len(pieces):
            next_count, next_sign, piece = _without_specifier(piece)
        repeated = count if sign == "*" else 1
        cells.extend(_Cell(piece.strip(), start, end) for _ in range(repeated))
        cells.extend(_Cell("", start, end) for _ in range(count - 1 if sign == "+" else 0))
        count, sign = next_count, next_sign


def _without_specifier(text: str) -> tuple[int, str, str]:
    """How often, and how (`*` repeated, `+` spanning), the next cell counts; and the text without that."""
    match = _SPECIFIER.search(text[-12:])
    if not match or not match.group():
        return 1, "", text
    return int(match["count"] or 1), match["sign"] or "", text[: len(text) - len(match.group())]


def _row(cells: Sequence[_Cell]) -> TableRow:
    return TableRow(tuple(strip_asciidoc(cell.text)[0] for cell in cells), cells[0].start, cells[-1].end)
