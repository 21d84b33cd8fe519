"""H1: the live name is somebody's alias; killed at any write of `apply --take-over`, its readers notice nothing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import opensearchpy
import pytest

from idxopt.deploy.destroy import destroy
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.errors import BuildError
from tests.deploy.harness import documents, options, plan_of, program, put_live, write_documents
from tests.deploy.readers import Watch, alias_look
from tests.deploy.test_kill_points import TIMEOUT_S, chosen, kind
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Kill, Match


@pytest.fixture
def legacy(opensearch_url: str, name: str) -> opensearchpy.OpenSearch:
    """`{name}` is an alias of an application's own index of 40 documents."""
    client = opensearchpy.OpenSearch(opensearch_url, timeout=30)
    client.indices.create(
        index=f"{name}-v1", body={"settings": {"number_of_shards": 1, "number_of_replicas": 0}, "aliases": {name: {}}}
    )
    for number, document in enumerate(documents()):
        client.index(index=f"{name}-v1", id=str(number), body={"version": 1, "title": document["title"]})
    client.indices.refresh(index=f"{name}-v1")
    return client


def test_the_alias_must_be_given(
    legacy: opensearchpy.OpenSearch, opensearch_url: str, name: str, data: Path, tmp_path: Path
) -> None:
    engine = OpenSearchEngine.connect(opensearch_url)
    with pytest.raises(BuildError) as refused:
        plan_of(engine, program(name))
    assert f"--take-over {name}-v1" in str(refused.value)
    before = legacy.indices.get(index=f"{name}-v1")
    put_live(engine, program(name), data, tmp_path, intent={"take_over": f"{name}-v1"})
    assert list(legacy.indices.get_alias(name=name)) != [f"{name}-v1"]
    after = legacy.indices.get(index=f"{name}-v1")
    before[f"{name}-v1"]["aliases"] = {}
    assert after == before
    assert plan_of(engine, program(name)).empty


@pytest.mark.timeout(1800)
def test_h1_killed_at_each_write(
    legacy: opensearchpy.OpenSearch, opensearch_url: str, name: str, tmp_path: Path
) -> None:
    made: list[dict[str, Any]] = [{**document, "version": 2} for document in documents()]
    data = write_documents(tmp_path / "documents.jsonl", made)
    engine = OpenSearchEngine.connect(opensearch_url)
    task = {
        "name": name,
        "data": str(data),
        "cache": str(tmp_path / "cache"),
        "take_over": f"{name}-v1",
        "rebuild": False,
    }
    kinds = [key for _, key in run(opensearch_url, task, None) if key != "read"]
    with Watch(alias_look(opensearch_url, name, 40)) as watch:
        for point in chosen(kinds):
            put_alias_back(legacy, engine, name, tmp_path)
            run(opensearch_url, task, point)
            put_live(engine, program(name), data, tmp_path / "cache", intent={"take_over": f"{name}-v1"})
            assert not watch.wrong, f"killed at {kinds[point]}: {watch.wrong[:3]}"
            assert list(legacy.indices.get_alias(name=name)) != [f"{name}-v1"]
            assert plan_of(engine, program(name)).empty
    assert watch.looked > 50


def put_alias_back(client: opensearchpy.OpenSearch, engine: OpenSearchEngine, name: str, tmp_path: Path) -> None:
    """The state before the take-over, without a moment in which the name resolves to nothing or to both."""
    ours = next(iter(client.indices.get_alias(name=name)))
    if ours != f"{name}-v1":
        actions = [{"remove": {"index": ours, "alias": name}}, {"add": {"index": f"{name}-v1", "alias": name}}]
        client.indices.update_aliases(body={"actions": actions})
    destroy(engine, name, settings=options(tmp_path).lock)


def run(url: str, task: dict[str, Any], point: int | None) -> list[tuple[str, str]]:
    """One apply, killed when its write number `point` (from 0) was answered; returns what it asked."""
    children: list[subprocess.Popen[bytes]] = []
    with FaultProxy(url) as proxy:
        if point is not None:
            proxy.rules.append(KillAtWrite(point, children))
        child = subprocess.Popen([sys.executable, "-m", "tests.deploy.process", json.dumps({**task, "url": proxy.url})])
        children.append(child)
        assert child.wait(timeout=TIMEOUT_S) in (0, -9)
        return [(seen.method, kind(seen.method, seen.path)) for seen in proxy.seen]


class KillAtWrite(Kill):
    """Counts only requests that may change something."""

    def __init__(self, point: int, children: list[subprocess.Popen[bytes]]) -> None:
        super().__init__(WriteMatch(nth=point + 1), pid=lambda: children[0].pid)


class WriteMatch(Match):
    def __call__(self, request: Any) -> bool:
        return kind(request.method, request.path) != "read" and super().__call__(request)
