"""Filters: the subset of the OpenSearch query DSL that every engine here answers alike.

`term`, `terms`, `range`, `exists`, `ids` and `bool` over metadata fields and `idxopt.doc_id`. Anything else is refused
with the valid name nearest to it: a filter that is silently ignored would answer from outside the filter.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idxopt.compiler.fields import DOC_ID
from idxopt.errors import UsageError
from idxopt.program.problems import nearest
from idxopt.program.schema import Source

_MAX_DEPTH = 20
_MAX_TERMS = 65_536
_OCCURRENCES = ("must", "should", "must_not", "filter")
_BOUNDS = ("gt", "gte", "lt", "lte")
_NO_RANGE = frozenset({"keyword", "boolean"})


def check_filter(filter: Mapping[str, Any], source: Source) -> dict[str, Any]:
    """The filter in its plain form (lists in `bool`, no `{"value": ...}`).

    Raises UsageError, its `place` the path within the filter, for an unknown clause or field and for a value that no
    engine would accept.
    """
    return _Check(source).clause(filter, "filter", 0)


class _Check:
    def __init__(self, source: Source) -> None:
        self._types: dict[str, str] = {**source.metadata, DOC_ID: "keyword"}
        self._texts = frozenset(source.fields.values()) - frozenset(self._types)

    def clause(self, filter: Any, place: str, depth: int) -> dict[str, Any]:
        if not isinstance(filter, Mapping) or len(filter) != 1:
            raise UsageError(
                "a filter is a JSON object with exactly one clause",
                remedy='write {"term": {"lang": "en"}}, or join several with {"bool": {"filter": [...]}}',
                place=place,
            )
        if depth > _MAX_DEPTH:
            raise UsageError(f"the filter is nested deeper than {_MAX_DEPTH}", remedy="flatten it", place=place)
        name, value = next(iter(filter.items()))
        here = f"{place}.{name}"
        match name:
            case "term":
                field, given = self._one_field(value, here)
                return {"term": {field: self._value(_unwrapped(given, "value"), f"{here}.{field}")}}
            case "terms":
                field, given = self._one_field(value, here)
                return {"terms": {field: self._values(given, f"{here}.{field}")}}
            case "range":
                return self._range(value, here)
            case "exists":
                asked = value.get("field") if isinstance(value, Mapping) and len(value) == 1 else None
                return {"exists": {"field": self._known(asked, here)}}
            case "ids":
                given = value.get("values") if isinstance(value, Mapping) and len(value) == 1 else None
                return {"ids": {"values": [str(item) for item in self._values(given, f"{here}.values")]}}
            case "bool":
                return {"bool": self._bool(value, here, depth)}
            case _:
                known = ("term", "terms", "range", "exists", "ids", "bool")
                raise UsageError(f'unknown filter clause "{name}"', remedy=nearest(str(name), known), place=place)

    def _bool(self, value: Any, place: str, depth: int) -> dict[str, Any]:
        if not isinstance(value, Mapping) or not value:
            raise UsageError("must be a JSON object with clauses", remedy='write {"filter": [...]}', place=place)
        plain: dict[str, Any] = {}
        for name, part in value.items():
            if name == "minimum_should_match":
                if not isinstance(part, int) or isinstance(part, bool) or part < 0:
                    raise UsageError("must be a whole number", remedy="write 1", place=f"{place}.{name}")
                plain[name] = part
            elif name in _OCCURRENCES:
                items = part if isinstance(part, list) else [part]
                plain[name] = [self.clause(item, f"{place}.{name}[{n}]", depth + 1) for n, item in enumerate(items)]
            else:
                known = (*_OCCURRENCES, "minimum_should_match")
                raise UsageError(f'unknown part "{name}"', remedy=nearest(str(name), known), place=place)
        return plain

    def _range(self, value: Any, place: str) -> dict[str, Any]:
        field, bounds = self._one_field(value, place)
        here = f"{place}.{field}"
        if self._types[field] in _NO_RANGE:
            raise UsageError(
                f'"{field}" is a {self._types[field]} and has no order',
                remedy="use term or terms, or declare the field as date or as a number in source.metadata",
                place=place,
            )
        if not isinstance(bounds, Mapping) or not bounds:
            raise UsageError("a range needs bounds", remedy='write {"gte": ..., "lt": ...}', place=here)
        for name in bounds:
            if name not in _BOUNDS:
                raise UsageError(f'unknown bound "{name}"', remedy=nearest(str(name), _BOUNDS), place=here)
        return {"range": {field: {name: self._value(bound, f"{here}.{name}") for name, bound in bounds.items()}}}

    def _one_field(self, value: Any, place: str) -> tuple[str, Any]:
        if not isinstance(value, Mapping) or len(value) != 1:
            raise UsageError("names exactly one field", remedy='write {"FIELD": VALUE}', place=place)
        field, given = next(iter(value.items()))
        return self._known(field, place), given

    def _known(self, field: Any, place: str) -> str:
        if isinstance(field, str) and field in self._types:
            return field
        if isinstance(field, str) and field in self._texts:
            raise UsageError(
                f'"{field}" is searched text and cannot be filtered exactly',
                remedy="declare another field of the source in source.metadata and filter by that",
                place=place,
            )
        raise UsageError(f'unknown filter field "{field}"', remedy=nearest(str(field), self._types), place=place)

    def _values(self, given: Any, place: str) -> list[Any]:
        if not isinstance(given, list) or not given or len(given) > _MAX_TERMS:
            raise UsageError(f"needs a list of 1 to {_MAX_TERMS:,} values", remedy='write ["a", "b"]', place=place)
        return [self._value(item, place) for item in given]

    def _value(self, value: Any, place: str) -> Any:
        if not isinstance(value, str | int | float | bool):
            raise UsageError("is no text, number or boolean", remedy="give one plain value", place=place)
        return value


def _unwrapped(given: Any, name: str) -> Any:
    return given[name] if isinstance(given, Mapping) and set(given) == {name} else given
