"""`kill -9` at each rename and fsync of an apply on the embedded engine:

the old build serves, the next apply finishes.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from idxopt.engines.embedded import EmbeddedEngine
from tests.deploy.harness import answers, documents, plan_of, program, put_live, write_documents

ALL = bool(os.environ.get("IDXOPT_TEST_ALL_KILL_POINTS"))


def run(task: dict[str, object]) -> int:
    done = subprocess.run(
        [sys.executable, "-m", "tests.deploy.process", json.dumps(task)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    return done.returncode


def points(steps: list[str]) -> list[int]:
    """Numbers from 1: all of them, or the first and the last of each kind."""
    if ALL:
        return list(range(1, len(steps) + 1))
    first = {step: n for n, step in reversed(list(enumerate(steps, start=1)))}
    last = {step: n for n, step in enumerate(steps, start=1)}
    return sorted({*first.values(), *last.values()})


@pytest.mark.timeout(3600)
def test_killed_at_each_step_of_the_disk(tmp_path: Path) -> None:
    name, data, cache, folder = "handbook", tmp_path / "documents.jsonl", tmp_path / "cache", tmp_path / "local"
    task: dict[str, object] = {"name": name, "data": str(data), "cache": str(cache), "folder": str(folder)}
    seen = []
    for size in (30, 40):
        write_documents(data, documents(size))
        put_live(EmbeddedEngine(folder), program(name), data, cache, intent={"rebuild": True}, keep=0)
        seen.append(answers(EmbeddedEngine(folder), name))
    trace = tmp_path / "trace"
    assert run({**task, "trace": str(trace)}) == 0
    steps = trace.read_text().splitlines()
    for turn, point in enumerate(points(steps)):
        size = 30 if turn % 2 == 0 else 40
        before, after = (seen[1], seen[0]) if size == 30 else (seen[0], seen[1])
        write_documents(data, documents(size))
        where = f"killed at step {point} ({steps[point - 1]})"
        status = run({**task, "kill_at": point})
        assert answers(EmbeddedEngine(folder), name) in (before, after), where
        put_live(EmbeddedEngine(folder), program(name), data, cache, intent={"rebuild": True}, keep=0)
        assert answers(EmbeddedEngine(folder), name) == after, (where, status)
        assert plan_of(EmbeddedEngine(folder), program(name)).empty, where
