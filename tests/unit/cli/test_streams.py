"""Colour, width and encodings of what is written; the log."""

import json
import logging

import pytest
from rich.table import Table

from idxopt.cli.failures import report
from idxopt.cli.settings import Settings
from idxopt.cli.streams import console, emit_json, hint, print_tables, say, start_log, write
from idxopt.errors import UsageError


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


HOSTILE = "a\x1b]0;owned\x07b\x1b[2Jc\x9b31md\re\x7f\tf"


@pytest.mark.parametrize("colour", [False, True])
def test_no_text_gives_orders_to_the_terminal(capsys, monkeypatch, colour):
    if colour:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "xterm")
    made = Table(title="found")
    made.add_column("[red]text[/red]")
    made.add_row(HOSTILE.replace("[", "\\["))
    print_tables(Settings(), made)
    shown = capsys.readouterr().out
    assert ("\x1b[1;31m" in shown) == colour
    assert "\x1b]" not in shown
    assert "\x1b[2J" not in shown
    assert "]0;ownedb[2Jc31mde" in shown
    write(HOSTILE)
    say(Settings(), HOSTILE)
    report(UsageError(HOSTILE, place=HOSTILE, remedy="none"), [])
    written = capsys.readouterr()
    assert written.out == "a]0;ownedb[2Jc31mde\tf\n"
    assert not any(sign in written.err for sign in "\x1b\x9b\x07\r\x7f")


def test_json_escapes_all_control_characters(capsys):
    emit_json({"text": HOSTILE})
    shown = capsys.readouterr().out
    assert json.loads(shown) == {"text": HOSTILE}
    assert not any(sign in shown for sign in "\x1b\x9b\x07\r\x7f")
