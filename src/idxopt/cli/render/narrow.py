"""Tables on narrow terminals: no figure, id or word is cut. First without lines, then without columns that repeat what
others say, then one block a row.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Column, Table
from rich.text import Text


def fitted(table: Table, console: Console, spare: Collection[str] = ()) -> RenderableType:
    """The table, or what stands for it in the width of the console. `spare`: headings that may go."""
    for column in table.columns:
        column.no_wrap = column.no_wrap or column.justify == "right"
    if _fits(table, console):
        return table
    table.box, table.pad_edge, table.padding = None, False, (0, 1)
    if _fits(table, console):
        return table
    table.columns = [column for column in table.columns if column.header not in spare]
    if _fits(table, console):
        return table
    return Group(*(Text(line, overflow="ignore", no_wrap=True) for line in _blocks(table, console.width)))


def _fits(table: Table, console: Console) -> bool:
    """True where nothing need be cut; then columns get what they need, and by their length of what is left."""
    lines = 3 * len(table.columns) + 1 if table.box else 2 * len(table.columns)
    least = [max(map(cell_len, _unbroken(column)), default=0) for column in table.columns]
    left = console.width - lines - sum(least)
    if left < 0:
        return False
    more = [
        max(map(cell_len, _lines(column)), default=0) - size for column, size in zip(table.columns, least, strict=True)
    ]
    if sum(more) > left:
        for column, size, wanted in zip(table.columns, least, more, strict=True):
            column.width = size + left * wanted // sum(more)
    return True


def _lines(column: Column) -> list[str]:
    return [line for cell in (column.header, *column.cells) for line in _plain(cell).splitlines()]


def _unbroken(column: Column) -> list[str]:
    """What stands on one line: whole lines, or words where lines may be broken."""
    return _lines(column) if column.no_wrap else [word for line in _lines(column) for word in line.split()]


def _blocks(table: Table, width: int) -> Iterator[str]:
    """`heading: value` a line, an empty line between rows; long values go on below, broken between words only."""
    if table.title:
        yield from _wrapped("", _plain(table.title), width)
    headings = [" ".join(_plain(column.header).split()) for column in table.columns]
    rows = list(zip(*(list(column.cells) for column in table.columns), strict=True))
    for number, row in enumerate(rows):
        if number or table.title:
            yield ""
        for heading, cell in zip(headings, row, strict=True):
            value = _plain(cell)
            if value:
                yield from _wrapped(f"{heading}: " if heading else "", " ".join(value.split()), width)


def _wrapped(before: str, text: str, width: int) -> list[str]:
    return textwrap.wrap(before + text, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _plain(cell: RenderableType) -> str:
    return cell.plain if isinstance(cell, Text) else Text.from_markup(str(cell)).plain
