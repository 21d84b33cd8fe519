"""`idxopt optimize --engine CLUSTER` on a real node: the embedded engine's program and figures, and nothing is left."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
import pytest
import requests

from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.optimizer.ports import NDCG
from idxopt.optimizer.record import StudyRecord
from idxopt.optimizer.study.scores import ScoreStore, Setting, StoredScores
from idxopt.optimizer.trials import ClusterEvaluator, TrialSettings
from idxopt.optimizer.trials.agreement import TOLERANCE
from tests.e2e.runner import call, run, spawn
from tests.unit.optimizer.study.making import trials
from tests.unit.optimizer.trials.collection import cranfield, program, small

EVALUATIONS = 13
"""Enough for more trial indices than may be there at once."""
OPTIONS = ("cranfield", "--evaluations", str(EVALUATIONS), "--seed", "3")
ON_NODE = (*OPTIONS, "--engine", "node", "--documents-per-second", "0", "--queries-per-second", "0")
TIMEOUT_S = 30
ENOUGH_S = 240.0
MOST = TrialSettings("any").max_indices
NAME = re.compile(r"\.idxopt-trial-([a-z0-9]+(?:-[a-z0-9]+)*)-[0-9a-f]{8}")
STATE = (
    "*?expand_wildcards=all",
    "_alias",
    "_index_template",
    "_template",
    "_component_template",
    "_ingest/pipeline",
    "_search/pipeline",
    "_cluster/settings",
)


@dataclass(frozen=True)
class Site:
    """A folder with 400 documents of Cranfield, a configuration for the node, and a study by the embedded engine."""

    folder: Path
    url: str


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, shared: Path, opensearch_url: str) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("live")
    _write_slice(folder / "cranfield", shared)
    config = f'default = "node"\n[clusters.node]\nurl = "{opensearch_url}"\n'
    (folder / "idxopt.toml").write_text(config, encoding="utf-8")
    ran = call("optimize", *OPTIONS, "--engine", "embedded", "--out", "embedded", folder=folder)
    assert ran.code == 0, ran.err
    yield Site(folder, opensearch_url)
    call("sweep", "--all", "--yes", "--cluster", "node", folder=folder)  # what a failed test left


def _write_slice(folder: Path, shared: Path) -> None:
    """As a BEIR folder."""
    corpus, queries, qrels = cranfield(shared)
    (folder / "qrels").mkdir(parents=True)
    lines = [orjson.dumps({"_id": document.id, **document.source}) for document in corpus.documents]
    (folder / "corpus.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    asked = [orjson.dumps({"_id": query.id, "text": query.text}) for query in queries]
    (folder / "queries.jsonl").write_bytes(b"\n".join(asked) + b"\n")
    judged = [f"{query.id}\t{doc_id}\t{grade}" for query in queries for doc_id, grade in qrels[query.id].items()]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged, ""]), encoding="utf-8")


def cluster_state(url: str) -> dict[str, Any]:
    """Indices, aliases, templates, pipelines and settings, as the node itself tells them."""
    return {path: requests.get(f"{url}/{path}", timeout=TIMEOUT_S).json() for path in STATE}


def trial_indices(url: str) -> dict[str, Any]:
    """Trial indices that are there now, by name."""
    found = requests.get(f"{url}/.idxopt-trial-*?expand_wildcards=all", timeout=TIMEOUT_S)
    return dict(found.json()) if found.ok else {}  # 404: one went between the look for names and the look at it


@dataclass
class Watched:
    """What was seen on the node while a study ran. `most`: trial indices at one time."""

    seen: dict[str, Any] = field(default_factory=dict)
    most: int = 0

    def look(self, url: str) -> None:
        now = trial_indices(url)
        self.seen |= now
        self.most = max(self.most, len(now))


def watched(site: Site, out: str) -> Watched:
    """Runs a study on the node to its end."""
    found = Watched()
    process = spawn("optimize", *ON_NODE, "--out", out, "--quiet", folder=site.folder)
    until = time.monotonic() + ENOUGH_S
    try:
        while process.poll() is None and time.monotonic() < until:
            found.look(site.url)
            time.sleep(0.03)
    finally:
        process.kill()
        _, err = process.communicate()
    assert process.returncode == 0, err
    return found


def stored(folder: Path) -> dict[str, StoredScores]:
    """Every program's scores in a study's own store, by hash."""
    record = StudyRecord.from_json((folder / "record.json").read_text(encoding="utf-8"))
    setting = Setting(record.digests["corpus"], record.digests["queries and judgments"], record.engine)
    with contextlib.closing(ScoreStore.open(folder / "scores.sqlite")) as store:
        found = {hash_: store.get(setting, hash_) for _, hash_, *_ in trials(folder)}
    return {hash_: scores for hash_, scores in found.items() if scores is not None}


def check_equal(site: Site, out: str) -> None:
    """The study has the program, the trials and the figures of the embedded engine's."""
    live, embedded = site.folder / out, site.folder / "embedded"
    assert (live / "program.json").read_bytes() == (embedded / "program.json").read_bytes()
    assert [one[:3] for one in trials(live)] == [one[:3] for one in trials(embedded)]
    ours, theirs = stored(live), stored(embedded)
    assert ours.keys() == theirs.keys()
    assert len(ours) == EVALUATIONS + 1, "the baseline, and what the budget allows"
    for hash_, scores in ours.items():
        other = theirs[hash_].scores
        difference = float(scores.scores.values[NDCG].mean() - other.values[NDCG].mean())
        assert abs(difference) <= TOLERANCE, (hash_, difference)
        assert (scores.scores.size.rows, scores.scores.size.views) == (other.size.rows, other.size.views)


def test_the_same_program_and_figures_as_embedded_and_the_cluster_as_it_was(site: Site) -> None:
    before = cluster_state(site.url)
    found = watched(site, "live")
    assert cluster_state(site.url) == before
    check_equal(site, "live")
    assert json.loads((site.folder / "live" / "manifest.json").read_text(encoding="utf-8"))["engine"] != "embedded"
    assert len(found.seen) >= 4, "the study was seen at work"
    assert found.most <= MOST
    assert len({_study_of(name) for name in found.seen}) == 1
    for name, body in found.seen.items():
        assert body["aliases"] == {}, name
        settings = body["settings"]["index"]
        assert (settings["hidden"], settings["number_of_replicas"], settings["number_of_shards"]) == ("true", "0", "1")


def _study_of(name: str) -> str:
    matched = NAME.fullmatch(name)
    assert matched is not None, name
    return matched.group(1)


def killed_on_the_node(site: Site, out: str, least: int) -> dict[str, Any]:
    """Starts the study, kills it with -9 once so many of its trial indices were seen; those that it left."""
    mine: set[str] = set(trial_indices(site.url))
    seen: set[str] = set()
    process = spawn("optimize", *ON_NODE, "--out", out, "--quiet", folder=site.folder)
    until = time.monotonic() + ENOUGH_S
    try:
        while len(seen) < least:
            seen |= trial_indices(site.url).keys() - mine
            assert process.poll() is None, "it ended before it was killed"
            assert time.monotonic() < until
            time.sleep(0.01)
    finally:
        process.kill()
        process.communicate()
    return {name: body for name, body in trial_indices(site.url).items() if name not in mine}


def test_ctrl_c_leaves_nothing_on_the_node(site: Site) -> None:
    before = cluster_state(site.url)
    process = spawn("optimize", *ON_NODE, "--out", "stopped", "--quiet", folder=site.folder)
    until = time.monotonic() + ENOUGH_S
    try:
        while not trial_indices(site.url):
            assert process.poll() is None, "it ended before it was stopped"
            assert time.monotonic() < until
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGINT)
        _, err = process.communicate(timeout=ENOUGH_S)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, err
    assert cluster_state(site.url) == before


@contextlib.contextmanager
def bystanders(url: str) -> Iterator[None]:
    """Another study's trial, and an index of somebody's under a name of trials but without their mark."""
    corpus, queries, qrels = small()
    foreign = ".idxopt-trial-foreign-00000000"
    with (
        OpenSearchEngine.connect(url) as engine,
        ClusterEvaluator(engine, corpus, queries, qrels, TrialSettings("other")) as other,
    ):
        other.scores(program())
        body = {"settings": {"index": {"hidden": True, "number_of_replicas": 0, "number_of_shards": 1}}}
        requests.put(f"{url}/{foreign}", json=body, timeout=TIMEOUT_S).raise_for_status()
        try:
            yield
        finally:
            requests.delete(f"{url}/{foreign}", timeout=TIMEOUT_S).raise_for_status()


def test_after_kill_9_sweep_removes_exactly_its_indices_and_the_study_goes_on(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(site.folder)
    whole = cluster_state(site.url)
    with bystanders(site.url):
        before = cluster_state(site.url)
        left = killed_on_the_node(site, "killed", 2)
        assert left, "it left something to sweep"
        [study] = {_study_of(name) for name in left}
        swept = run("sweep", "--study", study, "--yes", "--cluster", "node", "--json")
        assert swept.code == 0, swept.err
        assert sorted(one["index"] for one in swept.document["deleted"]) == sorted(left)
        assert cluster_state(site.url) == before

        assert killed_on_the_node(site, "killed", 3), "this time nobody sweeps"
        ran = call("optimize", *ON_NODE, "--out", "killed", folder=site.folder)
        assert ran.code == 0, ran.err
        assert cluster_state(site.url) == before
    assert cluster_state(site.url) == whole
    check_equal(site, "killed")
    assert all(status != "running" for _, _, status, _, _ in trials(site.folder / "killed"))
