"""An index body and documents for tests of the embedded engine."""

from collections.abc import Mapping
from typing import Any

from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.port import LoadRow, SearchRequest, SearchResponse

BODY: Mapping[str, Any] = {
    "settings": {"index": {"similarity": {"s": {"type": "BM25", "k1": 1.2, "b": 0.75}}}},
    "mappings": {
        "dynamic": False,
        "properties": {
            "title": {"type": "text", "analyzer": "standard", "similarity": "s"},
            "text": {"type": "text", "analyzer": "english", "similarity": "s"},
            "tag": {"type": "keyword"},
            "number": {"type": "long"},
            "doc_id": {"type": "keyword"},
        },
    },
}


def rows(*bodies: tuple[str, Mapping[str, Any]]) -> list[LoadRow]:
    """Rows whose `doc_id` is their id."""
    return [LoadRow(id, {**body, "doc_id": id}) for id, body in bodies]


def fill(engine: EmbeddedEngine, index: str, loaded: list[LoadRow]) -> None:
    """Makes an index with rows, searchable."""
    state = engine.create_index(index, BODY)
    report = engine.load(index, state.uuid, loaded)
    assert report.created == len(loaded), report
    engine.refresh(index)


def search(engine: EmbeddedEngine, index: str, text: str, filter: Mapping[str, Any] | None = None) -> SearchResponse:
    """The first hits for a text over both fields, with everything that a hit has."""
    must = {"multi_match": {"query": text, "type": "most_fields", "fields": ["title^2.0", "text"]}}
    body = {
        "query": {"bool": {"must": [must], "filter": [filter] if filter else []}},
        "sort": [{"_score": "desc"}, {"doc_id": {"order": "asc", "missing": "_last"}}],
        "size": 1000,
    }
    [response] = engine.search([SearchRequest(index, body)])
    return response
