"""A small collection that has something for every kind of query."""

from collections.abc import Mapping
from typing import Any

from idxopt.engines.port import Engine, SearchRequest, SearchResponse

BODY: Mapping[str, Any] = {
    "settings": {
        "index": {
            "number_of_shards": 1,
            "number_of_replicas": 0,
            "hidden": True,
            "refresh_interval": "-1",
            "similarity": {
                "plain": {"type": "BM25", "k1": 1.2, "b": 0.75},
                "flat": {"type": "BM25", "k1": 0.9, "b": 0.4},
            },
        }
    },
    "mappings": {
        "dynamic": False,
        "_meta": {"idxopt": {"owner": "contract", "number": 1.5}},
        "properties": {
            "title": {"type": "text", "analyzer": "english", "similarity": "plain"},
            "text": {"type": "text", "analyzer": "english", "similarity": "flat"},
            "exact": {"type": "text", "analyzer": "standard", "similarity": "plain"},
            "lang": {"type": "keyword"},
            "tags": {"type": "keyword", "ignore_above": 8},
            "year": {"type": "integer"},
            "big": {"type": "long"},
            "price": {"type": "double"},
            "ratio": {"type": "float"},
            "open": {"type": "boolean"},
            "seen": {"type": "date"},
            "author": {"properties": {"name": {"type": "keyword"}, "born": {"type": "date"}}},
            "raw": {"type": "object", "enabled": False},
            "idxopt": {
                "dynamic": "strict",
                "properties": {
                    "doc_id": {"type": "keyword"},
                    "row": {"type": "integer"},
                    "body": {"type": "object", "enabled": False},
                },
            },
        },
    },
}


def book(doc_id: str, row: int = 0, **fields: Any) -> dict[str, Any]:
    """One row of a document."""
    return {**fields, "idxopt": {"doc_id": doc_id, "row": row}}


ROWS: Mapping[str, dict[str, Any]] = {
    "b#0": book(
        "b",
        title="Running rivers",
        text="The river runs through the valley. Rivers run.",
        lang="en",
        year=1999,
        tags=["water", "geology"],
        price=12.5,
        open=True,
        seen="2024-01-31",
        author={"name": "Ana", "born": "1970-05-01"},
        raw={"anything": [1, {"deep": None}], "year": "no number"},
        unmapped="stored only",
    ),
    "b#1": book(
        "b", 1, title="Deserts", text="No water at all", lang="en", year=[1999, 2005], seen="2024-02-01T10:30:00Z"
    ),
    "a#0": book(
        "a", title="Running rivers", text="The river runs through the valley. Rivers run.", lang="de", year=2010
    ),
    "c#0": book(
        "c",
        title="Valleys",
        text="valley " * 50 + "river",
        lang="EN",
        tags="a tag beyond eight",
        big=2**53 + 1,
        price=-1,
    ),
    "ä#0": book(
        "ä", title="Wasser", exact="Wasser wasser ÜBER", lang="dé", ratio=0.1, open="false", seen=1706745600000
    ),
    "z#0": book(
        "z", title="", text=None, tags=[], lang=None, author=[{"name": "Bo"}, {"name": "Cy"}], big="9007199254740992"
    ),
    "no id": {"title": "A river without a document id", "text": "valley", "seen": "2023-12-31T23:59:59.999+01:00"},
}

TIES = [{"_score": "desc"}, {"idxopt.doc_id": {"order": "asc", "missing": "_last"}}]


def most_fields(text: str, *fields: str) -> dict[str, Any]:
    """The scoring clause that the compiler emits."""
    return {"multi_match": {"query": text, "type": "most_fields", "fields": list(fields)}}


def scored(text: str, *fields: str, **body: Any) -> dict[str, Any]:
    """A whole search body."""
    return {"query": {"bool": {"must": [most_fields(text, *fields)]}}, "_source": False, "sort": TIES, **body}


def filtered(clause: Mapping[str, Any], **body: Any) -> dict[str, Any]:
    """A body that only filters."""
    return {"query": {"bool": {"filter": [clause]}}, "_source": False, "sort": TIES, "size": 100, **body}


def ask(engine: Engine, index: str, body: Mapping[str, Any]) -> SearchResponse:
    """One search that must not fail."""
    [response] = engine.search([SearchRequest(index, body)])
    assert response.error is None, response.error
    return response


def found(engine: Engine, index: str, clause: Mapping[str, Any]) -> list[str]:
    """Ids of the rows that pass a filter, sorted."""
    return sorted(hit.id for hit in ask(engine, index, filtered(clause)).hits)
