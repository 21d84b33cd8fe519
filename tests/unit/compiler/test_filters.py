"""Filters: the subset is taken as it is, and everything else is refused by its place."""

from typing import Any

import pytest

from idxopt.compiler.filters import check_filter
from idxopt.errors import UsageError
from idxopt.program.schema import Source

SOURCE = Source(
    fields={"title": "title", "body": "text"},
    metadata={"lang": "keyword", "updated": "date", "pages": "integer", "public": "boolean", "meta.team": "keyword"},
)


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        ({"term": {"lang": "en"}}, None),
        ({"term": {"lang": {"value": "en"}}}, {"term": {"lang": "en"}}),
        ({"term": {"public": True}}, None),
        ({"terms": {"meta.team": ["a", "b"]}}, None),
        ({"range": {"updated": {"gte": "2024-01-01", "lt": "2025-01-01"}}}, None),
        ({"range": {"pages": {"gt": 3}}}, None),
        ({"exists": {"field": "lang"}}, None),
        ({"ids": {"values": ["a", 7]}}, {"ids": {"values": ["a", "7"]}}),
        ({"term": {"idxopt.doc_id": "a"}}, None),
        ({"bool": {"must": {"term": {"lang": "en"}}}}, {"bool": {"must": [{"term": {"lang": "en"}}]}}),
        (
            {"bool": {"should": [{"term": {"lang": "en"}}, {"term": {"lang": "fr"}}], "minimum_should_match": 1}},
            None,
        ),
    ],
)
def test_the_subset_passes(given: dict[str, Any], plain: dict[str, Any] | None) -> None:
    assert check_filter(given, SOURCE) == (plain or given)


@pytest.mark.parametrize(
    ("given", "message", "remedy", "place"),
    [
        ({"term": {"langs": "en"}}, 'unknown filter field "langs"', 'did you mean "lang"', "filter.term"),
        ({"term": {"title": "x"}}, '"title" is searched text', "source.metadata", "filter.term"),
        ({"term": {"text": "x"}}, '"text" is searched text', "source.metadata", "filter.term"),
        ({"termm": {"lang": "en"}}, 'unknown filter clause "termm"', 'did you mean "term"', "filter"),
        ({"match": {"lang": "en"}}, 'unknown filter clause "match"', "use one of", "filter"),
        ({}, "exactly one clause", "bool", "filter"),
        ({"term": {"lang": "en"}, "ids": {"values": ["a"]}}, "exactly one clause", "bool", "filter"),
        ([{"term": {"lang": "en"}}], "exactly one clause", "bool", "filter"),
        ({"term": {"lang": None}}, "no text, number or boolean", "plain value", "filter.term.lang"),
        ({"term": {"lang": "en", "pages": 1}}, "exactly one field", "FIELD", "filter.term"),
        ({"terms": {"lang": []}}, "needs a list", '"a", "b"', "filter.terms.lang"),
        ({"terms": {"lang": "en"}}, "needs a list", '"a", "b"', "filter.terms.lang"),
        ({"range": {"lang": {"gt": "a"}}}, "has no order", "term", "filter.range"),
        ({"range": {"pages": {"above": 1}}}, 'unknown bound "above"', "gt", "filter.range.pages"),
        ({"range": {"pages": {}}}, "needs bounds", "gte", "filter.range.pages"),
        ({"exists": {"field": "nope"}}, 'unknown filter field "nope"', "use one of", "filter.exists"),
        ({"exists": {"field": ["lang"]}}, "unknown filter field", "did you mean", "filter.exists"),
        ({"exists": "lang"}, 'unknown filter field "None"', "use one of", "filter.exists"),
        ({"ids": ["a"]}, "needs a list", '"a", "b"', "filter.ids.values"),
        ({"bool": {"must_no": []}}, 'unknown part "must_no"', '"must_not"', "filter.bool"),
        ({"bool": {}}, "JSON object", "filter", "filter.bool"),
        (
            {"bool": {"should": [{"term": {"lang": "en"}}], "minimum_should_match": "70%"}},
            "whole number",
            "1",
            "filter.bool.minimum_should_match",
        ),
        (
            {"bool": {"filter": [{"term": {"lang": "en"}}, {"term": {"pagse": 1}}]}},
            'unknown filter field "pagse"',
            'did you mean "pages"',
            "filter.bool.filter[1].term",
        ),
    ],
)
def test_everything_else_is_refused_by_its_place(given: Any, message: str, remedy: str, place: str) -> None:
    with pytest.raises(UsageError) as caught:
        check_filter(given, SOURCE)
    assert message in caught.value.message
    assert remedy in (caught.value.remedy or "")
    assert caught.value.place == place


def test_depth_is_bounded() -> None:
    deep: dict[str, Any] = {"term": {"lang": "en"}}
    for _ in range(30):
        deep = {"bool": {"must": [deep]}}
    with pytest.raises(UsageError, match="nested deeper than 20"):
        check_filter(deep, SOURCE)
