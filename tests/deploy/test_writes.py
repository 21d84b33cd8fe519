"""Writes through the alias survive a rollback or an apply, or are refused by name (H6, contract 8)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import opensearchpy
import pytest

from idxopt.deploy.status import read_status
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.errors import GateRefused
from tests.deploy.harness import answers, documents, program, put_live, roll_back, write_documents


@pytest.fixture
def engine(opensearch_url: str) -> OpenSearchEngine:
    return OpenSearchEngine.connect(opensearch_url)


def seven_writes(client: opensearchpy.OpenSearch, name: str) -> None:
    """3 inserts, 2 updates, 2 deletes, as an application makes them: through the alias."""
    for number in range(3):
        client.index(
            index=name,
            id=f"new-{number}",
            body={"title": f"zebra {number}", "text": "about zebraCount in herds", "lang": "en"},
        )
    for number in (5, 6):
        client.index(
            index=name, id=f"doc-{number:03d}", body={"title": "giraffe", "text": "about giraffes", "lang": "en"}
        )
    for number in (7, 8):
        client.delete(index=name, id=f"doc-{number:03d}")
    client.indices.refresh(index=name)


def ids(client: opensearchpy.OpenSearch, target: str, **query: Any) -> set[str]:
    found = client.search(index=target, body={"size": 200, "query": query or {"match_all": {}}})
    return {hit["_id"] for hit in found["hits"]["hits"]}


def test_h6_rollback_after_seven_writes(
    engine: OpenSearchEngine, opensearch_url: str, name: str, data: Path, tmp_path: Path
) -> None:
    client = opensearchpy.OpenSearch(opensearch_url)
    first = put_live(engine, program(name), data, tmp_path)
    old = answers(engine, name)
    put_live(engine, program(name), data, tmp_path, intent={"rebuild": True})
    seven_writes(client, name)
    assert read_status(engine, name, cluster="test").writes.total == 7
    new = answers(engine, name)

    with pytest.raises(GateRefused) as refused:
        roll_back(engine, name, tmp_path)
    assert "7 (3 inserted, 2 updated, 2 deleted)" in refused.value.message
    assert answers(engine, name) == new

    back = roll_back(engine, name, tmp_path, carry_writes=True)
    assert back.build == first.build
    assert back.writes.total == 7
    assert ids(client, name, match={"title": "zebra"}) == {"new-0", "new-1", "new-2"}
    assert ids(client, name, match={"title": "giraffe"}) == {"doc-005", "doc-006"}
    assert not ids(client, name) & {"doc-007", "doc-008"}
    assert len(ids(client, name)) == 41
    rows = client.search(index=f"{name}--sections", body={"size": 300, "_source": ["idxopt.doc_id"]})
    of = [hit["_source"]["idxopt"]["doc_id"] for hit in rows["hits"]["hits"]]
    assert "new-1" in of
    assert "doc-007" not in of
    assert of.count("doc-005") == 1
    assert answers(engine, name) != old
    assert read_status(engine, name, cluster="test").writes.total == 0


def test_h6_discarding_restores_exactly(
    engine: OpenSearchEngine, opensearch_url: str, name: str, data: Path, tmp_path: Path
) -> None:
    client = opensearchpy.OpenSearch(opensearch_url)
    put_live(engine, program(name), data, tmp_path)
    old = answers(engine, name)
    put_live(engine, program(name), data, tmp_path, intent={"rebuild": True})
    seven_writes(client, name)
    roll_back(engine, name, tmp_path, discard_writes=True)
    assert answers(engine, name) == old


def test_apply_over_writes(
    engine: OpenSearchEngine, opensearch_url: str, name: str, data: Path, tmp_path: Path
) -> None:
    client = opensearchpy.OpenSearch(opensearch_url)
    put_live(engine, program(name, views=2), data, tmp_path)
    seven_writes(client, name)
    with pytest.raises(GateRefused):
        put_live(engine, program(name, views=2), data, tmp_path, intent={"rebuild": True})
    applied = put_live(engine, program(name, views=2), data, tmp_path, intent={"rebuild": True}, carry_writes=True)
    assert applied.writes.total == 7
    assert len(ids(client, name)) == 41
    assert "new-2" in ids(client, name)
    assert "new-2" in ids(client, f"{name}--titles", match={"title": "zebra"}) or ids(
        client, f"{name}--titles", match={"idxopt.title": "zebra"}
    )


def test_alias_writes_are_transformed(
    engine: OpenSearchEngine, opensearch_url: str, name: str, data: Path, tmp_path: Path
) -> None:
    client = opensearchpy.OpenSearch(opensearch_url)
    put_live(engine, program(name), data, tmp_path)
    client.index(index=name, id="camel", body={"title": "x", "text": "see maxClauseCount"}, refresh=True)
    stored = client.get(index=name, id="camel")["_source"]
    assert stored["idxopt"]["doc_id"] == "camel"
    assert "Clause" in stored["idxopt"]["body"]
    automatic = client.index(index=name, body={"title": "automatic", "text": "quokka"}, refresh=True)["_id"]
    assert automatic in [hit[0] for hit in answers(engine, name, ("quokka",))[0]]


def test_weights_alone_never_ask(
    engine: OpenSearchEngine, opensearch_url: str, name: str, data: Path, tmp_path: Path
) -> None:
    client = opensearchpy.OpenSearch(opensearch_url)
    put_live(engine, program(name), data, tmp_path)
    seven_writes(client, name)
    put_live(engine, program(name, fusion={"k": 10}), data, tmp_path)
    assert read_status(engine, name, cluster="test").writes.total == 7
    with pytest.raises(GateRefused):
        put_live(engine, program(name, fusion={"k": 10}), data, tmp_path, intent={"rebuild": True})


def test_documents_of_the_source_do_not_count(engine: OpenSearchEngine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    write_documents(data, documents(45))
    applied = put_live(engine, program(name, views=1), data, tmp_path, intent={"rebuild": True})
    assert applied.writes.total == 0
    assert applied.rows == {"content": 45}
