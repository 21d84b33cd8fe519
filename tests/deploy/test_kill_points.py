"""`kill -9` at each request of an apply (contract 7): the old build serves, readers notice nothing, the next apply
finishes.

Outside CI's budget lies killing at every single request: `IDXOPT_TEST_ALL_KILL_POINTS=1` does that. Otherwise the
first and the last request of each kind are taken, a kind being method and path without what differs from run to run.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import opensearchpy
import pytest

from idxopt.builds.resolver import Resolver
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.search import Searcher, SearchQuery
from tests.deploy.harness import documents, plan_of, program, put_live, write_documents
from tests.deploy.readers import QUERY, Watch, alias_look, searcher_look
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Kill, Match

ALL = bool(os.environ.get("IDXOPT_TEST_ALL_KILL_POINTS"))
TIMEOUT_S = 120


def versioned(version: int) -> list[dict[str, Any]]:
    """The same collection in another wording, so that builds can be told apart by documents and by scores."""
    made = documents()
    for number, document in enumerate(made):
        document["version"] = version
        document["text"] += "\n" + "shard " * ((number * version) % 5)
    return made


def run(task: dict[str, Any]) -> int:
    """One apply in a process; its exit status (-9 when it was killed)."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.deploy.process", json.dumps(task)],
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
    )
    if done.returncode not in (0, -9):
        raise AssertionError(done.stderr)
    return done.returncode


READS = ("_search", "_search/point_in_time", "_mget", "_simulate")


def kind(method: str, path: str) -> str:
    """A request without what differs from run to run and from view to view. All that only read are one kind."""
    if method in ("GET", "HEAD") or path.endswith(READS):
        return "read"
    path = re.sub(r"--[a-z]+--[0-9a-f]{8}\b", "--VIEW--HASH", path)
    path = re.sub(r"(_index_template/[a-z0-9]+)--[a-z]+$", r"\1--VIEW", path)
    path = re.sub(r"/(event|manifest|tables|switch|lock):.*", r"/\1", path)
    return f"{method} {path}"


def chosen(kinds: list[str]) -> list[int]:
    """Positions (from 0) of the requests to kill at."""
    if ALL:
        return list(range(len(kinds)))
    first = {name: position for position, name in reversed(list(enumerate(kinds)))}
    last = {name: position for position, name in enumerate(kinds)}
    return sorted({*first.values(), *last.values()})


@pytest.fixture
def foreign_template(opensearch_url: str) -> Iterator[None]:
    """Somebody's `*` template that adds an alias to every index that it reaches."""
    client = opensearchpy.OpenSearch(opensearch_url)
    client.indices.put_index_template(
        name="somebodys",
        body={
            "index_patterns": ["*"],
            "priority": 0,
            "template": {"settings": {"index": {"number_of_replicas": 0}}, "aliases": {"everything": {}}},
        },
    )
    yield
    client.indices.delete_index_template(name="somebodys")


def expected(engine: OpenSearchEngine, name: str) -> list[tuple[str, float]]:
    result = Searcher(engine, Resolver(engine, name)).search(SearchQuery(QUERY, k=20))
    return [(hit.doc_id, hit.score) for hit in result.hits]


@pytest.mark.timeout(7200)
def test_killed_at_each_request(opensearch_url: str, foreign_template: None, name: str, tmp_path: Path) -> None:
    data, cache = tmp_path / "documents.jsonl", tmp_path / "cache"
    engine = OpenSearchEngine.connect(opensearch_url)
    task = {"name": name, "data": str(data), "cache": str(cache)}
    answers: dict[int, Any] = {}
    for version in (2, 1):
        finish(engine, name, version, data, cache)
        answers[version] = expected(engine, name)
    assert answers[1] != answers[2]

    write_documents(data, versioned(2))
    with FaultProxy(opensearch_url) as proxy:
        assert run({**task, "url": proxy.url}) == 0
        kinds = [kind(seen.method, seen.path) for seen in proxy.seen]
    assert expected(engine, name) == answers[2]
    points = chosen(kinds)
    assert len(points) >= 20

    with ExitStack() as stack:
        watches = [
            stack.enter_context(Watch(look))
            for look in (
                searcher_look(OpenSearchEngine.connect(opensearch_url), name, lambda: list(answers.values())),
                alias_look(opensearch_url, name, 40),
                alias_look(opensearch_url, f"{name}*", 40),
            )
        ]
        for turn, point in enumerate(points):
            version, before = 1 + turn % 2, 2 - turn % 2
            write_documents(data, versioned(version))
            status = run_and_kill(opensearch_url, point, task)
            where = f"killed at {kinds[point]} (number {point}), exit {status}"
            assert status in (-9, 0), where
            assert expected(engine, name) in (answers[before], answers[version]), where
            finish(engine, name, version, data, cache)
            assert expected(engine, name) == answers[version], where
            assert plan_of(engine, program(name)).empty, where
            for watch in watches:
                assert not watch.wrong, f"{where}: {watch.wrong[:3]}"
    assert all(watch.looked > 50 for watch in watches)
    engine.close()


def finish(engine: OpenSearchEngine, name: str, version: int, data: Path, cache: Path) -> None:
    """The next apply, in this process."""
    write_documents(data, versioned(version))
    put_live(engine, program(name), data, cache, intent={"rebuild": True}, keep=0)


def run_and_kill(url: str, point: int, task: dict[str, Any]) -> int:
    """An apply through a proxy that kills it when the node has answered its request number `point` (from 0)."""
    children: list[subprocess.Popen[bytes]] = []
    with FaultProxy(url, Kill(Match(nth=point + 1), pid=lambda: children[0].pid)) as proxy:
        task = {**task, "url": proxy.url}
        child = subprocess.Popen([sys.executable, "-m", "tests.deploy.process", json.dumps(task)])
        children.append(child)
        return child.wait(timeout=TIMEOUT_S)
