"""Mappings: which fields of a document are indexed and how, and the values that a document has for them.

Understands what the compiler emits and refuses the rest: silently indexing less than was asked for would show up as
worse search results only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from idxopt.engines.embedded.values import NUMERIC_KINDS, BadValue, as_number, as_term, as_text
from idxopt.engines.embedded.vector_mapping import PARAMETERS as VECTOR_PARAMETERS
from idxopt.engines.embedded.vector_mapping import parse_vector
from idxopt.engines.embedded.vectors import Vector, VectorType, as_vector
from idxopt.errors import Rejected
from idxopt.text.analysis import ANALYZERS

Value = str | bytes | int | float | Vector
Values = dict[str, list[Value]]
"""Indexed values by path: text as `str`, keywords as `bytes`, numbers, booleans and dates as numbers, one vector."""

_PARAMETERS: Mapping[str, frozenset[str]] = {
    "text": frozenset({"type", "analyzer", "similarity", "fields"}),
    "keyword": frozenset({"type", "ignore_above", "fields"}),
    "object": frozenset({"type", "dynamic", "properties", "enabled"}),
    "date": frozenset({"type", "format"}),
    "knn_vector": VECTOR_PARAMETERS,
} | dict.fromkeys(NUMERIC_KINDS - {"date"}, frozenset({"type"}))
_ROOT = frozenset({"dynamic", "properties", "_meta", "enabled"})
_DATE_FORMATS = frozenset({"strict_date_optional_time||epoch_millis", "strict_date_optional_time", "epoch_millis"})


@dataclass(frozen=True, slots=True)
class FieldType:
    """One indexed field. `analyzer`, `similarity` belong to text, `ignore_above` to keywords, `vector` to vectors."""

    path: str
    kind: str
    analyzer: str = "standard"
    similarity: str = "default"
    ignore_above: int | None = None
    inner: tuple[FieldType, ...] = ()
    vector: VectorType | None = None


@dataclass(frozen=True, slots=True)
class ObjectType:
    """An object: its children by name. `strict`: other names are refused; not `enabled`: stored only."""

    path: str
    strict: bool
    enabled: bool
    children: Mapping[str, FieldType | ObjectType]


@dataclass(frozen=True, slots=True)
class Mapped:
    """A parsed mapping; `fields` holds every indexed field by path, multi-fields too."""

    root: ObjectType
    fields: Mapping[str, FieldType] = field(default_factory=dict)
    vectors: tuple[str, ...] = ()
    """Paths of the vector fields."""

    def values(self, document: Mapping[str, Any]) -> Values:
        """The indexed values of a document. BadValue where a server would refuse the document."""
        values: Values = {}
        _read_object(self.root, document, values)
        return values


def parse_mapping(mappings: Mapping[str, Any]) -> Mapped:
    """Reads `mappings`. Rejected for what this engine has not: dynamic mapping, other types, unknown parameters."""
    _refuse_unknown(mappings, _ROOT, "mappings")
    root = _object(mappings, "", strict=None)
    fields: dict[str, FieldType] = {}
    for leaf in _leaves(root):
        for each in (leaf, *leaf.inner):
            fields[each.path] = each
    return Mapped(root, fields, tuple(path for path, leaf in fields.items() if leaf.vector is not None))


def merge_mappings(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """`PUT _mapping`: properties are added, `_meta` is replaced. Rejected when a field would change."""
    merged = {**old, **{key: value for key, value in new.items() if key != "properties"}}
    if "properties" in new:
        merged["properties"] = _merge_properties(old.get("properties", {}), new["properties"], "")
    parse_mapping(merged)
    return merged


def _merge_properties(old: Mapping[str, Any], new: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    merged = dict(old)
    for name, definition in new.items():
        known = merged.get(name)
        if known is None:
            merged[name] = definition
        elif "properties" in known and "properties" in definition:
            inner = _merge_properties(known["properties"], definition["properties"], f"{prefix}{name}.")
            merged[name] = {**known, **definition, "properties": inner}
        elif known != definition:
            raise Rejected(
                f"the field {prefix}{name} is mapped as {known}; it cannot become {definition}",
                remedy="build a new index",
                status=400,
            )
    return merged


def _object(definition: Mapping[str, Any], path: str, *, strict: bool | None) -> ObjectType:
    dynamic = definition.get("dynamic")
    enabled = definition.get("enabled", True)
    match str(dynamic).lower() if dynamic is not None else None:
        case "strict":
            strict = True
        case "false":
            strict = False
        case None if strict is not None or not enabled:
            strict = bool(strict)
        case _:
            raise Rejected(
                f"{path or 'mappings'}: dynamic is {dynamic!r}, but the embedded engine maps no field by itself",
                remedy='set "dynamic": false or "strict" and list the fields under "properties"',
                status=400,
            )
    children = {
        name: _child(child, f"{path}.{name}" if path else name, strict)
        for name, child in definition.get("properties", {}).items()
    }
    return ObjectType(path, strict, bool(enabled), children)


def _child(definition: Any, path: str, strict: bool) -> FieldType | ObjectType:
    if not isinstance(definition, Mapping):
        raise Rejected(f"the mapping of {path} is no object", status=400)
    kind = definition.get("type", "object")
    if kind not in _PARAMETERS:
        raise Rejected(
            f"{path}: fields of type {kind!r} are not known to the embedded engine",
            remedy=f"use one of: {', '.join(sorted(_PARAMETERS))}",
            status=400,
        )
    _refuse_unknown(definition, _PARAMETERS[kind], path)
    if kind == "object":
        return _object(definition, path, strict=strict)
    if kind == "knn_vector":
        return FieldType(path, kind, vector=parse_vector(definition, path))
    if kind == "text" and definition.get("analyzer", "standard") not in ANALYZERS:
        known = ", ".join(sorted(ANALYZERS))
        raise Rejected(
            f"{path}: unknown analyzer {definition['analyzer']!r}", remedy=f"use one of: {known}", status=400
        )
    if definition.get("format", "epoch_millis") not in _DATE_FORMATS:
        raise Rejected(
            f"{path}: unknown date format", remedy=f"use one of: {', '.join(sorted(_DATE_FORMATS))}", status=400
        )
    return FieldType(
        path,
        kind,
        analyzer=definition.get("analyzer", "standard"),
        similarity=definition.get("similarity", "default"),
        ignore_above=definition.get("ignore_above"),
        inner=tuple(_inner(child, f"{path}.{name}") for name, child in definition.get("fields", {}).items()),
    )


def _inner(definition: Any, path: str) -> FieldType:
    child = _child(definition, path, strict=False)
    if isinstance(child, ObjectType) or child.inner or child.vector is not None:
        raise Rejected(f"{path}: a multi-field is one plain field", status=400)
    return child


def _refuse_unknown(definition: Mapping[str, Any], known: frozenset[str], place: str) -> None:
    unknown = sorted(set(definition) - known)
    if unknown:
        raise Rejected(
            f"{place}: unknown parameter {unknown[0]!r}", remedy=f"use only: {', '.join(sorted(known))}", status=400
        )


def _leaves(node: ObjectType) -> Iterator[FieldType]:
    for child in node.children.values():
        if isinstance(child, FieldType):
            yield child
        else:
            yield from _leaves(child)


def _read_object(node: ObjectType, document: Mapping[str, Any], values: Values) -> None:
    if not node.enabled:
        return
    for name, value in document.items():
        child = node.children.get(name)
        if child is None and "." in name:
            head, _, tail = name.partition(".")
            child, value = node.children.get(head), {tail: value}
            _refuse_vectors(child, f"[{name}] is a dotted name")
        if child is None:
            if node.strict:
                raise BadValue(f"strict mapping: [{name}] within [{node.path or '_doc'}] is not allowed")
        elif isinstance(child, ObjectType):
            if child.enabled:
                _read_children(child, value, values)
        else:
            _read_values(child, value, values)


def _read_children(node: ObjectType, value: Any, values: Values) -> None:
    if isinstance(value, Mapping):
        _read_object(node, value, values)
    elif isinstance(value, list | tuple):
        _refuse_vectors(node, f"[{node.path}] is a list")
        for item in value:
            _read_children(node, item, values)
    elif value is not None:
        raise BadValue(f"[{node.path}] is an object, but a concrete value was found")


def _refuse_vectors(node: FieldType | ObjectType | None, found: str) -> None:
    """Vectors are kept apart from the JSON, by path: their objects must be plain."""
    if isinstance(node, ObjectType) and any(leaf.vector is not None for leaf in _leaves(node)):
        raise BadValue(f"{found}, but it holds a vector: write it as one object")


def _read_values(leaf: FieldType, value: Any, values: Values) -> None:
    if value is None:
        return
    if leaf.vector is not None:
        _read_vector(leaf, leaf.vector, value, values)
        return
    if isinstance(value, list | tuple):
        for item in value:
            _read_values(leaf, item, values)
        return
    for each in (leaf, *leaf.inner):
        converted = _convert(each, value)
        if converted is not None:
            values.setdefault(each.path, []).append(converted)


def _read_vector(leaf: FieldType, kind: VectorType, value: Any, values: Values) -> None:
    try:
        if leaf.path in values:
            raise BadValue("a document holds one vector a field")
        values[leaf.path] = [as_vector(value, kind)]
    except BadValue as error:
        raise BadValue(f"failed to parse field [{leaf.path}] of type [{leaf.kind}]: {error}") from error


def _convert(leaf: FieldType, value: Any) -> Value | None:
    try:
        if leaf.kind == "text":
            return as_text(value)
        if leaf.kind == "keyword":
            text = as_text(value)
            if leaf.ignore_above is not None and _utf16_length(text) > leaf.ignore_above:
                return None
            return as_term(text)
        return as_number(leaf.kind, value)
    except BadValue as error:
        raise BadValue(f"failed to parse field [{leaf.path}] of type [{leaf.kind}]: {error}") from error


def _utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "replace")) // 2
