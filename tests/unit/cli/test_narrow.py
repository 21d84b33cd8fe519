"""Narrow terminals: nothing is cut; what does not fit gets fewer columns, or one block a row."""

import pytest
from rich.table import Table

from idxopt.cli.render.states import configured, short_names
from idxopt.cli.settings import Settings
from idxopt.cli.streams import print_tables
from idxopt.config.load import Config
from idxopt.config.profile import Profile

WORDS = (
    "handbook--content--cd231ac2",
    "2026-11-30T01:45:43.067Z",
    "+0.000 [-0.012, +0.034]",
    "no clear difference",
    "====",
)


def table() -> Table:
    made = Table(title="Everything about one long title of a table", title_justify="left")
    for number, heading in enumerate(("index", "when", "B - A\n[95% interval]", "B is", "bar")):
        made.add_column(heading, justify="right" if number == 2 else "left", overflow="fold")
    for _ in range(2):
        made.add_row(*(word.replace("[", r"\[") for word in WORDS))
    return made


@pytest.mark.parametrize("width", [30, 40, 60, 80, 90, 100, 120, 160])
def test_no_word_and_no_figure_is_cut(capsys, monkeypatch, width):
    monkeypatch.setenv("COLUMNS", str(width))
    print_tables(Settings(), table(), spare=("bar",))
    out = capsys.readouterr().out
    for word in (WORDS[0], WORDS[1], "difference", "+0.034]"):
        assert out.count(word) == 2, out
    if width >= 60:
        assert out.count(WORDS[2]) == 2
        assert max(len(line.rstrip()) for line in out.splitlines()) <= width


def test_wide_has_lines_then_none_then_fewer_columns_then_blocks(capsys, monkeypatch):
    shapes = []
    for width in (140, 100, 93, 60):
        monkeypatch.setenv("COLUMNS", str(width))
        print_tables(Settings(), table(), spare=("bar",))
        out = capsys.readouterr().out
        shapes.append(("│" in out, "====" in out, "index: handbook" in out))
    assert shapes == [(True, True, False), (False, True, False), (False, False, False), (False, False, True)]


def test_plugins_by_their_short_names():
    assert short_names("analysis-icu, org.opensearch.icu.AnalysisICUPlugin") == "analysis-icu"
    assert (
        short_names("org.opensearch.icu.AnalysisICUPlugin, org.opensearch.x.KNNPlugin")
        == "AnalysisICUPlugin, KNNPlugin"
    )
    assert short_names("none") == "none"


def test_what_is_not_set_says_so():
    values = configured(Config(None, "local", {}), "local", Profile(engine="embedded", folder="x"))
    assert ("clusters.local.url", "(not set)", "default") in values
    assert all(value != "None" for _, value, _ in values)
