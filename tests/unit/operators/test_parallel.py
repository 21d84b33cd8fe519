"""The pool: in order, bounded, and alive after the death of a worker."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from idxopt.operators.parallel import Crashed, Pool

WORK = "tests.unit.operators.crashing:make"


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_order(tmp_path, workers):
    batches = [[n, n + 1] for n in range(50)]
    with Pool(WORK, str(tmp_path), workers) as pool:
        assert list(pool.map(batches)) == [[2 * n, 2 * n + 2] for n in range(50)]


def test_only_the_item_that_kills_its_worker_is_lost(tmp_path):
    batches: list[list[Any]] = [[1, "dies", 2], [3], ["dies once", 4], [5]]
    with Pool(WORK, str(tmp_path), 2) as pool:
        assert list(pool.map(batches)) == [[2, Crashed(7), 4], [6], ["lived", 8], [10]]


def test_a_worker_killed_from_outside_costs_nothing(tmp_path):
    def batches():
        yield ["pid"]
        for n in range(20):
            yield [n]

    with Pool(WORK, str(tmp_path), 1) as pool:
        answers = pool.map(batches())
        os.kill(next(answers)[0], signal.SIGKILL)
        assert list(answers) == [[2 * n] for n in range(20)]


def test_no_more_batches_are_taken_than_are_worked_on(tmp_path):
    taken = 0

    def batches():
        nonlocal taken
        for n in range(100):
            taken += 1
            yield [n]

    with Pool(WORK, str(tmp_path), 2) as pool:
        for number, _ in enumerate(pool.map(batches()), 1):
            assert taken - number <= 5
    assert taken == 100


def test_workers_end_with_the_pool(tmp_path):
    with Pool(WORK, str(tmp_path), 1) as pool:
        (pid,) = next(pool.map([["pid"]]))
        assert Path(f"/proc/{pid}").exists() or not Path("/proc").exists()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the worker still runs")
