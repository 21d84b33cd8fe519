"""From a record to a document: its id, and the checks that every engine's rules ask for (cases H5)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idxopt.operators.paths import value_at
from idxopt.operators.row import Document
from idxopt.program.schema import Source as SourceMapping
from idxopt.sources.rejects import Reject

MAX_ID_BYTES = 512
"""OpenSearch's limit of an `_id` (its bulk interface alone took longer ones)."""

ENGINE_FIELDS = frozenset(
    {
        "_field_names",
        "_ignored",
        "_index",
        "_nested_path",
        "_primary_term",
        "_routing",
        "_seq_no",
        "_source",
        "_type",
        "_version",
    }
)
"""Names that an engine keeps for itself: a document that holds one at its top level is refused there."""

OWN_FIELD = "idxopt"
"""Everything derived is stored below this key."""


def document_of(place: str, value: dict[str, Any], given: str | None, mapping: SourceMapping) -> Document | Reject:
    """The document of a record, or why there is none. `given` is the id that the place itself gives, used for the path
    `_id`.
    """
    raw = given if given is not None and mapping.id == "_id" else value_at(value, mapping.id)
    id_ = _id_text(raw)
    if isinstance(id_, str):
        problem = _id_problem(id_) or _key_problem(value)
        if problem is None:
            source = {key: item for key, item in value.items() if key != "_id"} if "_id" in value else value
            return Document(id_, source)
        return Reject(place, *problem, id=id_[:MAX_ID_BYTES])
    if raw is None:
        keys = ", ".join(list(value)[:20]) or "none"
        return Reject(
            place,
            f"has no `{mapping.id}`",
            f"set `source.id` in the program to the key that holds the id; keys here: {keys}",
        )
    return Reject(place, f"`{mapping.id}` is {_kind(raw)}, no id", "use a text or a whole number as the id")


def _id_text(raw: Any) -> str | None:
    if isinstance(raw, str):
        return raw
    if isinstance(raw, int) and not isinstance(raw, bool):
        return str(raw)
    return None


def _id_problem(id_: str) -> tuple[str, str] | None:
    if not id_:
        return "the id is empty", "give every document an id"
    try:
        size = len(id_.encode())
    except UnicodeEncodeError:
        return f"the id {id_!a} is no valid Unicode text", "rename the file, or correct the id"
    if size > MAX_ID_BYTES:
        shown = id_[:40]
        return (
            f"the id {shown!r}... has {size} bytes; engines take at most {MAX_ID_BYTES}",
            "shorten the id, for instance to a hash of it",
        )
    if "\x00" in id_:
        return "the id holds a NUL character", "remove it from the id"
    return None


def _key_problem(value: Mapping[str, Any]) -> tuple[str, str] | None:
    if OWN_FIELD in value:
        return f"has a key `{OWN_FIELD}`, where derived fields are stored", "remove or rename that key in the source"
    taken = ENGINE_FIELDS.intersection(value)
    if taken:
        return (
            f"has a key `{min(taken)}`, which search engines keep for themselves",
            "remove or rename that key in the source",
        )
    return None


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    if isinstance(value, float):
        return "a number with a fraction"
    if isinstance(value, list):
        return "a list"
    return "an object" if isinstance(value, dict) else type(value).__name__
