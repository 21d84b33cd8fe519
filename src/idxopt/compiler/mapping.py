"""Settings and mapping of one view's index.

Everything that decides a score is explicit (similarity, analyzer), so that a version of the engine cannot change it
(OpenSearch 3.0 changed the default similarity). Nothing is mapped dynamically: a new field in the data can neither fail
a load nor use up the field limit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from idxopt.compiler.dense import knn_settings, vector_mapping
from idxopt.compiler.fields import OWN, stored_path
from idxopt.compiler.lowered import Target
from idxopt.errors import ProgramError
from idxopt.program.effects import ViewFields
from idxopt.program.schema import LexicalField, Program

KEYWORD_IGNORE_ABOVE = 10_922
"""UTF-16 units. Lucene refuses a term beyond 32,766 bytes, and a unit takes at most 3: longer values stay in the
document and are only not found by a filter, instead of failing the write."""

DEFAULT_FIELD_LIMIT = 1_000
MAX_DEPTH = 20
"""Defaults of `index.mapping.total_fields.limit` and `index.mapping.depth.limit` on every engine."""

_STORED_ONLY: Mapping[str, Any] = {"type": "object", "enabled": False}


def similarity_name(k1: float, b: float) -> str:
    """Name of the similarity of one (k1, b), without dots: a dot would nest the setting."""
    return f"bm25-{_number(k1)}-{_number(b)}"


def similarities(fields: Mapping[str, LexicalField]) -> dict[str, dict[str, Any]]:
    """`index.similarity` for the searched fields of a view."""
    pairs = sorted({(field.k1, field.b) for field in fields.values()})
    return {similarity_name(k1, b): {"type": "BM25", "k1": k1, "b": b} for k1, b in pairs}


def index_settings(program: Program, view_name: str, target: Target, mappings: Mapping[str, Any]) -> dict[str, Any]:
    """`settings.index` as an index is created: hidden, no refresh, no replicas."""
    settings: dict[str, Any] = {
        "number_of_shards": target.shards,
        "number_of_replicas": 0,
        "hidden": True,
        "refresh_interval": "-1",
    }
    lexical = program.views[view_name].lexical
    if lexical is not None:
        settings["similarity"] = similarities(lexical.fields)
    if program.views[view_name].dense is not None:
        settings |= knn_settings()
    count = count_fields(mappings)
    if count > DEFAULT_FIELD_LIMIT:
        settings["mapping"] = {"total_fields": {"limit": count}}
    return settings


def view_properties(program: Program, view_name: str, fields: ViewFields) -> dict[str, Any]:
    """`mappings.properties` of a view: metadata and untouched searched fields at source paths, the rest `idxopt.*`."""
    view = program.views[view_name]
    searched = view.lexical.fields if view.lexical is not None else {}
    place = f"views.{view_name}"
    properties: dict[str, Any] = {}
    for path, kind in program.source.metadata.items():
        _put(properties, path, _metadata(kind), place=f"source.metadata.{path}")
    primary = view_name == program.primary
    own: dict[str, Any] = {"doc_id": {"type": "keyword"}}
    if primary:
        own["incomplete"] = {"type": "boolean"}
    else:
        own |= {"row": {"type": "integer"}, "path": dict(_STORED_ONLY), "span": dict(_STORED_ONLY)}
    if view.dense is not None:
        own["vector"] = vector_mapping(program, view.dense)
    for name in fields.names:
        path = stored_path(program, view_name, name, fields)
        definition = _text(searched[name]) if name in searched else dict(_STORED_ONLY)
        if path.startswith(f"{OWN}."):
            own[name] = definition
        elif name in searched:
            _put(properties, path, definition, place=f"{place}.lexical.fields.{name}")
    properties[OWN] = {"dynamic": "strict", "properties": own}
    return properties


def count_fields(mappings: Mapping[str, Any]) -> int:
    """Fields and objects of a mapping, as the engines count them against their limit."""
    return sum(1 for _ in _walk(mappings.get("properties", {})))


def _walk(properties: Mapping[str, Any]) -> Iterator[str]:
    for name, definition in properties.items():
        yield name
        yield from _walk(definition.get("properties", {}))


def _text(field: LexicalField) -> dict[str, Any]:
    return {"type": "text", "analyzer": field.analyzer, "similarity": similarity_name(field.k1, field.b)}


def _metadata(kind: str) -> dict[str, Any]:
    if kind == "keyword":
        return {"type": "keyword", "ignore_above": KEYWORD_IGNORE_ABOVE}
    return {"type": kind}


def _put(properties: dict[str, Any], path: str, definition: dict[str, Any], *, place: str) -> None:
    """Places a definition at a dotted path. Raises ProgramError where two uses of the source collide."""
    parts = path.split(".")
    if parts[0] == OWN:
        raise ProgramError(
            f'the source path "{path}" lies under "{OWN}", where derived fields are stored',
            remedy="rename that field in the data",
            place=place,
        )
    if len(parts) > MAX_DEPTH or not all(parts):
        raise ProgramError(
            f'the source path "{path}" has an empty part or more than {MAX_DEPTH} parts',
            remedy="name a field that an engine can map",
            place=place,
        )
    level = properties
    for part in parts[:-1]:
        inner = level.setdefault(part, {"properties": {}})
        if "type" in inner:
            raise _collision(path, place)
        level = inner["properties"]
    if parts[-1] in level and level[parts[-1]] != definition:
        raise _collision(path, place)
    level[parts[-1]] = definition


def _collision(path: str, place: str) -> ProgramError:
    return ProgramError(
        f'the source path "{path}" is needed twice, as different kinds of field',
        remedy='search a copy instead: {"op": "reorganize", "to": "promote", "field": ..., "into": ...}',
        place=place,
    )


def _number(value: float) -> str:
    return f"{value:g}".replace(".", "_") if float(f"{value:g}") == value else repr(value).replace(".", "_")
