"""Help is quick, complete, and imports nothing heavy."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from idxopt.cli.app import app
from idxopt.errors import ExitCode
from tests.e2e.runner import run

ROOT = Path(__file__).resolve().parents[3]
COMMANDS = [command.name for command in app.registered_commands]
HEAVY = ("scipy", "numpy", "opensearchpy", "pyarrow", "ir_measures", "nltk", "docutils")
BOUND_S = 1.5
"""Generous: about .3 s where nothing else runs."""


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command):
    told = run(command, "--help")
    assert told.code == ExitCode.OK
    assert f"Example: idxopt {command}" in " ".join(told.out.split())
    assert "--cluster" in told.out
    assert run(command, "-h").out == told.out


def test_help_keeps_what_stands_in_brackets_in_its_sentences():
    told = " ".join(run("serve", "models", "--help").out.replace("│", " ").split())
    assert "Serve this model of idxopt.toml only (repeatable)" in told


def test_the_documentation_has_a_line_for_the_sidecar():
    assert "`serve models`" in (ROOT / "docs/cli.md").read_text("utf-8")


def test_the_panels():
    told = run("--help").out
    for panel in ("Deploy", "Search", "Evaluate", "Tools", "Options of every command"):
        assert f"─ {panel} ─" in told
    assert run().out == told


def test_the_version():
    told = run("--version")
    assert told.code == ExitCode.OK
    assert told.out.startswith("idxopt ")


def test_help_imports_nothing_heavy():
    code = (
        "import sys\nfrom idxopt.cli import main\nmain(['plan', '--help'])\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_help_is_quick():
    def once() -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "idxopt", "--help"], capture_output=True, check=True)
        return time.perf_counter() - started

    assert min(once() for _ in range(5)) < BOUND_S


def test_the_hidden_alias_of_yes_works_and_is_not_shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "--auto-approve" not in run("apply", "--help").out
    assert run("apply", "p.json", "--auto-approve").code == ExitCode.ERROR
