"""The query language ends every bad input in Rejected, with its place."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.engines.embedded.query import MatchAll, Terms, parse_filter, parse_search
from idxopt.errors import Rejected

MATCH = {"multi_match": {"query": "x", "type": "most_fields", "fields": ["a^2.5", "b^1e-05", "c"]}}

WORDS = st.sampled_from(
    "query bool must filter should must_not term terms range exists ids match_all multi_match fields type most_fields "
    "gte lt field values size from sort _score _source collapse minimum_should_match order missing _id a^2 *".split()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=12,
)


@given(st.dictionaries(WORDS, JSON, max_size=4) | JSON)
def test_any_json_is_read_or_refused(body: Any) -> None:
    for parse in (parse_search, parse_filter):
        refused: Rejected | None = None
        try:
            parse(body)
        except Rejected as error:
            refused = error
        assert refused is None or (refused.message and refused.place)


def test_a_search_as_the_compiler_writes_it() -> None:
    query = parse_search({"query": {"bool": {"must": [MATCH], "filter": [{"term": {"l": "en"}}]}}, "size": 3})
    [match] = query.matches
    assert match.fields == (("a", 2.5), ("b", 1e-5), ("c", 1.0))
    assert (query.size, query.skip, query.tie, query.collapse, query.sorted) == (3, 0, None, None, False)
    assert parse_filter({"match_all": {}}) == MatchAll()
    assert parse_filter({"term": {"l": {"value": 1}}}) == Terms("l", (1,))


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({"size": True}, "size"),
        ({"query": {"bool": {"must": [{"term": {"a": 1}}]}}}, "query.bool.must"),
        ({"query": {"bool": {"should": [MATCH]}}}, "query.bool"),
        ({"query": {"multi_match": {"query": "x", "fields": ["a"]}}}, "query.multi_match"),
        (
            {"query": {"multi_match": {"query": "x", "type": "most_fields", "fields": ["a*"]}}},
            "query.multi_match.fields",
        ),
        (
            {"query": {"multi_match": {"query": "x", "type": "most_fields", "fields": ["a^-1"]}}},
            "query.multi_match.fields",
        ),
        ({"query": {"multi_match": {"query": "x", "type": "most_fields", "fields": []}}}, "query.multi_match.fields"),
        ({"query": {"bool": {"filter": [{"term": {"_id": "1"}}]}}}, "query.bool.filter.term"),
        (
            {"query": {"bool": {"filter": [{"bool": {"must": [{"terms": {"a": [None]}}]}}]}}},
            "query.bool.filter.bool.must.terms.a",
        ),
        ({"query": {"bool": {"filter": [{"terms": {"a": ["x"] * 65_537}}]}}}, "query.bool.filter.terms.a"),
        ({"sort": [{"date": "desc"}]}, "sort"),
        ({"sort": ["_score", {"a": "desc"}]}, "sort.a"),
        ({"sort": ["_score", {"a": {"order": "asc", "missing": "_first"}}]}, "sort.a"),
        ({"_source": {"includes": ["a"]}}, "_source"),
        ({"min_score": "x"}, "min_score"),
    ],
)
def test_the_place_of_a_mistake(body: dict[str, Any], place: str) -> None:
    with pytest.raises(Rejected) as caught:
        parse_search(body)
    assert caught.value.place == place
