"""The benchmark of regimes: its cells are changed as it says, and counted as it says."""

from dataclasses import replace

import pytest

from benchmarks.regimes import Cell, changed
from idxopt.evaluation.regimes import Prediction
from idxopt.evaluation.representations import Text

TEXT = Text("a", "Pumps", "# Pumps\n\nIntro.\n\n## Leaks\n\nReplace the gasket.\n")
MINUS = Prediction("saturated", "raw", "-", 0.3, ("why",), ("no headings",), heading_free=True)


def cell(offline: list[float], prediction: Prediction = MINUS) -> Cell:
    queries = [str(number) for number in range(len(offline))]
    values = {"raw": dict.fromkeys(queries, 0.5), "offline": dict(zip(queries, offline, strict=True))}
    return Cell("awsdocs_small", "as is", False, prediction, {**values, "title": values["raw"]})


@pytest.mark.parametrize(
    ("kind", "title", "body"),
    [
        ("as is", "Pumps", TEXT.body),
        ("no headings", "Pumps", "\nIntro.\n\n\nReplace the gasket.\n"),
        ("no titles", "", TEXT.body),
        ("150 words", "Pumps", TEXT.body),
    ],
)
def test_what_each_kind_changes(kind, title, body):
    assert changed(TEXT, kind, "markdown") == Text("a", title, body)


def test_a_long_text_is_cut_behind_its_150th_word():
    long = replace(TEXT, body="## Head\n\n" + "word " * 200)
    body = changed(long, "150 words", "markdown").body
    assert len(body.split()) == 150
    assert long.body.startswith(body)


def test_a_cell_decides_only_beyond_two_standard_errors():
    clear = cell([0.3, 0.2, 0.3, 0.2])
    assert clear.difference == pytest.approx(-0.25)
    assert (clear.decisive, clear.right, clear.held_out) == (True, True, True)
    assert cell([0.3, 0.2, 0.3, 0.2], replace(MINUS, sign="+")).right is False
    unclear = cell([0.9, 0.0, 0.6, 0.3])
    assert not unclear.decisive
    assert unclear.row()["right"] == "within 2 SE"
    assert clear.row()["right"] is True
    assert replace(clear, repeats=True).row()["right"] == "repeats 'as is'"
    assert clear.standard_error == pytest.approx(0.057735 / 2, abs=1e-6)
