"""The filters of the query subset over every type of field, the same on every engine."""

from typing import Any

import pytest

from idxopt.engines.port import Engine
from tests.contract.library import ROWS, found

EVERY = sorted(ROWS)


@pytest.mark.parametrize(
    ("clause", "expected"),
    [
        ({"match_all": {}}, EVERY),
        ({"term": {"lang": "en"}}, ["b#0", "b#1"]),
        ({"term": {"lang": {"value": "EN"}}}, ["c#0"]),
        ({"term": {"lang": "dé"}}, ["ä#0"]),
        ({"terms": {"lang": ["de", "EN", "zz"]}}, ["a#0", "c#0"]),
        ({"terms": {"lang": []}}, []),
        ({"term": {"tags": "geology"}}, ["b#0"]),
        ({"term": {"tags": "a tag beyond eight"}}, []),
        ({"term": {"unmapped": "stored only"}}, []),
        ({"term": {"raw.year": "no number"}}, []),
        ({"term": {"author.name": "Cy"}}, ["z#0"]),
        ({"term": {"text": "river"}}, ["a#0", "b#0", "c#0"]),
        ({"term": {"text": "rivers"}}, []),
        ({"term": {"exact": "über"}}, ["ä#0"]),
        ({"term": {"year": 1999}}, ["b#0", "b#1"]),
        ({"term": {"year": "2005"}}, ["b#1"]),
        ({"term": {"year": 2005.5}}, []),
        ({"terms": {"year": [1999, 2005.5]}}, ["b#0", "b#1"]),
        ({"terms": {"year": [2005, 2010]}}, ["a#0", "b#1"]),
        ({"term": {"big": 2**53 + 1}}, ["c#0"]),
        ({"term": {"big": 2**53}}, ["z#0"]),
        ({"term": {"price": 12.5}}, ["b#0"]),
        ({"term": {"price": -1}}, ["c#0"]),
        ({"term": {"ratio": 0.1}}, ["ä#0"]),
        ({"term": {"open": True}}, ["b#0"]),
        ({"term": {"open": "false"}}, ["ä#0"]),
        ({"term": {"seen": "2024-01-31"}}, ["b#0"]),
        ({"term": {"seen": "2024-02-01"}}, ["b#1", "ä#0"]),
        ({"range": {"year": {"gte": 1999, "lt": 2005}}}, ["b#0", "b#1"]),
        ({"range": {"year": {"gt": 1999}}}, ["a#0", "b#1"]),
        ({"range": {"year": {"gt": 1999.5, "lte": 2005.5}}}, ["b#1"]),
        ({"range": {"year": {}}}, ["a#0", "b#0", "b#1"]),
        ({"range": {"year": {"gte": 3000, "lte": 1000}}}, []),
        ({"range": {"big": {"gt": 2**53}}}, ["c#0"]),
        ({"range": {"price": {"lt": 12.5}}}, ["c#0"]),
        ({"range": {"ratio": {"lte": 0.1}}}, ["ä#0"]),
        ({"range": {"lang": {"gte": "de", "lt": "en"}}}, ["a#0", "ä#0"]),
        ({"range": {"lang": {"gt": "de"}}}, ["b#0", "b#1", "ä#0"]),
        ({"range": {"lang": {"lte": "EN"}}}, ["c#0"]),
        ({"range": {"seen": {"gte": "2024-01-31T00:00:00Z"}}}, ["b#0", "b#1", "ä#0"]),
        ({"range": {"seen": {"gt": "2024-01-31"}}}, ["b#1", "ä#0"]),
        ({"range": {"seen": {"lte": "2024-01"}}}, ["no id"]),
        ({"range": {"seen": {"lt": "2024"}}}, ["no id"]),
        ({"range": {"seen": {"lte": "2024"}}}, ["no id"]),
        ({"range": {"seen": {"lte": "2024-02-01T10"}}}, ["b#0", "b#1", "no id", "ä#0"]),
        ({"range": {"seen": {"gte": "2024-02-01T11:30+01:00"}}}, ["b#1"]),
        ({"range": {"seen": {"gte": 1706745600000, "lte": 1706745600000}}}, ["ä#0"]),
        ({"range": {"author.born": {"lt": "1971-01-01"}}}, ["b#0"]),
        ({"range": {"unmapped": {"gte": "a"}}}, []),
        ({"exists": {"field": "year"}}, ["a#0", "b#0", "b#1"]),
        ({"exists": {"field": "lang"}}, ["a#0", "b#0", "b#1", "c#0", "ä#0"]),
        ({"exists": {"field": "tags"}}, ["b#0"]),
        ({"exists": {"field": "title"}}, EVERY),
        ({"exists": {"field": "text"}}, ["a#0", "b#0", "b#1", "c#0", "no id"]),
        ({"exists": {"field": "author"}}, ["b#0", "z#0"]),
        ({"exists": {"field": "unmapped"}}, []),
        ({"exists": {"field": "raw"}}, []),
        ({"exists": {"field": "raw.year"}}, []),
        ({"exists": {"field": "idxopt"}}, ["a#0", "b#0", "b#1", "c#0", "z#0", "ä#0"]),
        ({"term": {"author": "Ana"}}, []),
        ({"term": {"lang": 1}}, []),
        ({"term": {"seen": "2024"}}, []),
        ({"term": {"ratio": 0.10000000001}}, ["ä#0"]),
        ({"range": {"ratio": {"gt": 0.1}}}, []),
        ({"range": {"year": {"gte": None, "lt": 2000}}}, ["b#0", "b#1"]),
        ({"range": {"open": {"gte": True}}}, ["b#0"]),
        ({"range": {"text": {"gte": "r", "lt": "s"}}}, ["a#0", "b#0", "c#0"]),
        ({"ids": {"values": ["b#0", "ä#0", "absent"]}}, ["b#0", "ä#0"]),
        ({"ids": {"values": []}}, []),
        ({"bool": {"must_not": [{"exists": {"field": "lang"}}]}}, ["no id", "z#0"]),
        ({"bool": {"must": [{"term": {"lang": "en"}}], "filter": [{"term": {"year": 2005}}]}}, ["b#1"]),
        ({"bool": {"should": [{"term": {"lang": "en"}}, {"term": {"lang": "de"}}]}}, ["a#0", "b#0", "b#1"]),
        (
            {"bool": {"must": [{"term": {"lang": "en"}}], "should": [{"term": {"year": 2005}}]}},
            ["b#0", "b#1"],
        ),
        (
            {
                "bool": {
                    "should": [{"term": {"lang": "en"}}, {"term": {"year": 1999}}, {"term": {"open": True}}],
                    "minimum_should_match": 3,
                }
            },
            ["b#0"],
        ),
        ({"bool": {"should": [{"term": {"lang": "en"}}], "minimum_should_match": 0}}, ["b#0", "b#1"]),
        ({"bool": {"should": [{"term": {"lang": "en"}}], "minimum_should_match": 2}}, []),
        ({"bool": {"filter": [{"term": {"lang": "en"}}], "minimum_should_match": 1}}, []),
        (
            {"bool": {"should": [{"term": {"lang": "en"}}], "must_not": [{"term": {"year": 2005}}]}},
            ["b#0"],
        ),
        ({"bool": {}}, EVERY),
        ({"bool": {"must": {"term": {"lang": "en"}}}}, ["b#0", "b#1"]),
    ],
)
def test_filter(engine: Engine, library: str, clause: dict[str, Any], expected: list[str]) -> None:
    assert found(engine, library, clause) == sorted(expected)
