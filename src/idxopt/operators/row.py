"""What the interpreter reads and makes: documents, rows, stored rows, and the ids of rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from idxopt.errors import SourceError
from idxopt.hashing import content_digest

FieldValue = Any
"""A JSON value. Text is a `str`; a list of strings reads as its items joined by line feeds; numbers as JSON text."""

VECTOR = "idxopt.vector"
"""Where a row of a view with a dense leg keeps its vector (float32 numbers)."""

MAX_ID_BYTES = 512
"""UTF-8 bytes of a document or row id: the engines' own limit."""


@dataclass(frozen=True, slots=True)
class Document:
    """One source document: its id and the JSON object as it was read (never changed)."""

    id: str
    source: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Row:
    """One unit on its way through the steps of a view.

    `fields` holds the program's fields by name (`title`, `body`, and what steps added). `changed` names the fields that
    a step wrote: they are stored under `idxopt.`, untouched ones stay where the source has them (primary view).
    `path` is the heading path that a split kept, `span` the code points of the split field in the source text.
    `verbatim` names the field whose text is still exactly the source text at `span`.
    """

    doc_id: str
    fields: Mapping[str, FieldValue]
    changed: frozenset[str] = frozenset()
    path: tuple[str, ...] = ()
    span: tuple[int, int] | None = None
    verbatim: str | None = None


@dataclass(frozen=True, slots=True)
class StoredRow:
    """A row as an engine stores it: `id` is `doc_id` (primary view) or `{doc_id}#{n}` (hashed beyond 512 bytes)."""

    id: str
    doc_id: str
    body: Mapping[str, Any] = field(repr=False)


def check_doc_id(doc_id: str) -> None:
    """Raises SourceError for an id that no engine can store: empty, over 512 UTF-8 bytes, or no valid Unicode."""
    try:
        size = len(doc_id.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise SourceError(
            f"the document id {doc_id[:40]!a} is no valid Unicode", remedy="give the document another id"
        ) from error
    if not doc_id:
        raise SourceError("a document has an empty id", remedy="give every document an id")
    if size > MAX_ID_BYTES:
        raise SourceError(
            f"the document id {doc_id[:40]!r}... has {size} bytes; engines store at most {MAX_ID_BYTES}",
            remedy="shorten the id",
        )


def row_id(doc_id: str, number: int) -> str:
    """The `_id` of row `number` of a document: `{doc_id}#{number}`, with the id hashed where that passes 512 bytes.

    Unique over all documents of an index: the part behind the last `#` is the number.
    """
    plain = f"{doc_id}#{number}"
    if len(plain) * 4 <= MAX_ID_BYTES or len(plain.encode("utf-8")) <= MAX_ID_BYTES:
        return plain
    return f"{hashlib.sha256(doc_id.encode('utf-8')).hexdigest()}#{number}"


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


def vector_of(body: Mapping[str, Any]) -> Sequence[float] | None:
    """The vector of a stored row (`idxopt.vector`), None where it has none."""
    own = body.get("idxopt")
    return own.get("vector") if isinstance(own, Mapping) else None


def without_vector(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The stored row as it is without its vector."""
    if vector_of(body) is None:
        return body
    return {**body, "idxopt": {key: value for key, value in body["idxopt"].items() if key != "vector"}}


def row_digest(body: Mapping[str, Any]) -> str:
    """`content_digest` of a stored row without its vector: a model need not give the same bits twice."""
    return content_digest(without_vector(body))
