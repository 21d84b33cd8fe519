"""Grid and simple tables of reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from idxopt.text.blocks import Table, TableRow
from idxopt.text.inline import strip_rest

_GRID = re.compile(r"\+-[-+]*-\+$")
_SIMPLE = re.compile(r"=+(?: +=+)+$")
_RULE = re.compile(r"[-=+ ]+$")

SourceLine = tuple[str, int, int]
"""A line of a table and its span in the text."""


def table_length(lines: Iterable[str]) -> int:
    """How many lines the table takes that begins at the first line; 0 when there is none."""
    length, rules, simple = 0, 0, False
    for number, line in enumerate(lines):
        if number == 0:
            simple = bool(_SIMPLE.match(line))
            if not simple and not _GRID.match(line):
                return 0
        if simple:
            if rules > 1 and not line and length == number:
                break
            rules += bool(_SIMPLE.match(line))
            if _SIMPLE.match(line) and rules > 1:
                length = number + 1
        elif line[:1] not in ("+", "|"):
            break
        else:
            length = number + 1
    return length


def read_table(lines: Sequence[SourceLine]) -> Table:
    """The rows of a table; what stands above a rule of `=` inside it is its header."""
    simple = lines[0][0].startswith("=")
    rows = _simple_rows(lines) if simple else _grid_rows(lines)
    rules = [start for line, start, _ in lines if "=" in line and _RULE.match(line)]
    if simple:
        rules = rules[1:-1]
    header_end = rules[0] if rules else 0
    return Table(
        tuple(row for row in rows if row.start < header_end), tuple(row for row in rows if row.start >= header_end)
    )


def _simple_rows(lines: Sequence[SourceLine]) -> list[TableRow]:
    """A row begins with each line that has text in the first column."""
    starts = [match.start() for match in re.finditer("=+", lines[0][0])]
    edges = list(zip(starts, [*starts[1:], None], strict=True))
    rows: list[list[SourceLine]] = []
    for source in lines:
        line = source[0]
        if not line or _RULE.match(line):
            continue
        if rows and not line[: edges[0][1]].strip():
            rows[-1].append(source)
        else:
            rows.append([source])
    return [_row(held, [[line[start:end] for start, end in edges] for line, _, _ in held]) for held in rows]


def _grid_rows(lines: Sequence[SourceLine]) -> list[TableRow]:
    """A row is what stands between two rules."""
    rows: list[list[SourceLine]] = [[]]
    for source in lines:
        if source[0].startswith("+"):
            rows.append([])
        else:
            rows[-1].append(source)
    return [_row(held, [line.strip().strip("|").split("|") for line, _, _ in held]) for held in rows if held]


def _row(lines: Sequence[SourceLine], pieces: Sequence[Sequence[str]]) -> TableRow:
    """Cells from their pieces on each line."""
    width = max(len(cells) for cells in pieces)
    joined = (" ".join(cells[column].strip() for cells in pieces if column < len(cells)) for column in range(width))
    return TableRow(tuple(strip_rest(cell.strip())[0] for cell in joined), lines[0][1], lines[-1][2])
