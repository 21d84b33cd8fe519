"""Frozen corpus tables: in the build's manifest and in its pipeline, never counted by a plan, new ones by refresh."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import opensearchpy
import pytest

from idxopt.builds.manifest import Manifest
from idxopt.builds.state import StateStore, StateWriter
from idxopt.compiler.curl import script
from idxopt.deploy.loading import tables_of
from idxopt.deploy.observed import observe
from idxopt.deploy.requests import requests, shortened_note
from idxopt.deploy.status import read_status
from idxopt.deploy.table_drift import table_drifts
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import Engine
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document
from idxopt.program.canonical import canonical
from idxopt.program.schema import Program
from idxopt.program.validate import program_from
from tests.deploy.harness import documents, plan_of, program, put_live, roll_back, write_documents

STEPS: list[dict[str, Any]] = [
    {"op": "enrich", "with": "prime_terms", "into": "terms"},
    {"op": "enrich", "with": "heading_tree", "into": "tree"},
]
VIEWS = {
    "content": {"steps": STEPS, "lexical": {"fields": {"title": {}, "body": {}, "terms": {}}}},
    "titles": {"lexical": {"fields": {"title": {}}}},
}


def prime(name: str) -> Program:
    value = {**canonical(program(name, views=1)), "views": VIEWS, "primary": "content"}
    return program_from(value, "test")


def live_of(engine: Engine, name: str) -> Manifest:
    live = observe(engine, name).live
    assert live is not None
    return live


def more_documents(tmp_path: Path) -> Path:
    return write_documents(tmp_path / "more.jsonl", documents(60))


def test_refresh_counts_anew_and_rebuilds_what_reads_tables(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    put_live(engine, prime(name), data, tmp_path)
    first = live_of(engine, name)
    more = more_documents(tmp_path)
    put_live(engine, prime(name), more, tmp_path, intent={"rebuild": True})
    rebuilt = live_of(engine, name)
    assert rebuilt.tables == first.tables, "a rebuild keeps the frozen tables"
    plan = plan_of(engine, prime(name), refresh=True)
    assert [build.view for build in plan.builds] == ["content"]
    put_live(engine, prime(name), more, tmp_path, intent={"refresh": True})
    fresh = live_of(engine, name)
    assert first.tables is not None
    assert fresh.tables is not None
    assert (first.tables.documents, fresh.tables.documents) == (40, 60)
    assert fresh.views["titles"] == rebuilt.views["titles"]
    assert plan_of(engine, prime(name)).empty
    (drift,) = table_drifts(tables_of(StateStore(engine), rebuilt), tables_of(StateStore(engine), fresh))
    assert (drift.field, drift.stream, drift.documents) == ("body", "prime", (40, 60))
    assert drift.moved == pytest.approx(62 / 92)


@pytest.fixture
def node(opensearch_url: str) -> Iterator[OpenSearchEngine]:
    with OpenSearchEngine.connect(opensearch_url) as engine:
        yield engine


@pytest.fixture
def client(opensearch_url: str) -> Iterator[opensearchpy.OpenSearch]:
    with opensearchpy.OpenSearch(opensearch_url) as made:
        yield made


def test_the_first_apply_puts_the_tables_into_the_pipeline_and_writes_get_their_terms(
    node: OpenSearchEngine, client: opensearchpy.OpenSearch, name: str, data: Path, tmp_path: Path
) -> None:
    plan = plan_of(node, prime(name))
    assert "the corpus tables of the pipeline are counted by apply" in shortened_note(
        observe(node, name), plan, full=False
    )
    assert plan.lost_on_write == {"titles": ("body", "title")}
    put_live(node, prime(name), data, tmp_path)
    live = live_of(node, name)
    tables = tables_of(StateStore(node), live)
    assert plan_of(node, prime(name)).empty
    source = {"title": "t", "text": "# Own title\n\nThe shard of the shard.\n\n## Replica *node*\n\nunheard words\n"}
    client.index(index=name, id="new", body=source)
    (row,) = Interpreter(prime(name), "content", tables).stored(Document("new", source))
    stored = client.get(index=name, id="new")["_source"]
    assert stored == row.body
    assert stored["idxopt"]["tree"] == "Replica node"
    assert "incomplete" not in stored["idxopt"]


def change_one_term(client: opensearchpy.OpenSearch, index: str) -> None:
    body = client.ingest.get_pipeline(id=index)[index]
    terms = body["processors"][0]["script"]["params"]["tables"]["body"]["terms"]
    terms["shard"] += 1
    client.ingest.put_pipeline(id=index, body=body)


def test_one_term_changed_by_somebody_is_found_and_mended_without_reading_the_corpus(
    node: OpenSearchEngine, client: opensearchpy.OpenSearch, name: str, data: Path, tmp_path: Path
) -> None:
    put_live(node, prime(name), data, tmp_path)
    index = live_of(node, name).views["content"].index
    before = node.get_pipeline(index)
    change_one_term(client, index)
    data.unlink()
    plan = plan_of(node, prime(name))
    (change,) = plan.changes
    assert (change.kind, change.subject, change.why, change.foreign) == (
        "pipeline",
        index,
        "its body was changed",
        True,
    )
    assert read_status(node, name, cluster="test").drifted
    write_documents(data, documents())
    put_live(node, prime(name), data, tmp_path)
    assert node.get_pipeline(index) == before
    assert plan_of(node, prime(name)).empty


def test_requests_show_the_tables_by_number_unless_all_is_asked_for(
    node: OpenSearchEngine, client: opensearchpy.OpenSearch, name: str, data: Path, tmp_path: Path
) -> None:
    put_live(node, prime(name), data, tmp_path)
    index = live_of(node, name).views["content"].index
    whole = node.get_pipeline(index)
    change_one_term(client, index)
    observed, plan = observe(node, name), plan_of(node, prime(name))
    short = script(requests(observed, plan), title="x")
    assert '"terms": "' in short
    assert '"shard"' not in short
    assert "--full prints them" in shortened_note(observed, plan, full=False)
    assert shortened_note(observed, plan, full=True) == ""
    (request,) = requests(observed, plan, full=True)
    assert json.loads(json.dumps(request.body)) == whole


def test_rollback_brings_the_tables_of_its_build_back(
    node: OpenSearchEngine, client: opensearchpy.OpenSearch, name: str, data: Path, tmp_path: Path
) -> None:
    put_live(node, prime(name), data, tmp_path)
    first = live_of(node, name)
    index = first.views["content"].index
    before = node.get_pipeline(index)
    put_live(node, prime(name), more_documents(tmp_path), tmp_path, intent={"refresh": True})
    change_one_term(client, index)
    roll_back(node, name, tmp_path)
    assert live_of(node, name).build == first.build
    assert node.get_pipeline(index) == before
    assert plan_of(node, prime(name)).empty


def test_lost_tables_are_told_and_refresh_makes_new_ones(
    node: OpenSearchEngine, name: str, data: Path, tmp_path: Path
) -> None:
    put_live(node, prime(name), data, tmp_path)
    live = live_of(node, name)
    assert live.tables is not None
    StateWriter(node).delete_tables(name, live.tables.digest)
    plan = plan_of(node, prime(name))
    assert plan.empty
    (note,) = plan.notes
    assert f"pipeline {live.views['content'].index} cannot be compared" in note
    assert f"`idxopt refresh {name}` makes new ones" in note
    put_live(node, prime(name), data, tmp_path, intent={"refresh": True})
    fresh = live_of(node, name)
    assert fresh.tables is not None
    assert StateStore(node).has_tables(name, fresh.tables.digest)
    assert plan_of(node, prime(name)).notes == ()


def test_a_pipeline_that_is_gone_with_its_tables_is_put_back_without_them(
    node: OpenSearchEngine, client: opensearchpy.OpenSearch, name: str, data: Path, tmp_path: Path
) -> None:
    put_live(node, prime(name), data, tmp_path)
    live = live_of(node, name)
    index = live.views["content"].index
    assert live.tables is not None
    StateWriter(node).delete_tables(name, live.tables.digest)
    client.ingest.delete_pipeline(id=index)
    with pytest.raises(opensearchpy.TransportError):
        client.index(index=name, id="new", body={"title": "t", "text": "The shard."})
    (change,) = plan_of(node, prime(name)).changes
    assert (change.kind, change.subject, change.what) == ("pipeline", index, "restore")
    put_live(node, prime(name), data, tmp_path)
    client.index(index=name, id="new", body={"title": "t", "text": "The shard."})
    own = client.get(index=name, id="new")["_source"]["idxopt"]
    assert own["incomplete"] is True, "what needs tables is left to the next build, and the write is not lost"
    assert "terms" not in own
    plan = plan_of(node, prime(name))
    assert plan.empty
    (note,) = plan.notes
    assert "leaves out what needs corpus tables" in note
    put_live(node, prime(name), data, tmp_path, intent={"refresh": True}, carry_writes=True)
    assert "terms" in client.get(index=name, id="new")["_source"]["idxopt"]
    assert plan_of(node, prime(name)).notes == ()
