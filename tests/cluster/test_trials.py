"""Trials on real nodes: figures equal to the embedded engine's, nothing left behind, nothing else touched."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.errors import BuildError, ExitCode
from idxopt.optimizer.ports import NDCG
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.trials import ClusterEvaluator, TrialSettings, compare_engines, embedded_trials
from idxopt.optimizer.trials.agreement import TOLERANCE
from idxopt.optimizer.trials.marks import PREFIX, mark_of
from tests.conftest import ROOT
from tests.deploy import harness
from tests.e2e.runner import run
from tests.unit.optimizer.trials.collection import cranfield, everything, program, programs, small, titled

TIMEOUT_S = 30
CORPUS, QUERIES, QRELS = small()


@pytest.fixture
def study(cluster: OpenSearchEngine) -> Iterator[str]:
    """The id of a study of its own; what a failed test left is removed."""
    made = f"t{secrets.token_hex(4)}"
    yield made
    for state in cluster.list_indices(f"{PREFIX}{made}-*"):
        cluster.delete_index(state.name, state.uuid)


@pytest.fixture
def configured(cluster_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a configuration for the node."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "idxopt.toml").write_text(f'default = "node"\n[clusters.node]\nurl = "{cluster_url}"\n')
    return tmp_path


def trials(engine: OpenSearchEngine, study: str, **settings: Any) -> ClusterEvaluator:
    return ClusterEvaluator(engine, CORPUS, QUERIES, QRELS, TrialSettings(study, **settings))


def cluster_state(engine: OpenSearchEngine, url: str) -> dict[str, Any]:
    """Indices, aliases, templates, pipelines, settings of the cluster."""
    paths = ("_cluster/settings", "_template", "_component_template", "_search/pipeline")
    others = {path: requests.get(f"{url}/{path}", timeout=TIMEOUT_S).json() for path in paths}
    return {**everything(engine), **others}


def test_every_trial_has_the_figures_of_the_embedded_engines(
    cluster: OpenSearchEngine, study: str, shared: Path
) -> None:
    corpus, queries, qrels = cranfield(shared)
    assert (len(corpus.documents), len(queries)) == (400, 60)
    with (
        embedded_trials(corpus, queries, qrels) as embedded,
        ClusterEvaluator(cluster, corpus, queries, qrels, TrialSettings(study)) as live,
    ):
        for other in (embedded, IncrementalEvaluator(corpus, queries, qrels)):
            found = compare_engines(other, live, programs())
            assert found.n == 60
            means = [round(trial.metrics[NDCG].live, 4) for trial in found.trials]
            assert len(set(means)) >= 7, "the programs are different enough to be told apart"
            for wanted, trial in zip(programs(), found.trials, strict=True):
                assert abs(trial.metrics[NDCG].difference) <= TOLERANCE, (trial, wanted.views)
            assert found.agrees


def test_the_cluster_is_as_it_was_and_deployments_see_no_trial(
    cluster: OpenSearchEngine, cluster_url: str, study: str, prefix: str, tmp_path: Path
) -> None:
    data = harness.write_documents(tmp_path / "docs.jsonl", harness.documents(12))
    deployed = harness.program(prefix, views=2)
    harness.put_live(cluster, deployed, data, tmp_path)
    before = cluster_state(cluster, cluster_url)
    with trials(cluster, study) as evaluator:
        for wanted in programs()[:3]:
            evaluator.scores(wanted)
        evaluator.scores(program(prefix, content=titled(3.0)))
        for name in evaluator.indices:
            state = cluster.get_index(name)
            assert state is not None
            assert state.health == "green"
            assert {"index.hidden": "true", "index.number_of_replicas": "0", "index.number_of_shards": "1"}.items() <= (
                state.settings.items()
            )
        assert requests.get(f"{cluster_url}/_cat/indices/*trial*", timeout=TIMEOUT_S).text == "", "wildcards miss them"
        assert harness.plan_of(cluster, deployed).empty, "a plan sees no trial"
    assert cluster_state(cluster, cluster_url) == before


def killed_in_a_load(url: str, study: str, cluster: OpenSearchEngine, *, ttl_s: float) -> None:
    """A process that is killed while its second index is being loaded."""
    task = {"url": url, "study": study, "documents_per_s": 40.0, "ttl_s": ttl_s}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.cluster.trial_process", json.dumps(task)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline(), "one trial is finished"
        deadline = time.monotonic() + 30
        while len(cluster.list_indices(f"{PREFIX}{study}-*")) < 2:
            assert time.monotonic() < deadline
            time.sleep(0.02)
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()


def test_after_kill_9_a_sweep_removes_what_is_over(
    cluster: OpenSearchEngine, cluster_url: str, study: str, configured: Path
) -> None:
    before = cluster_state(cluster, cluster_url)
    killed_in_a_load(cluster_url, study, cluster, ttl_s=5.0)
    left = [state.name for state in cluster.list_indices(f"{PREFIX}{study}-*")]
    assert len(left) == 2
    marks = [mark_of(state) for state in cluster.list_indices(f"{PREFIX}{study}-*")]
    assert sorted(mark is not None and mark.loaded is not None for mark in marks) == [False, True]
    time.sleep(6)
    swept = run("sweep", "--json").document
    assert sorted(one["index"] for one in swept["deleted"]) == left
    assert cluster_state(cluster, cluster_url) == before
    assert configured.is_dir()


def test_after_kill_9_a_study_can_be_named_or_goes_on(
    cluster: OpenSearchEngine, cluster_url: str, study: str, configured: Path
) -> None:
    before = cluster_state(cluster, cluster_url)
    killed_in_a_load(cluster_url, study, cluster, ttl_s=3_600.0)
    assert run("sweep", "--json").document["deleted"] == [], "their time is not over"
    assert run("sweep", "--study", study).code == ExitCode.USAGE
    with trials(cluster, study) as resumed, embedded_trials(CORPUS, QUERIES, QRELS) as embedded:
        assert compare_engines(embedded, resumed, programs()[:2]).largest == pytest.approx(0, abs=1e-9)
    killed_in_a_load(cluster_url, study, cluster, ttl_s=3_600.0)
    told = run("sweep", "--study", study, "--yes")
    assert told.code == ExitCode.OK, told.err
    assert told.out.count("deleted ") == 2
    assert cluster_state(cluster, cluster_url) == before
    assert configured.is_dir()


def test_a_clone_of_a_trial_is_left_and_reported(
    cluster: OpenSearchEngine, cluster_url: str, study: str, configured: Path
) -> None:
    evaluator = trials(cluster, study)
    evaluator.scores(program())
    [name] = evaluator.indices
    clone = f"{PREFIX}{study}-00000000"
    cluster.update_settings(name, {"index.blocks.write": True})
    requests.put(f"{cluster_url}/{name}/_clone/{clone}", timeout=TIMEOUT_S).raise_for_status()
    swept = run("sweep", "--study", study, "--yes", "--json").document
    assert [one["index"] for one in swept["deleted"]] == [name]
    assert clone in {one["index"] for one in swept["left"] if "copied" in one["reason"]}
    assert cluster.get_index(clone) is not None
    assert configured.is_dir()


@contextmanager
def shard_limit(url: str, limit: int) -> Iterator[None]:
    setting = f"{url}/_cluster/settings"
    body = {"transient": {"cluster.max_shards_per_node": limit}}
    requests.put(setting, json=body, timeout=TIMEOUT_S).raise_for_status()
    try:
        yield
    finally:
        reset = {"transient": {"cluster.max_shards_per_node": None}}
        requests.put(setting, json=reset, timeout=TIMEOUT_S).raise_for_status()


def test_the_limit_of_shards_is_kept(cluster: OpenSearchEngine, cluster_url: str, study: str) -> None:
    room = cluster.shard_room()
    assert room is not None
    present = 1_000 - room
    with shard_limit(cluster_url, present + 1), trials(cluster, study) as evaluator:
        assert cluster.shard_room() == 1
        evaluator.scores(program())
        [first] = evaluator.indices
        assert cluster.shard_room() == 0
        evaluator.scores(program(content=titled(1.0)))
        assert len(evaluator.indices) == 1, "the first one made room"
        assert cluster.get_index(first) is None
    # The lowest limit is 1, so one shard is put there first.
    with trials(cluster, f"{study}-other") as other:
        other.scores(program())
        with (
            shard_limit(cluster_url, present + 1),
            pytest.raises(BuildError, match="max_shards_per_node"),
            trials(cluster, study) as evaluator,
        ):
            evaluator.scores(program())
    assert cluster.shard_room() == room


def test_measured_on_a_node(cluster: OpenSearchEngine, study: str) -> None:
    with trials(cluster, study) as evaluator:
        found = evaluator.measure(program(), most=5)
    assert found.latency.n == 5
    assert 0 < found.latency.p50_ms <= found.latency.p95_ms
    assert (found.rows, found.views) == (20, 1)
    assert found.bytes > 1_000
