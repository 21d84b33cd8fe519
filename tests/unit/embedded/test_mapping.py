"""Mappings: what is understood, what is refused, and which values a document gives."""

from typing import Any

import pytest

from idxopt.engines.embedded.mapping import merge_mappings, parse_mapping
from idxopt.engines.embedded.values import BadValue
from idxopt.errors import Rejected

MAPPINGS: dict[str, Any] = {
    "dynamic": False,
    "properties": {
        "title": {"type": "text", "analyzer": "english", "fields": {"raw": {"type": "keyword"}}},
        "a": {"properties": {"b": {"properties": {"c": {"type": "long"}}}}},
        "off": {"type": "object", "enabled": False},
        "strict": {"dynamic": "strict", "properties": {"x": {"type": "keyword"}, "open": {"dynamic": False}}},
    },
}


def test_values_of_a_document() -> None:
    mapped = parse_mapping(MAPPINGS)
    assert set(mapped.fields) == {"title", "title.raw", "a.b.c", "strict.x"}
    document = {
        "title": ["One", None, ["Two"]],
        "a": [{"b": {"c": 1}}, {"b": [{"c": [2, 3]}, None]}, {"other": 1}],
        "a.b.c": 4,
        "a.b": {"c": 5},
        "off": {"a": {"b": "not a number"}},
        "unmapped": {"deep": [1, 2]},
        "strict": {"x": "y", "open": {"anything": 1}},
    }
    assert mapped.values(document) == {
        "title": ["One", "Two"],
        "title.raw": [b"One", b"Two"],
        "a.b.c": [1, 2, 3, 4, 5],
        "strict.x": [b"y"],
    }


@pytest.mark.parametrize(
    "document", [{"strict": {"z": 1}}, {"strict": {"x.y": 1}}, {"strict": "text"}, {"a": 1}, {"a": {"b": {"c": "x"}}}]
)
def test_documents_that_are_refused(document: dict[str, Any]) -> None:
    with pytest.raises(BadValue):
        parse_mapping(MAPPINGS).values(document)


@pytest.mark.parametrize(
    "mappings",
    [
        {},
        {"dynamic": True},
        {"dynamic": "runtime"},
        {"dynamic": False, "surprise": 1},
        {"dynamic": False, "properties": {"v": {"type": "dense_vector", "dims": 3}}},
        {"dynamic": False, "properties": {"v": {"type": "knn_vector"}}},
        {"dynamic": False, "properties": {"v": {"type": "knn_vector", "dimension": 16_001}}},
        {"dynamic": False, "properties": {"v": {"type": "knn_vector", "dimension": 3, "space_type": "hamming"}}},
        {"dynamic": False, "properties": {"v": {"type": "knn_vector", "dimension": 3, "method": {"name": "ivf"}}}},
        {"dynamic": False, "properties": {"v": {"type": "knn_vector", "dimension": 3, "mode": "on_disk"}}},
        {"dynamic": False, "properties": {"v": {"type": "geo_point"}}},
        {"dynamic": False, "properties": {"v": "keyword"}},
        {"dynamic": False, "properties": {"v": {"type": "text", "index": False}}},
        {"dynamic": False, "properties": {"v": {"type": "text", "analyzer": "klingon"}}},
        {"dynamic": False, "properties": {"v": {"type": "date", "format": "dd/MM/yyyy"}}},
        {"dynamic": False, "properties": {"v": {"type": "text", "fields": {"w": {"properties": {}}}}}},
        {"dynamic": False, "properties": {"v": {"dynamic": True}}},
    ],
)
def test_mappings_that_are_refused(mappings: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        parse_mapping(mappings)


def test_merging() -> None:
    merged = merge_mappings(
        {**MAPPINGS, "_meta": {"old": 1}}, {"properties": {"a": {"properties": {"d": {"type": "date"}}}}}
    )
    assert merged["_meta"] == {"old": 1}
    assert set(parse_mapping(merged).fields) == {"title", "title.raw", "a.b.c", "a.d", "strict.x"}
    assert merge_mappings(merged, {"_meta": {"new": 1}})["_meta"] == {"new": 1}
    with pytest.raises(Rejected):
        merge_mappings(MAPPINGS, {"properties": {"title": {"type": "keyword"}}})
    with pytest.raises(Rejected):
        merge_mappings(MAPPINGS, {"properties": {"a": {"type": "keyword"}}})
