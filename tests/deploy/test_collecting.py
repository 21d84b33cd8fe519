"""What collecting and planning look at beside the name's own indices, and when a build counts as left."""

from __future__ import annotations

import datetime as dt
import secrets
from dataclasses import replace
from pathlib import Path

import opensearchpy
import pytest

from idxopt.deploy.collect import find_garbage
from idxopt.deploy.destroy import destroy
from idxopt.deploy.ledger import ledger_of
from idxopt.deploy.observed import observe, reaches
from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import Engine
from tests.deploy.harness import answers, documents, options, plan_of, program, put_live, write_documents
from tests.deploy.test_foreign_changes import index_of


@pytest.mark.cluster
def test_a_pipeline_that_a_foreign_index_names_stays(
    opensearch_url: str, name: str, data: Path, tmp_path: Path
) -> None:
    engine = OpenSearchEngine.connect(opensearch_url)
    client = opensearchpy.OpenSearch(opensearch_url)
    put_live(engine, program(name, views=1), data, tmp_path)
    pipeline = index_of(engine, name, "content")
    foreign = f"x{secrets.token_hex(4)}"
    client.indices.create(index=foreign, body={"settings": {"index.default_pipeline": pipeline}})
    try:
        destroy(engine, name, settings=options(tmp_path).lock)
        assert client.index(index=foreign, id="1", body={"title": "still"})["result"] == "created"
    finally:
        client.indices.delete(index=foreign)
        client.ingest.delete_pipeline(id=pipeline)


@pytest.mark.cluster
def test_a_changed_similarity_is_mended_by_a_new_index(
    opensearch_url: str, name: str, data: Path, tmp_path: Path
) -> None:
    engine = OpenSearchEngine.connect(opensearch_url)
    client = opensearchpy.OpenSearch(opensearch_url)
    wanted = program(name, views=2)
    put_live(engine, wanted, data, tmp_path)
    before = answers(engine, name)
    index = index_of(engine, name, "titles")
    settings = client.indices.get_settings(index=index, flat_settings=True)[index]["settings"]
    key = next(key for key in settings if key.startswith("index.similarity.") and key.endswith(".b"))
    client.indices.close(index=index)
    client.indices.put_settings(index=index, body={key: "0.1"})
    client.indices.open(index=index)
    plan = plan_of(engine, wanted)
    assert [(change.kind, change.view, change.foreign) for change in plan.changes] == [("index", "titles", True)]
    put_live(engine, wanted, data, tmp_path)
    assert plan_of(engine, wanted).empty
    assert answers(engine, name) == before


def test_a_build_left_without_an_event_has_its_grace(name: str, data: Path, tmp_path: Path) -> None:
    engine = EmbeddedEngine(tmp_path / "local")
    wanted = program(name, views=1)
    first = put_live(engine, wanted, data, tmp_path, keep=5)
    second = put_live(engine, wanted, data, tmp_path, keep=5, intent={"rebuild": True})
    seen = observe(engine, name)
    # The second run was killed before it told its event; the first build is much older than the grace time.
    old = seen.builds[first.build].model_copy(update={"created": "2026-01-01T00:00:00.000Z"})
    now = dt.datetime.fromisoformat(seen.builds[second.build].created) + dt.timedelta(seconds=30)
    killed = replace(seen, builds={**seen.builds, first.build: old}, history=seen.history[:1])
    assert not find_garbage(killed, keep=0, grace_s=600, now=now).builds
    later = find_garbage(killed, keep=0, grace_s=600, now=now + dt.timedelta(seconds=600))
    assert later.builds == (first.build,)


def test_documents_that_may_be_left_out_are_not_sampled(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    made = documents()
    made[2]["lang"] = "x" * 40_000
    write_documents(data, made)
    applied = put_live(engine, program(name, views=2), data, tmp_path, allow_rejected=1)
    assert applied.rows["content"] == 39


def test_a_ledger_holds_any_number_of_rows() -> None:
    assert len(ledger_of([])) == 0
    ledger = ledger_of((str(number), f"{number:032x}") for number in range(1000))
    assert len(set(ledger.ids.tolist())) == 1000


@pytest.mark.parametrize(
    ("pattern", "reached"),
    [
        ("*", True),
        ("*content*", True),
        ("hand*--content-*", True),
        ("handbook--content--*", True),
        ("handbook-*", True),
        ("handbook", False),
        ("handbooks*", False),
        ("*-logs", True),
        ("logs-*", False),
    ],
)
def test_templates_that_can_reach_a_name(pattern: str, reached: bool) -> None:
    assert reaches(pattern, "handbook--") == reached
