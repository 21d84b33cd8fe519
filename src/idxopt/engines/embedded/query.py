"""The query language: exactly what the compiler emits, as data. Everything else is Rejected, never ignored."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idxopt.engines.port import MAX_K
from idxopt.errors import Rejected

RESULT_WINDOW = 10_000
"""`index.max_result_window` of servers."""
MAX_TERMS = 65_536
"""`index.max_terms_count` of servers."""


@dataclass(frozen=True, slots=True)
class MatchAll:
    """Every document."""


@dataclass(frozen=True, slots=True)
class Terms:
    """Documents with one of these values (`term` and `terms`)."""

    path: str
    values: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Range:
    """Documents with a value inside bounds: (`gt`, `gte`, `lt` or `lte`, value)."""

    path: str
    bounds: tuple[tuple[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """Documents that have the field."""

    path: str


@dataclass(frozen=True, slots=True)
class Ids:
    """Documents by `_id`."""

    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bool:
    """All of `every`, none of `none`, at least `minimum` of `some`."""

    every: tuple[Filter, ...]
    some: tuple[Filter, ...]
    none: tuple[Filter, ...]
    minimum: int


Filter = MatchAll | Terms | Range | Exists | Ids | Bool


@dataclass(frozen=True, slots=True)
class MultiMatch:
    """Sum over fields of boost * BM25 (`multi_match` of type `most_fields`)."""

    text: str
    fields: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Nearest:
    """The `k` rows nearest to a vector among those that pass the filter (`knn`)."""

    path: str
    vector: tuple[float, ...]
    k: int
    filter: Filter | None


@dataclass(frozen=True, slots=True)
class Query:
    """One search. `matches` score, `filter` does not; without either every document matches with score 1. `nearest`
    stands alone.

    `source` lists the paths to return: None all, empty none. `collapse` and `tie` are keyword fields; `sorted`: the
    body asked for an order, so hits carry sort values.
    """

    matches: tuple[MultiMatch, ...]
    filter: Filter | None
    constant: float
    size: int
    skip: int
    source: tuple[str, ...] | None
    sorted: bool
    tie: str | None
    collapse: str | None
    count_up_to: int | None
    min_score: float | None
    nearest: Nearest | None = None


def parse_search(body: Mapping[str, Any]) -> Query:
    """Reads a search body. Rejected, with the place, for what is outside the subset."""
    _known(
        body, {"query", "size", "from", "_source", "sort", "collapse", "track_total_hits", "min_score"}, "search body"
    )
    clause = body.get("query", {"match_all": {}})
    nearest = _nearest(clause["knn"], "query.knn") if isinstance(clause, Mapping) and set(clause) == {"knn"} else None
    matches, filter, constant = ((), None, 0.0) if nearest is not None else _scoring(clause)
    collapse = body.get("collapse")
    if collapse is not None:
        _known(collapse, {"field"}, "collapse")
    return Query(
        matches=matches,
        filter=filter,
        constant=constant,
        size=_count(body.get("size", 10), "size"),
        skip=_count(body.get("from", 0), "from"),
        source=_source(body.get("_source", True)),
        sorted=body.get("sort") is not None,
        tie=_sort(body.get("sort")),
        collapse=None if collapse is None else _text(collapse.get("field"), "collapse.field"),
        count_up_to=_track(body.get("track_total_hits", RESULT_WINDOW)),
        min_score=None if body.get("min_score") is None else _number(body["min_score"], "min_score"),
        nearest=nearest,
    )


def parse_filter(clause: Any, place: str = "query") -> Filter:
    """Reads a filter."""
    kind, inner = _single(clause, place)
    here = f"{place}.{kind}"
    match kind:
        case "match_all":
            _known(inner, set(), here)
            return MatchAll()
        case "term":
            path, value = _single(inner, here)
            if isinstance(value, Mapping):
                _known(value, {"value"}, f"{here}.{path}")
                value = value.get("value")
            return Terms(_path(path, here), (_scalar(value, f"{here}.{path}"),))
        case "terms":
            path, values = _single(inner, here)
            items = _list(values, f"{here}.{path}")
            if len(items) > MAX_TERMS:
                raise _rejected(f"{len(items)} values are more than {MAX_TERMS}", f"{here}.{path}")
            return Terms(_path(path, here), tuple(_scalar(item, f"{here}.{path}") for item in items))
        case "range":
            return _range(inner, here)
        case "exists":
            _known(inner, {"field"}, here)
            return Exists(_path(_text(inner.get("field"), f"{here}.field"), here))
        case "ids":
            _known(inner, {"values"}, here)
            return Ids(tuple(_text(value, f"{here}.values") for value in _list(inner.get("values"), f"{here}.values")))
        case "bool":
            return _bool(inner, here)
    raise _rejected(f"unknown filter [{kind}]", place, "use term, terms, range, exists, ids or bool")


def _range(inner: Any, place: str) -> Range:
    path, bounds = _single(inner, place)
    _known(bounds, {"gt", "gte", "lt", "lte"}, f"{place}.{path}")
    return Range(
        _path(path, place),
        tuple((name, _scalar(value, f"{place}.{path}.{name}")) for name, value in bounds.items() if value is not None),
    )


def _bool(inner: Any, place: str) -> Bool:
    _known(inner, {"must", "filter", "should", "must_not", "minimum_should_match"}, place)
    every = _clauses(inner, "must", place) + _clauses(inner, "filter", place)
    some = _clauses(inner, "should", place)
    minimum = inner.get("minimum_should_match")
    if isinstance(minimum, str) and minimum.isdigit():
        minimum = int(minimum)
    least = 1 if some and not every else 0  # also where 0 is asked for: Lucene matches nothing by absence
    number = least if minimum is None else max(least, _count(minimum, f"{place}.minimum_should_match"))
    return Bool(every, some, _clauses(inner, "must_not", place), number)


def _clauses(inner: Mapping[str, Any], name: str, place: str) -> tuple[Filter, ...]:
    clauses = inner.get(name, [])
    return tuple(
        parse_filter(clause, f"{place}.{name}") for clause in (clauses if isinstance(clauses, list) else [clauses])
    )


def _scoring(clause: Any) -> tuple[tuple[MultiMatch, ...], Filter | None, float]:
    """The scoring part of a query, its filter, and the score of a document where nothing scores."""
    kind, inner = _single(clause, "query")
    if kind == "match_all":
        _known(inner, set(), "query.match_all")
        return (), None, 1.0
    if kind == "multi_match":
        return (_multi_match(inner, "query.multi_match"),), None, 0.0
    if kind != "bool":
        raise _rejected(
            f"unknown query [{kind}]", "query", "use multi_match, knn, match_all, or bool with must and filter"
        )
    _known(inner, {"must", "filter", "must_not"}, "query.bool")
    matches: list[MultiMatch] = []
    constant = 0.0
    must = inner.get("must", [])
    for scored in must if isinstance(must, list) else [must]:
        name, part = _single(scored, "query.bool.must")
        if name == "multi_match":
            matches.append(_multi_match(part, "query.bool.must.multi_match"))
        elif name == "match_all":
            _known(part, set(), "query.bool.must.match_all")
            constant += 1.0
        else:
            raise _rejected(
                f"unknown query [{name}]", "query.bool.must", "score with multi_match; put conditions under filter"
            )
    every = _clauses(inner, "filter", "query.bool")
    none = _clauses(inner, "must_not", "query.bool")
    if not (matches or constant or every or none):
        constant = 1.0
    return tuple(matches), Bool(every, (), none, 0) if every or none else None, constant


def _nearest(inner: Any, place: str) -> Nearest:
    path, clause = _single(inner, place)
    here = f"{place}.{path}"
    _known(clause, {"vector", "k", "filter"}, here)
    values = _list(clause.get("vector"), f"{here}.vector")
    plain = all(type(value) is float for value in values)
    vector = tuple(values) if plain else tuple(_number(value, f"{here}.vector") for value in values)
    if not vector or not all(math.isfinite(value) for value in vector):
        raise _rejected("a list of finite numbers was expected", f"{here}.vector")
    k = _count(clause.get("k"), f"{here}.k")
    if not 1 <= k <= MAX_K:
        raise _rejected(f"k is {k}", f"{here}.k", f"ask for 1 to {MAX_K}")
    filter = None if clause.get("filter") is None else parse_filter(clause["filter"], f"{here}.filter")
    return Nearest(_path(path, place), vector, k, filter)


def _multi_match(inner: Any, place: str) -> MultiMatch:
    _known(inner, {"query", "type", "fields"}, place)
    if inner.get("type") != "most_fields":
        raise _rejected("its type is not most_fields", place)
    fields: dict[str, float] = {}
    for item in _list(inner.get("fields"), f"{place}.fields"):
        path, _, boost = _text(item, f"{place}.fields").partition("^")
        if "*" in path:
            raise _rejected(f"a pattern ({path}) is no field", f"{place}.fields")
        fields[path] = _boost(boost, f"{place}.fields") if boost else 1.0
    if not fields:
        raise _rejected("no field to search", f"{place}.fields")
    return MultiMatch(_text(inner.get("query"), f"{place}.query"), tuple(fields.items()))


def _boost(text: str, place: str) -> float:
    try:
        boost = float(text)
    except ValueError:
        boost = -1.0
    if not (boost >= 0 and math.isfinite(boost)):
        raise _rejected(f"{text!r} is no boost", place)
    return boost


def _sort(sort: Any) -> str | None:
    """None: ties in the order of loading. Else the keyword field that decides them."""
    if sort is None:
        return None
    items = sort if isinstance(sort, list) else [sort]
    if not items or items[0] not in ("_score", {"_score": "desc"}, {"_score": {"order": "desc"}}) or len(items) > 2:
        raise _rejected("hits are sorted by _score, then by one keyword field", "sort")
    if len(items) == 1:
        return None
    path, options = _single(items[1], "sort") if not isinstance(items[1], str) else (items[1], {})
    if isinstance(options, str):
        options = {"order": options}
    _known(options, {"order", "missing"}, f"sort.{path}")
    if options.get("order", "asc") != "asc" or options.get("missing", "_last") != "_last":
        raise _rejected("ties are sorted ascending, missing values last", f"sort.{path}")
    return _path(path, "sort")


def _source(source: Any) -> tuple[str, ...] | None:
    if isinstance(source, bool):
        return None if source else ()
    items = [source] if isinstance(source, str) else source
    return tuple(_text(item, "_source") for item in _list(items, "_source")) or None


def _track(track: Any) -> int | None:
    """None: count all; 0: do not count."""
    if isinstance(track, bool):
        return None if track else 0
    return _count(track, "track_total_hits")


def _known(value: Any, names: set[str], place: str) -> None:
    if not isinstance(value, Mapping):
        raise _rejected("an object was expected", place)
    unknown = sorted(set(value) - names)
    if unknown:
        raise _rejected(
            f"unknown key [{unknown[0]}]", place, f"use only: {', '.join(sorted(names))}" if names else None
        )


def _single(value: Any, place: str) -> tuple[str, Any]:
    if not isinstance(value, Mapping) or len(value) != 1:
        raise _rejected("an object with exactly one key was expected", place)
    return next(iter(value.items()))


def _list(value: Any, place: str) -> Sequence[Any]:
    if not isinstance(value, list | tuple):
        raise _rejected("a list was expected", place)
    return value


def _scalar(value: Any, place: str) -> Any:
    if value is None or isinstance(value, Mapping | list | tuple):
        raise _rejected("a single value was expected", place)
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise _rejected("a text was expected", place)
    return value


def _path(path: str, place: str) -> str:
    if path.startswith("_"):
        raise _rejected(f"[{path}] cannot be used here", place, "use ids to name documents" if path == "_id" else None)
    return path


def _count(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise _rejected(f"{value!r} is not a whole number from 0", place)
    return value


def _number(value: Any, place: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _rejected(f"{value!r} is not a number", place)
    return float(value)


def _rejected(message: str, place: str, remedy: str | None = None) -> Rejected:
    return Rejected(message, place=place, remedy=remedy, status=400)
