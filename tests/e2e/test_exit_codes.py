"""Each exit code once, and that the documented table is the enum."""

import json
import os
import pty
import re
import signal
import time
from pathlib import Path

import pytest

from idxopt.builds.lock import Lock
from idxopt.builds.lockrecord import read_lock
from idxopt.cli.failures import failure_of
from idxopt.engines.embedded import EmbeddedEngine
from idxopt.errors import BudgetReached, ExitCode
from tests.e2e.runner import Ran, call, documents, run, spawn, write_lines

APPLY = ("apply", "better.json", "--source", "docs.jsonl")


def test_0_1_and_2_of_plan(live):
    assert run("plan", "program.json").code == 0
    assert run("plan", "nowhere.json").code == 1
    assert run("plan", "better.json").code == 2


def test_2_of_plan_in_a_script(live):
    done = os.spawnvp(os.P_WAIT, "sh", ["sh", "-ec", "python3 -c 'import sys; sys.exit(2)' || [ $? -eq 2 ]"])
    assert done == 0, "the line that the help recommends"
    assert "|| [ $? -eq 2 ]" in run("--help").out


def test_3_locked_names_the_holder_and_how_to_go_on(live):
    holder = EmbeddedEngine(live / "index")
    with Lock(holder, "handbook", "apply", who="somebody@elsewhere") as lock:
        locked = run(*APPLY, "--yes")
        assert locked.code == 3
        for part in ("somebody@elsewhere", "`apply`", lock.id, "last heartbeat", "expires"):
            assert part in locked.err
        assert "--lock-timeout" in locked.err
        assert f"locked: somebody@elsewhere runs `apply` since {lock.record.created}" in run("status", "handbook").out
        waited = run("status", "handbook", "--wait", "--timeout", "1s")
        assert waited.code == ExitCode.LOCKED
    holder.close()
    assert run(*APPLY, "--yes").code == ExitCode.OK


def test_a_dead_lock_can_be_removed_by_its_id(live):
    engine = EmbeddedEngine(live / "index")
    lock = Lock(engine, "handbook", "apply", who="somebody@elsewhere")
    lock.acquire()
    assert run("unlock", "00000000", "--yes").code == ExitCode.ERROR
    alive = run("unlock", lock.id, "--yes")
    assert alive.code == ExitCode.LOCKED
    assert "somebody@elsewhere is alive" in alive.err
    assert run("unlock", lock.id).code == ExitCode.USAGE
    removed = run("unlock", lock.id, "--yes", "--force")
    assert removed.code == ExitCode.OK, removed.err
    assert read_lock(engine, "handbook") is None
    lock.release()
    engine.close()


def test_4_stale_plan(live):
    assert run("plan", "better.json", "--source", "docs.jsonl", "--out", "plan.json").code == ExitCode.CHANGES
    assert run(*APPLY, "--yes").code == ExitCode.OK
    stale = run("apply", "plan.json")
    assert stale.code == 4


def test_4_also_on_another_cluster(live):
    assert run("plan", "better.json", "--source", "docs.jsonl", "--out", "plan.json").code == ExitCode.CHANGES
    config = live / "idxopt.toml"
    config.write_text(config.read_text().replace('"index"', '"elsewhere"'))
    other = run("apply", "plan.json")
    assert other.code == ExitCode.STALE
    assert "another cluster" in other.err


def test_5_a_gate_refuses(live):
    judged = ("--queries", "queries.jsonl", "--qrels", "qrels.tsv", "--require", "P@5>=.9")
    assert run(*APPLY, "--yes", *judged).code == 5


def test_6_budget():
    assert failure_of(BudgetReached("spent", remedy="raise it")).exit_code == 6


@pytest.mark.parametrize("arguments", [("plan", "--bogus"), ("plan",), ("nonsense",), ("plan", "a", "b")])
def test_64_wrong_usage_as_a_process(site, arguments):
    ran = call(*arguments, folder=site)
    assert ran.code == 64
    assert ran.out == ""
    assert ran.err.startswith("error: ")


def stopped(live: Path, *signals: signal.Signals) -> Ran:
    """An apply that gets signals while it loads."""
    write_lines(live / "docs.jsonl", documents(4_000))
    process = spawn(*APPLY, "--rebuild", "--yes", "-v", folder=live)
    assert process.stderr is not None
    seen = []
    for line in process.stderr:
        seen.append(line)
        if "load content" in line:
            break
    for number in signals:
        process.send_signal(number)
        time.sleep(0.3)
    out, err = process.communicate(timeout=120)
    return Ran(process.returncode, out, "".join(seen) + err)


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, ExitCode.INTERRUPTED), (signal.SIGTERM, ExitCode.TERMINATED)]
)
def test_130_and_143_release_the_lock_and_the_old_build_serves(live, number, code):
    before = run("status", "handbook", "--json").document["live"]["build"]
    ran = stopped(live, number)
    assert ran.code == code, ran.err
    assert int(code) in (130, 143)
    assert "stopping after this step" in ran.err
    assert f"build {before} still serves" in ran.err
    assert "Traceback" not in ran.err
    found = run("status", "handbook", "--json").document
    assert found["live"]["build"] == before
    assert found["lock"] is None
    assert run(*APPLY, "--rebuild", "--yes").code == ExitCode.OK
    assert run("search", "handbook", "marker3999", "--json").document["hits"][0]["id"] == "d3999"


def test_a_second_signal_stops_at_once(live):
    ran = stopped(live, signal.SIGINT, signal.SIGINT)
    assert ran.code == ExitCode.INTERRUPTED
    assert "Traceback" not in ran.err


def at_a_terminal(live: Path, *arguments: str, typed: bytes = b"", number: signal.Signals | None = None) -> Ran:
    """The command with a terminal as its stdin; `typed` or a signal comes once the question stands there."""
    ours, theirs = pty.openpty()
    try:
        process = spawn(*arguments, folder=live, stdin=theirs)
        assert process.stderr is not None
        asked = ""
        while not asked.endswith("to go on: "):
            letter = process.stderr.read(1)
            assert letter, asked
            asked += letter
        if number is None:
            os.write(ours, typed)
        else:
            process.send_signal(number)
        out, err = process.communicate(timeout=120)
        return Ran(process.returncode, out, asked + err)
    finally:
        os.close(ours)
        os.close(theirs)


def test_at_a_terminal_the_word_yes_applies(live):
    ran = at_a_terminal(live, *APPLY, typed=b"yes\n")
    assert ran.code == ExitCode.OK, ran.err
    assert "Apply this to local? Type yes to go on: " in ran.err
    assert "is live" in ran.out


def test_any_other_answer_changes_nothing(live):
    ran = at_a_terminal(live, *APPLY, typed=b"y\n")
    assert ran.code == ExitCode.ERROR
    assert "nothing was changed" in ran.err
    assert run("plan", "better.json").code == ExitCode.CHANGES


def test_130_at_the_question(live):
    ran = at_a_terminal(live, *APPLY, number=signal.SIGINT)
    assert ran.code == ExitCode.INTERRUPTED
    assert "Traceback" not in ran.err
    assert run("plan", "better.json").code == ExitCode.CHANGES


def test_the_help_and_the_documentation_list_every_code():
    listed = re.findall(r"(\d+) [a-z]", run("--help").out.partition("Exit codes:")[2].replace("\n", " "))
    assert {int(number) for number in listed} >= {int(code) for code in ExitCode}
    table = Path(__file__, "../../../docs/cli.md").resolve().read_text(encoding="utf-8")
    assert {int(number) for number in re.findall(r"^\| (\d+) \|", table, re.MULTILINE)} == {
        int(code) for code in ExitCode
    }


def test_an_unexpected_error_is_one_line_and_debug_shows_where(live, monkeypatch):
    def broken(*_arguments, **_options):
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr("idxopt.program.validate.load_program", broken)
    told = run("validate", "program.json")
    assert told.code == ExitCode.ERROR
    assert told.err.splitlines() == [
        "error: ZeroDivisionError: division by zero",
        "remedy: this is a bug; run again with --debug and report what it prints",
    ]
    assert "in broken" in run("validate", "program.json", "--debug").err
    assert json.loads(run("validate", "program.json", "--json").out)["error"]["code"] == "bug"
