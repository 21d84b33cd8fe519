"""Nothing that is not ours is changed or deleted: not by apply, a refused apply, rollback, or destroy (contract 7)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import opensearchpy
import pytest

from idxopt.deploy.destroy import destroy
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.errors import BuildError, GateRefused
from tests.deploy.harness import documents, options, program, put_live, roll_back, write_documents


@pytest.fixture
def client(opensearch_url: str, name: str) -> Iterator[opensearchpy.OpenSearch]:
    """A cluster on which somebody has things of their own under names close to ours."""
    client = opensearchpy.OpenSearch(opensearch_url)
    settings = {"number_of_shards": 1, "number_of_replicas": 0}
    for index in (f"{name}-logs", f"{name}--content--deadbeef", f"{name}2--content--cafecafe"):
        client.indices.create(index=index, body={"settings": settings})
        client.index(index=index, id="1", body={"text": "somebody's"}, refresh=True)
    client.indices.put_alias(index=f"{name}-logs", name=f"{name}-current")
    client.ingest.put_pipeline(id=f"{name}--notes", body={"description": "somebody's", "processors": []})
    client.indices.put_index_template(
        name=f"{name}-all", body={"index_patterns": [f"{name}*"], "priority": 700, "template": {"settings": settings}}
    )
    yield client
    client.indices.delete(index=f"{name}-logs,{name}--content--deadbeef,{name}2--content--cafecafe")
    client.ingest.delete_pipeline(id=f"{name}--notes")
    client.indices.delete_index_template(name=f"{name}-all")


def foreign(client: opensearchpy.OpenSearch, name: str) -> dict[str, Any]:
    """Everything of theirs, down to the settings."""
    indices = f"{name}-logs,{name}--content--deadbeef,{name}2--content--cafecafe"
    return {
        "indices": client.indices.get(index=indices),
        "documents": client.search(index=indices, body={"query": {"match_all": {}}})["hits"]["hits"],
        "pipeline": client.ingest.get_pipeline(id=f"{name}--notes"),
        "template": client.indices.get_index_template(name=f"{name}-all"),
    }


def test_all_of_it(client: opensearchpy.OpenSearch, opensearch_url: str, name: str, data: Path, tmp_path: Path) -> None:
    engine = OpenSearchEngine.connect(opensearch_url)
    before = foreign(client, name)
    put_live(engine, program(name), data, tmp_path)
    put_live(engine, program(name, views=2), data, tmp_path, keep=0)
    assert foreign(client, name) == before

    bad = documents()
    bad[0].pop("_id")
    write_documents(data, bad)
    with pytest.raises(GateRefused):
        put_live(engine, program(name), data, tmp_path, intent={"rebuild": True})
    write_documents(data, documents())
    put_live(engine, program(name), data, tmp_path, intent={"rebuild": True})
    roll_back(engine, name, tmp_path)
    assert foreign(client, name) == before

    gone = destroy(engine, name, settings=options(tmp_path).lock)
    assert f"{name}--content--deadbeef" in gone.foreign
    assert foreign(client, name) == before
    with pytest.raises(BuildError):
        destroy(engine, name, settings=options(tmp_path).lock)


def test_a_clone_with_our_mark_is_not_ours(opensearch_url: str, name: str, data: Path, tmp_path: Path) -> None:
    client, engine = opensearchpy.OpenSearch(opensearch_url), OpenSearchEngine.connect(opensearch_url)
    put_live(engine, program(name, views=1), data, tmp_path)
    index = next(iter(client.indices.get_alias(name=name)))
    copy = f"{name}--content--backup"
    client.indices.put_settings(index=index, body={"index.blocks.write": True})
    client.indices.clone(index=index, target=copy, body={"settings": {"index.blocks.write": None}})
    client.indices.put_settings(index=index, body={"index.blocks.write": None})
    destroy(engine, name, settings=options(tmp_path).lock)
    assert client.indices.exists(index=copy)
    client.indices.delete(index=copy)
