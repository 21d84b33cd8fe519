"""The launcher starts what it says, ends it, and names what is missing."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from tests.nodes.artifacts import NodeUnavailableError
from tests.nodes.jdks import find_jdks
from tests.nodes.launcher import node, running_nodes


def get(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=30) as answer:
        return json.load(answer)


def gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_the_2_x_node_has_what_the_compiler_relies_on(opensearch_url):
    assert get(opensearch_url)["version"]["number"] == "2.19.1"
    (one,) = get(f"{opensearch_url}/_nodes/ingest")["nodes"].values()
    processors = {processor["type"] for processor in one["ingest"]["processors"]}
    assert {"script", "lowercase", "remove", "rename", "set", "pipeline", "fail", "drop"} <= processors
    assert "ingest" in one["roles"]


def test_the_3_x_node_has_what_the_compiler_relies_on(opensearch3_url):
    assert get(opensearch3_url)["version"]["number"] == "3.5.0"
    (one,) = get(f"{opensearch3_url}/_nodes/ingest")["nodes"].values()
    processors = {processor["type"] for processor in one["ingest"]["processors"]}
    assert {"script", "lowercase", "remove", "rename", "set", "pipeline", "fail", "drop"} <= processors


def test_painless_runs_in_an_ingest_pipeline(opensearch_url):
    body = {
        "pipeline": {"processors": [{"script": {"source": "ctx.n = ctx.text.length()"}}]},
        "docs": [{"_id": "1", "_source": {"text": "four"}}],
    }
    request = urllib.request.Request(
        f"{opensearch_url}/_ingest/pipeline/_simulate",
        data=json.dumps(body).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        assert json.load(answer)["docs"][0]["doc"]["_source"] == {"text": "four", "n": 4}


def test_two_nodes_form_one_cluster_and_leave_nothing(opensearch_url):
    if os.environ.get("IDXOPT_TEST_OPENSEARCH_URL"):
        pytest.skip("the environment names a node, so none is started here")
    with running_nodes("2.19.1", count=2, settings={"node.attr.kind": "pair"}) as nodes:
        health = get(f"{nodes[1].url}/_cluster/health")
        attributes = [one["attributes"] for one in get(f"{nodes[0].url}/_nodes")["nodes"].values()]
    assert health["number_of_nodes"] == 2
    assert [found.get("kind") for found in attributes] == ["pair", "pair"]
    assert all(gone(one.pid) for one in nodes)
    assert not any(one.home.exists() for one in nodes)


def test_a_node_ends_with_an_owner_that_was_killed(opensearch_url, tmp_path):
    if os.environ.get("IDXOPT_TEST_OPENSEARCH_URL"):
        pytest.skip("the environment names a node, so none is started here")
    told = tmp_path / "pid"
    script = (
        "import pathlib, signal, sys\n"
        "from tests.nodes.launcher import running_nodes\n"
        "with running_nodes('2.19.1') as nodes:\n"
        "    pathlib.Path(sys.argv[1] + '.partial').write_text(f'{nodes[0].pid} {nodes[0].home}')\n"
        "    pathlib.Path(sys.argv[1] + '.partial').rename(sys.argv[1])\n"
        "    signal.pause()\n"
    )
    root = Path(__file__).parents[2]
    owner = subprocess.Popen([sys.executable, "-c", script, str(told)], cwd=root)
    try:
        wait_until(told.exists, 90)
        pid, home = told.read_text().split()
        assert not gone(int(pid))
    finally:
        owner.send_signal(signal.SIGKILL)
        owner.wait()
    wait_until(lambda: gone(int(pid)), 30)
    assert not Path(home).exists()


def wait_until(condition, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(0.1)


def test_the_environment_comes_first(monkeypatch):
    monkeypatch.setenv("IDXOPT_TEST_OPENSEARCH_URL", "http://search.invalid:9200/")
    with node("2.19.1") as url:
        assert url == "http://search.invalid:9200"


def test_a_machine_without_maven_is_told_so(monkeypatch, tmp_path):
    if not any(jdk.feature >= 17 for jdk in find_jdks()):
        pytest.skip("no Java here either, which is named first")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("IDXOPT_TEST_NODES_DIR", str(tmp_path / "nodes"))
    monkeypatch.delenv("IDXOPT_TEST_OPENSEARCH_URL", raising=False)
    expected = (
        r"no OpenSearch 2\.19\.1: Maven \(mvn\) is not installed; no Docker engine runs; IDXOPT_TEST_OPENSEARCH_URL"
    )
    with pytest.raises(NodeUnavailableError, match=expected), node("2.19.1"):
        pass
    assert [left.name for left in (tmp_path / "nodes").iterdir()] == ["opensearch-2.19.1.lock"]


def test_an_unknown_version_is_refused():
    with pytest.raises(ValueError, match=r"no node of version '1\.0'; there are 2\.19\.1, 3\.5\.0"), node("1.0"):
        pass
