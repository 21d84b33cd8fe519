"""One writer at a time, and a superseded one that wakes up cannot commit (contract 7)."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from idxopt.builds.lock import Lock
from idxopt.builds.state import StateStore
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import Engine
from idxopt.errors import LockedError
from tests.deploy.harness import answers, documents, options, plan_of, program, put_live, write_documents
from tests.faults.proxy import FaultProxy
from tests.faults.rules import Delay, Drop, Hold, Match


def test_second_apply_is_refused_at_once(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    with Lock(engine, name, "apply", settings=options(tmp_path).lock) as held:
        began = time.monotonic()
        with pytest.raises(LockedError) as refused:
            put_live(engine, program(name, views=2), data, tmp_path)
        assert time.monotonic() - began < options(tmp_path).lock.ttl_s
        assert held.id in refused.value.message
        assert "idxopt unlock" in str(refused.value)
    put_live(engine, program(name, views=2), data, tmp_path)


def test_two_applies_at_once(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    outcomes: list[str] = []

    def one(views: int) -> None:
        try:
            put_live(engine, program(name, views=views), data, tmp_path / str(views))
            outcomes.append("applied")
        except LockedError:
            outcomes.append("locked")

    with Lock(engine, name, "elsewhere", settings=options(tmp_path).lock):
        threads = [threading.Thread(target=one, args=(views,)) for views in (2, 3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert outcomes == ["locked", "locked"]
    assert len(StateStore(engine).history(name)) == 1


@pytest.mark.timeout(180)
def test_stopped_holder_cannot_commit_after_it_wakes(opensearch_url: str, name: str, tmp_path: Path) -> None:
    engine = OpenSearchEngine.connect(opensearch_url)
    data = write_documents(tmp_path / "documents.jsonl", documents())
    put_live(engine, program(name), data, tmp_path)
    old = answers(engine, name)
    stopped = threading.Event()
    children: list[subprocess.Popen[bytes]] = []

    def stop(*_: Any) -> None:
        os.kill(children[0].pid, signal.SIGSTOP)
        stopped.set()

    manifests = Match(method="*", path="/.idxopt-builds/_*/manifest:*")
    with FaultProxy(opensearch_url, Hold(manifests, stop)) as proxy:
        task = {"url": proxy.url, "name": name, "data": str(data), "cache": str(tmp_path / "other")}
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.deploy.process", json.dumps(task)], stderr=subprocess.PIPE
        )
        children.append(child)
        assert stopped.wait(60), [seen.key for seen in proxy.seen]
        write_documents(data, documents(30))
        newer = put_live(engine, program(name), data, tmp_path, intent={"rebuild": True})
        new = answers(engine, name)
        assert new != old
        proxy.rules.clear()
        os.kill(child.pid, signal.SIGCONT)
        _, error = child.communicate(timeout=60)
    assert child.returncode != 0
    assert b"LockedError" in error, error.decode()
    assert answers(engine, name) == new
    live = StateStore(engine).history(name)[-1]
    assert live.build == newer.build


@pytest.mark.timeout(120)
def test_swallowed_reply_of_the_switch(opensearch_url: str, name: str, data: Path, tmp_path: Path) -> None:
    for when in ("after", "before"):
        drop = Drop(Match(method="POST", path="/_aliases", nth=2), when=when)
        with FaultProxy(opensearch_url, drop) as proxy:
            engine = OpenSearchEngine.connect(proxy.url)
            put_live(engine, program(name), data, tmp_path, intent={"rebuild": True})
            assert drop.dropped == 1
            assert plan_of(engine, program(name)).empty
            assert all(answers(engine, name))
            engine.close()


@pytest.mark.timeout(120)
def test_slow_cluster_keeps_its_lock(opensearch_url: str, name: str, data: Path, tmp_path: Path) -> None:
    with FaultProxy(opensearch_url, Delay(Match(method="POST", path="*/_bulk"), 4.0)) as proxy:
        engine = OpenSearchEngine.connect(proxy.url)
        applied = put_live(engine, program(name, views=1), data, tmp_path)
        assert applied.rows == {"content": 40}
        engine.close()
