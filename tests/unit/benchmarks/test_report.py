"""Bars decide the exit code."""

from __future__ import annotations

import json

import pytest

from benchmarks.report import Bar, Figures, Report, present, run, shown
from idxopt.errors import SourceError


@pytest.mark.parametrize(
    ("bar", "met"),
    [
        (Bar("x", 0.85, ">=", 0.85), True),
        (Bar("x", 0.849, ">=", 0.85), False),
        (Bar("x", 1.15, "<=", 1.15), True),
        (Bar("x", 1.151, "<=", 1.15), False),
        (Bar("x", 1.0, "==", 1.0), True),
        (Bar("x", 0.999, "==", 1.0), False),
        (Bar("x", float("nan"), "<=", 1.0), False),
    ],
)
def test_bars(bar: Bar, met: bool) -> None:
    assert bar.met is met


def test_a_report_without_bars_proves_nothing() -> None:
    assert not Report("x").met


def test_exit_code_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    report = Report("x", [Figures("t", [{"a": 1, "b": "c"}])], [Bar("good", 2, ">=", 1)], ["note"])
    assert present(report, as_json=True) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["met"] is True
    assert told["bars"] == [{"name": "good", "value": 2, "bound": ">=", "limit": 1, "met": True}]
    assert told["tables"] == [{"title": "t", "rows": [{"a": 1, "b": "c"}]}]
    report.bars.append(Bar("bad", 0, ">=", 1))
    assert present(report, as_json=True) == 1
    assert json.loads(capsys.readouterr().out)["met"] is False


def test_tables_show_every_figure(capsys: pytest.CaptureFixture[str]) -> None:
    assert present(Report("x", [Figures("t", [{"a": 1}, {"b": 2.5}])], [Bar("bad", 0, ">=", 1)]), as_json=False) == 1
    printed = capsys.readouterr().out
    assert "2.5" in printed
    assert "NO" in printed


def test_what_cannot_be_measured_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    def measure() -> Report:
        raise SourceError("the collection is not there", remedy="put it there", place="x")

    assert run(measure, as_json=True) == 1
    streams = capsys.readouterr()
    assert streams.out == ""
    assert "the collection is not there" in streams.err


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "yes"), (12345, "12,345"), (12345.6, "12,346"), (0.123456, "0.1235"), ("x", "x")],
)
def test_figures_as_text(value: str | int | float | None, text: str) -> None:
    assert shown(value) == text
