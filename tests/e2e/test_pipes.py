"""Whatever becomes of the output, the work is finished, the exit code is true, and no traceback is shown."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from idxopt.builds.clock import SystemClock, timestamp
from idxopt.builds.lock import Lock
from idxopt.cli.applying import left_behind
from idxopt.cli.interruption import Terminated
from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.errors import ExitCode
from tests.e2e.runner import Ran, run

APPLY = ("apply", "better.json", "--source", "docs.jsonl", "--yes")
PLAN = ("plan", "better.json", "--source", "docs.jsonl")
FULL = Path("/dev/full")


def shell(script: str, *arguments: str, folder: Path) -> Ran:
    """`script` with "$@" as the command; its exit code is that of the command, also in front of a pipe."""
    words = ["bash", "-c", script + "\nexit ${PIPESTATUS[0]}", "-", sys.executable, "-m", "idxopt", *arguments]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(APPLY, ExitCode.OK), (PLAN, ExitCode.CHANGES), (("--help",), ExitCode.OK), (("--version",), ExitCode.OK)],
)
@pytest.mark.parametrize("script", ['"$@" | head -1', '"$@" | true', '"$@" >&-', '"$@" >&- 2>&-'])
def test_a_reader_that_goes_away_changes_nothing(live, arguments, code, script):
    ran = shell(script, *arguments, folder=live)
    assert ran.code == code, ran.err
    assert "Traceback" not in ran.err
    assert "error" not in ran.err
    if arguments is APPLY:
        assert run(*PLAN).code == ExitCode.OK
        assert run("status", "handbook", "--json").document["lock"] is None


@pytest.mark.skipif(not FULL.exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [APPLY, PLAN, (*PLAN, "--json"), ("--help",)])
def test_a_full_disk_is_told_once_and_after_the_work(live, arguments):
    ran = shell(f'"$@" > {FULL}', *arguments, folder=live)
    assert ran.code == ExitCode.ERROR
    errors = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert errors == [
        "error: standard output: cannot be written (No space left on device); what the command did is done"
    ]
    assert "Traceback" not in ran.err
    if arguments is APPLY:
        assert run(*PLAN).code == ExitCode.OK


def test_ctrl_c_while_modules_are_imported(live):
    for wait in (0.02, 0.05, 0.1, 0.2):
        code = "from idxopt.cli import main; import os; os.write(1, b'.'); raise SystemExit("
        process = subprocess.Popen(
            [sys.executable, "-c", f"{code}main({list(PLAN)!r}))"],
            cwd=live,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        os.read(process.stdout.fileno(), 1)
        time.sleep(wait)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
        assert process.returncode == ExitCode.INTERRUPTED, (wait, err)
        assert "Traceback" not in err
        assert err.splitlines()[-2:] == ["error: stopped", "remedy: run the command again"]


def test_a_lock_that_stays_is_named_with_its_remedy(live):
    started = timestamp(SystemClock())
    with session(Settings()) as work:
        assert left_behind(work, "handbook", started, ()) == ("", "run the command again to go on")
        with Lock(work.engine, "handbook", "apply") as lock:
            kept, remedy = left_behind(work, "handbook", started, ())
            assert f"lock {lock.id} stays" in kept
            assert remedy.startswith(f"idxopt unlock {lock.id}")
            assert left_behind(work, "handbook", started, {lock.id})[0] == "", "the lock of another run"
        with Lock(work.engine, "handbook", "apply", who="somebody@elsewhere"):
            assert left_behind(work, "handbook", started, ())[0] == ""


@pytest.mark.parametrize(
    ("interrupt", "code"), [(KeyboardInterrupt, ExitCode.INTERRUPTED), (Terminated, ExitCode.TERMINATED)]
)
def test_a_signal_while_the_command_line_is_parsed_is_told_too(live, monkeypatch, interrupt, code):
    number = signal.SIGTERM if interrupt is Terminated else signal.SIGINT

    def stopped(_value: str) -> str:
        signal.raise_signal(number)
        return ""

    monkeypatch.setattr("idxopt.cli.options._NAME", SimpleNamespace(fullmatch=stopped))
    told = run("status", "handbook")
    assert told.code == code
    assert told.err.splitlines()[-2:] == ["error: stopped", "remedy: run the command again"]
