"""Colour, width and encodings of what is written; the log."""

import logging

import pytest
from rich.table import Table

from idxopt.cli.settings import Settings
from idxopt.cli.streams import console, hint, print_tables, say, start_log


def table() -> Table:
    made = Table(title="[bold]heading[/bold]")
    made.add_column("column")
    made.add_row("[red]value[/red]")
    return made


def test_a_pipe_gets_no_colour(capsys, monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    print_tables(Settings(), table())
    assert "\x1b[" not in capsys.readouterr().out


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1", "FORCE_COLOR": "1"}])
def test_no_color_wins(capsys, monkeypatch, variables):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    print_tables(Settings(), table())
    assert "\x1b[31m" not in capsys.readouterr().out


def test_force_color_and_the_option(capsys, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    print_tables(Settings(), table())
    assert "\x1b[31m" in capsys.readouterr().out
    print_tables(Settings(no_color=True), table())
    assert "\x1b[31m" not in capsys.readouterr().out


def test_a_pipe_is_wide_unless_columns_says_otherwise(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert console(Settings()).width == 160
    monkeypatch.setenv("COLUMNS", "50")
    assert console(Settings()).width == 50


def test_quiet_says_nothing(capsys):
    say(Settings(quiet=1), "hint")
    say(Settings(), "hint")
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "hint\n"


@pytest.mark.parametrize(
    ("verbose", "variable", "level"),
    [
        (0, "", logging.WARNING),
        (1, "", logging.INFO),
        (2, "", logging.DEBUG),
        (0, "debug", logging.DEBUG),
        (0, "nonsense", logging.WARNING),
        (1, "error", logging.INFO),
    ],
)
def test_the_level_of_the_log(monkeypatch, verbose, variable, level):
    monkeypatch.setenv("IDXOPT_LOG", variable)
    start_log(Settings(verbose=verbose))
    assert logging.getLogger("idxopt").level == level


def test_hints_are_for_people(capsys, monkeypatch):
    hint(Settings(), "next")
    monkeypatch.setenv("IDXOPT_IN_AUTOMATION", "1")
    hint(Settings(), "next")
    assert capsys.readouterr().err == "next\n"
