"""What somebody else changes on a real node: the next plan shows exactly that, and apply mends it (contract 6)."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import opensearchpy
import pytest

from idxopt.deploy.apply import apply_plan
from idxopt.deploy.observed import observe
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.errors import StalePlanError
from idxopt.sources.opening import open_source
from tests.deploy.harness import answers, documents, options, plan_of, program, put_live, write_documents

Change = Callable[[opensearchpy.OpenSearch, OpenSearchEngine, str], None]


def index_of(engine: OpenSearchEngine, name: str, view: str) -> str:
    live = observe(engine, name).live
    assert live is not None
    return live.views[view].index


def mapping_changed(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str) -> None:
    index = index_of(engine, name, "leads")
    client.indices.put_mapping(
        index=index, body={"properties": {"idxopt": {"properties": {"lead2": {"type": "keyword"}}}}}
    )


def setting_changed(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str) -> None:
    client.indices.put_settings(index=index_of(engine, name, "titles"), body={"index.refresh_interval": "30s"})


def replicas_changed(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str) -> None:
    client.indices.put_settings(index=index_of(engine, name, "sections"), body={"index.number_of_replicas": 1})


def default_pipeline_cleared(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str) -> None:
    client.indices.put_settings(index=index_of(engine, name, "content"), body={"index.default_pipeline": "_none"})


def mark_removed(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str) -> None:
    client.indices.put_mapping(index=index_of(engine, name, "content"), body={"_meta": {"team": "search"}})


def pipeline_changed(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str) -> None:
    index = index_of(engine, name, "content")
    body = client.ingest.get_pipeline(id=index)[index]
    client.ingest.put_pipeline(id=index, body={**body, "processors": [{"set": {"field": "x", "value": 1}}]})


def pipeline_deleted(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str) -> None:
    client.ingest.delete_pipeline(id=index_of(engine, name, "content"))


def template_changed(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str) -> None:
    found = client.indices.get_index_template(name=f"{name}--titles")["index_templates"][0]["index_template"]
    found["template"]["mappings"]["properties"]["extra"] = {"type": "keyword"}
    client.indices.put_index_template(name=f"{name}--titles", body=found)


def template_deleted(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str) -> None:
    client.indices.delete_index_template(name=f"{name}--titles")


def alias_moved(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str) -> None:
    old, new = index_of(engine, name, "titles"), index_of(engine, name, "sections")
    actions = [
        {"remove": {"index": old, "alias": f"{name}--titles"}},
        {"add": {"index": new, "alias": f"{name}--titles"}},
    ]
    client.indices.update_aliases(body={"actions": actions})


def public_alias_removed(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str) -> None:
    client.indices.delete_alias(index=index_of(engine, name, "content"), name=name)


def index_deleted(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str) -> None:
    client.indices.delete(index=index_of(engine, name, "sections"))


CHANGES: dict[str, tuple[Change, str, str]] = {
    "mapping": (mapping_changed, "index", "--leads--"),
    "setting": (setting_changed, "setting", "index.refresh_interval"),
    "replicas": (replicas_changed, "setting", "index.number_of_replicas"),
    "default pipeline": (default_pipeline_cleared, "setting", "index.default_pipeline"),
    "_meta": (mark_removed, "meta", "--content--"),
    "pipeline body": (pipeline_changed, "pipeline", "--content--"),
    "pipeline deleted": (pipeline_deleted, "pipeline", "--content--"),
    "template": (template_changed, "template", "--titles"),
    "template deleted": (template_deleted, "template", "--titles"),
    "alias moved": (alias_moved, "alias", "--titles"),
    "public alias": (public_alias_removed, "alias", ""),
    "index deleted": (index_deleted, "index", "--sections--"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("foreign")


@pytest.fixture(scope="module")
def live(opensearch_url: str, folder: Path) -> Iterator[tuple[OpenSearchEngine, str, Path, list[Any]]]:
    engine = OpenSearchEngine.connect(opensearch_url)
    name = f"t{secrets.token_hex(4)}"
    data = write_documents(folder / "documents.jsonl", documents())
    put_live(engine, program(name), data, folder)
    yield engine, name, data, answers(engine, name)
    engine.close()


@pytest.mark.parametrize("what", CHANGES)
def test_plan_shows_exactly_that_and_apply_mends_it(
    what: str, live: tuple[OpenSearchEngine, str, Path, list[Any]], opensearch_url: str, folder: Path
) -> None:
    engine, name, data, good = live
    wanted = program(name)
    assert plan_of(engine, wanted).empty
    saved = plan_of(engine, wanted, rebuild=True)
    change, kind, subject = CHANGES[what]
    change(opensearchpy.OpenSearch(opensearch_url), engine, name)

    source = open_source(str(data), wanted)
    before = observe(engine, name)
    with pytest.raises(StalePlanError):
        apply_plan(engine, saved, options(folder), source=source)
    after = observe(engine, name)
    assert (after.indices, after.aliases, after.pipelines) == (before.indices, before.aliases, before.pipelines)

    plan = plan_of(engine, wanted)
    shown = {
        (item.kind, item.subject.split(" -> ")[0] if item.kind == "alias" else item.subject) for item in plan.changes
    }
    assert len(shown) == 1, plan.changes
    assert all(item.foreign for item in plan.changes), plan.changes
    found_kind, found_subject = shown.pop()
    assert found_kind == kind
    assert subject in found_subject
    assert found_subject.startswith(name)

    apply_plan(engine, plan, options(folder), source=source)
    assert plan_of(engine, wanted).empty
    assert answers(engine, name) == good


def test_what_others_added_is_a_note(live: tuple[OpenSearchEngine, str, Path, list[Any]], opensearch_url: str) -> None:
    engine, name, _, _ = live
    client = opensearchpy.OpenSearch(opensearch_url)
    index = index_of(engine, name, "content")
    client.indices.put_mapping(index=index, body={"properties": {"team": {"type": "keyword"}}})
    client.indices.put_settings(index=index, body={"index.max_result_window": 20_000})
    client.indices.put_alias(index=index, name=f"for-{name}")
    plan = plan_of(engine, program(name))
    assert plan.empty
    assert len([note for note in plan.notes if "properties.team" in note]) == 1
    assert len([note for note in plan.notes if "max_result_window" in note]) == 1


def test_new_documents_do_not_make_a_plan_stale(engine: Any, name: str, data: Path, tmp_path: Path) -> None:
    wanted = program(name, views=1)
    put_live(engine, wanted, data, tmp_path)
    saved = plan_of(engine, wanted, rebuild=True)
    write_documents(data, documents(41))
    applied = apply_plan(engine, saved, options(tmp_path), source=open_source(str(data), wanted))
    assert applied.rows == {"content": 41}
