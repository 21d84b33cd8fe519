"""Which documents of a segment pass a filter. Values are read by the type of the field, as on a server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from idxopt.engines.embedded.mapping import FieldType
from idxopt.engines.embedded.pack import Array
from idxopt.engines.embedded.query import Bool, Exists, Filter, Ids, MatchAll, Range, Terms
from idxopt.engines.embedded.segment import Column, Inverted, Segment
from idxopt.engines.embedded.values import INTEGER_BITS, BadValue, as_boolean, as_date, as_double, as_float, as_text

Mask = npt.NDArray[np.bool_]
Fields = Mapping[str, FieldType]

_COMPARE: Mapping[str, Callable[[Array, Any], Mask]] = {
    "gt": np.greater,
    "gte": np.greater_equal,
    "lt": np.less,
    "lte": np.less_equal,
}


def mask(filter: Filter, segment: Segment, fields: Fields) -> Mask:
    """True for each document that passes. BadValue for a value that the field's type cannot be compared with."""
    match filter:
        case MatchAll():
            return np.ones(segment.count, dtype=np.bool_)
        case Bool():
            return _bool(filter, segment, fields)
        case Ids():
            return _marked(segment, list(segment.locate(filter.values).values()))
        case Exists():
            return _exists(filter.path, segment, fields)
        case Terms():
            return _terms(filter, segment, fields)
        case Range():
            return _range(filter, segment, fields)
        case _:
            assert_never(filter)


def _marked(segment: Segment, documents: Any) -> Mask:
    result = np.zeros(segment.count, dtype=np.bool_)
    result[documents] = True
    return result


def _bool(clause: Bool, segment: Segment, fields: Fields) -> Mask:
    result = np.ones(segment.count, dtype=np.bool_)
    for each in clause.every:
        result &= mask(each, segment, fields)
    for each in clause.none:
        result &= ~mask(each, segment, fields)
    if clause.minimum > 0:
        votes = np.zeros(segment.count, dtype=np.int32)
        for each in clause.some:
            votes += mask(each, segment, fields)
        result &= votes >= clause.minimum
    return result


def _exists(path: str, segment: Segment, fields: Fields) -> Mask:
    result = np.zeros(segment.count, dtype=np.bool_)
    for name in fields:
        if name != path and not name.startswith(f"{path}."):
            continue
        field = segment.fields.get(name)
        if isinstance(field, Inverted) and field.frequencies is not None:
            result |= field.present
        elif field is not None:
            result[field.documents] = True
    return result


def _terms(clause: Terms, segment: Segment, fields: Fields) -> Mask:
    definition, field = fields.get(clause.path), segment.fields.get(clause.path)
    result = np.zeros(segment.count, dtype=np.bool_)
    if definition is None:
        return result
    _refuse_vectors(definition)
    for value in clause.values:
        if definition.kind in {"text", "keyword"}:
            term = as_text(value).encode("utf-8", "replace")
            if isinstance(field, Inverted) and (number := field.find(term)) is not None:
                result[field.having(number, number + 1)] = True
            continue
        bounds = _equal(definition.kind, value)
        if isinstance(field, Column) and bounds is not None:
            low, high = bounds
            result[field.documents[(field.values >= low) & (field.values <= high)]] = True
    return result


def _refuse_vectors(definition: FieldType) -> None:
    if definition.vector is not None:
        raise BadValue(f"the field [{definition.path}] of type [{definition.kind}] holds vectors: use knn or exists")


def _equal(kind: str, value: Any) -> tuple[int | float, int | float] | None:
    """Stored numbers from .. to that a term stands for (a date without a time is its whole day), None for none."""
    if kind == "date":
        return as_date(value), as_date(value, round_up=True)
    number = _bound(kind, value)
    if kind in INTEGER_BITS and not float(number).is_integer():
        return None
    return number, number


def _range(clause: Range, segment: Segment, fields: Fields) -> Mask:
    definition, field = fields.get(clause.path), segment.fields.get(clause.path)
    result = np.zeros(segment.count, dtype=np.bool_)
    if definition is None:
        return result
    _refuse_vectors(definition)
    if definition.kind in {"text", "keyword"}:
        bounds = [(name, as_text(value).encode("utf-8", "replace")) for name, value in clause.bounds]
        if isinstance(field, Inverted):
            result[_term_range(field, bounds)] = True
        return result
    numbers = [(name, _range_bound(definition.kind, name, value)) for name, value in clause.bounds]
    if isinstance(field, Column):
        inside = np.ones(len(field.values), dtype=np.bool_)
        for name, number in numbers:
            inside &= _COMPARE[name](field.values, number)
        result[field.documents[inside]] = True
    return result


def _term_range(field: Inverted, bounds: list[tuple[str, bytes]]) -> Array:
    first, last = 0, len(field.terms)
    for name, term in bounds:
        place = field.lower(term)
        after = place + (place < len(field.terms) and field.terms[place] == term)
        match name:
            case "gte":
                first = max(first, place)
            case "gt":
                first = max(first, after)
            case "lt":
                last = min(last, place)
            case _:
                last = min(last, after)
    return field.having(first, max(first, last))


def _range_bound(kind: str, name: str, value: Any) -> int | float:
    if kind == "date":
        return as_date(value, round_up=name in {"gt", "lte"})
    return _bound(kind, value)


def _bound(kind: str, value: Any) -> int | float:
    """A number to compare with. BadValue beyond the range of the type, which a server refuses too."""
    if kind == "boolean":
        return as_boolean(value)
    if kind not in INTEGER_BITS:
        return as_float(value) if kind == "float" else as_double(value)
    number = _whole(value)
    limit = 1 << (INTEGER_BITS[kind] - 1)
    if not -limit <= number < limit:
        raise BadValue(f"{value!r} is out of range for a field of type [{kind}]")
    return number


def _whole(value: Any) -> int | float:
    """Exact where the value is a whole number: doubles end at 2^53."""
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, str):
        with suppress(ValueError):
            return int(value)
    return as_double(value)
