"""Contract 9 over processes: one budget in one file, and reservations of processes that died."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from idxopt.errors import BudgetReached
from idxopt.ledger.ledger import Ledger

SPENDER = """
import random, sys
from pathlib import Path
from idxopt.errors import BudgetReached
from idxopt.ledger.ledger import Ledger
rng, calls = random.Random(int(sys.argv[2])), 0
with Ledger.open(Path(sys.argv[1]), budget=2.0) as ledger:
    for _ in range(40):
        most = rng.uniform(0, 0.1)
        try:
            held = ledger.reserve(most, 10, what="it")
        except BudgetReached:
            continue
        ledger.commit(held, most * 0.75, 1, 2)
        calls += 1
print(calls)
"""
HOLDER = """
import sys, time
from pathlib import Path
from idxopt.ledger.ledger import Ledger
Ledger.open(Path(sys.argv[1]), budget=2.0).reserve(1.5, 100, what="under way")
print("held", flush=True)
time.sleep(600)
"""


def start(script: str, *arguments: object) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_processes_share_one_budget_from_the_first_moment(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    workers = [start(SPENDER, path, seed) for seed in range(4)]
    calls = [int(worker.communicate(timeout=120)[0]) for worker in workers]
    assert all(worker.returncode == 0 for worker in workers)
    with Ledger.open(path, budget=2.0) as ledger:
        spent = ledger.spent()
    assert 1.8 < spent.money <= 2.0
    assert spent.calls == sum(calls)
    assert (spent.tokens_in, spent.tokens_out) == (sum(calls), 2 * sum(calls))
    assert (spent.reserved, spent.overshoot) == (0.0, 0.0)


def test_reservations_of_a_killed_process_count_until_somebody_forgives_them(tmp_path: Path) -> None:
    path = tmp_path / "ledger"
    holder = start(HOLDER, path)
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        with Ledger.open(path, budget=2.0) as ledger:
            mine = ledger.reserve(0.25, 1, what="mine")
            assert (ledger.spent().reserved, ledger.spent().abandoned) == (1.75, 0.0)
            assert ledger.forgive() == 0  # its owner runs
            os.kill(holder.pid, signal.SIGKILL)
            holder.wait(timeout=30)
            spent = ledger.spent()
            assert (spent.reserved, spent.abandoned, spent.abandoned_calls) == (1.75, 1.5, 1)
            with pytest.raises(BudgetReached):
                ledger.reserve(1.0, 1, what="too much")
            assert ledger.forgive() == 1
            assert (ledger.spent().reserved, ledger.spent().abandoned) == (0.25, 0.0)
            ledger.reserve(1.0, 1, what="fits now")
            ledger.commit(mine, 0.25, 1, 0)
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_uses_a_connection_of_its_own(tmp_path: Path) -> None:
    with Ledger.open(tmp_path / "ledger", budget=2.0) as ledger:
        ledger.reserve(0.5, 1, what="parent")
        child = os.fork()
        if child == 0:
            try:
                held = ledger.reserve(0.5, 1, what="child")
                ledger.commit(held, 0.25, 1, 0)
                ledger.close()
            finally:
                os._exit(0)
        os.waitpid(child, 0)
        until = time.monotonic() + 10
        while ledger.spent().calls == 0 and time.monotonic() < until:
            time.sleep(0.05)
        assert (ledger.spent().money, ledger.spent().reserved, ledger.spent().abandoned) == (0.25, 0.5, 0.0)
        ledger.reserve(1.0, 1, what="parent again")
