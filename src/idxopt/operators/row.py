"""What the interpreter reads and makes: documents, rows, stored rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

FieldValue = Any
"""A JSON value. Text is a `str`; a list of strings reads as its items joined by a line feed; numbers read as JSON text."""


@dataclass(frozen=True, slots=True)
class Document:
    """One source document: its id and the JSON object as it was read (never changed)."""

    id: str
    source: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One unit on its way through the steps of a view.

    `fields` holds the program's fields by name (`title`, `body`, and what steps added). `changed` names the fields that a
    step wrote: they are stored under `idxopt.`, untouched ones stay where the source has them (primary view).
    `path` is the heading path that a split kept, `span` the code points of the split field in the source text.
    """

    doc_id: str
    fields: Mapping[str, FieldValue]
    changed: frozenset[str] = frozenset()
    path: tuple[str, ...] = ()
    span: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row as an engine stores it: `id` is `doc_id` (primary view) or `{doc_id}#{n}` (hashed beyond 512 bytes)."""

    id: str
    doc_id: str
    body: Mapping[str, Any] = field(repr=False)


def text_of(value: FieldValue) -> str:
    """The text that analysis and steps see of a field value."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return "\n".join(text_of(item) for item in value if item is not None)
    if isinstance(value, dict):
        return ""
    return str(value)
