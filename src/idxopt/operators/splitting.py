"""From one row to several: the pieces of one field, with their spans and heading paths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from idxopt.operators.row import Row
from idxopt.operators.transform import Transform, text_in


@dataclass(frozen=True, slots=True)
class Piece:
    """One row to be: its text, and the span that it came from.

    `verbatim`: the text is exactly what stands at the span. `path` is None where the row keeps the path it has.
    """

    text: str
    start: int
    end: int
    verbatim: bool = True
    path: tuple[str, ...] | None = None


def splitting(name: str, split: Callable[[str], list[Piece]]) -> Transform:
    """A row for each piece of a field; rows without the field stay as they are."""

    def transform(rows: list[Row]) -> list[Row]:
        return [piece for row in rows for piece in _split(row, name, split)]

    return transform


def _split(row: Row, name: str, split: Callable[[str], list[Piece]]) -> list[Row]:
    text = text_in(row, name)
    if text is None:
        return [row]
    return [_piece(row, name, piece, base=_base(row, name)) for piece in split(text)]


def _base(row: Row, name: str) -> int | None:
    """Where the field's text begins in the source text, or None where it is no longer what the source has."""
    if row.verbatim == name and row.span is not None:
        return row.span[0]
    return None if name in row.changed else 0


def _piece(row: Row, name: str, piece: Piece, *, base: int | None) -> Row:
    fields = {**row.fields, name: piece.text}
    changed = row.changed | {name}
    path = row.path
    if piece.path is not None:
        path = joined_path(row.path, piece.path)
        changed |= {"path"}
        if path:
            fields["path"] = list(path)
        else:
            fields.pop("path", None)
    if base is None:
        return Row(row.doc_id, fields, changed, path)
    span = (base + piece.start, base + piece.end)
    return Row(row.doc_id, fields, changed, path, span, name if piece.verbatim else None)


def joined_path(outer: tuple[str, ...], inner: tuple[str, ...]) -> tuple[str, ...]:
    """The path of a section within a section: the heading that both have is named once."""
    if outer and inner and outer[-1] == inner[0]:
        return outer + inner[1:]
    return outer + inner
