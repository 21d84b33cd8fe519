"""Tables say what the cells say, losses as plainly as gains; reports are whole and reach for no network."""

import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

import pytest

from idxopt.evaluation.bootstrap import mean_interval
from idxopt.experiments.page import page
from idxopt.experiments.plots import cost_plot, difference_plot
from idxopt.experiments.reports import NAMES, json_report, text_report, write_reports
from idxopt.experiments.results import finding
from idxopt.experiments.summary import overview
from idxopt.experiments.tables import costs, formulas, grids, sentences, table_1, table_2
from tests.unit.experiments.results import SETTING, result

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Checker(HTMLParser):
    """Notes tags that are left open, and everything that would be fetched."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.fetched: list[str] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.fetched += [
            f"{tag} {name}" for name, _ in attrs if name in ("src", "href", "xlink:href", "data", "action")
        ]
        if tag in ("script", "link", "iframe", "object"):
            self.fetched.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        del tag, attrs

    def handle_data(self, data):
        self.text += data


def test_table_2_has_the_factorial_first_and_marks_every_finding():
    grid = table_2(result())
    labels = [row[0] for row in grid.rows]
    assert labels[:5] == [
        "Raw (windows of 256 tokens)",
        "Structure-chunks",
        "PRIME (offline)",
        "SR (full-text)",
        "PRIME (full)",
    ]
    assert {"control: title", "control: title + headings", "PRIME (Full-Text)"} <= set(labels)
    by_label = {row[0]: row[1:] for row in grid.rows}
    assert [cell[-1] for cell in by_label["Structure-chunks"]] == ["+", "+", "="]
    assert [cell[-1] for cell in by_label["PRIME (offline)"]] == ["-", "-", "="]
    assert by_label["Raw (windows of 256 tokens)"][0].startswith(".400 [")


def test_table_1_leaves_out_the_row_of_a_second_encoder_that_was_not_run():
    rows = table_1(result()).rows
    assert [row[0] for row in rows] == [
        "Raw (windows of 256 tokens)",
        "Summary-augmented",
        "RAPTOR-lite",
        "PRIME (offline)",
        "Structure-chunks",
    ]
    assert all(len(row) == len(table_1(result()).header) for row in rows)


def test_sentences_say_where_gains_vanish_and_what_loses():
    found = sentences(result())
    chunks = next(one for one in found if one.startswith("Structure-chunks"))
    assert "beats raw in dense only (+.200" in chunks
    assert "the gain vanishes at hybrid + reranker" in chunks
    offline = next(one for one in found if one.startswith("PRIME (offline):"))
    assert "LOSES to raw in dense only (-.200" in offline
    assert "no longer clear at hybrid + reranker" in offline
    rewritten = next(one for one in found if one.startswith("SR (full-text)"))
    assert rewritten.startswith("SR (full-text): LOSES to raw in hybrid")
    assert "no longer clear" not in rewritten
    assert "control: title: no clear difference to raw in any column." in found
    assert any("Predicted before indexing: saturated, a loss" in one and "(worse)" in one for one in found)
    assert found[-1] == "Nothing else."


@pytest.mark.parametrize(("differing", "wanted"), [(5, "no clear difference"), (6, "better")])
def test_a_handful_of_queries_decides_nothing(differing, wanted):
    differences = [0.1] * differing + [0.0] * (100 - differing)
    interval = mean_interval(differences)
    assert interval.low is not None
    assert interval.low > 0
    assert finding(interval, differing) == wanted


def test_costs_are_ratios_to_structure_chunks_with_their_reason():
    grid = costs(result())
    by_label = {row[0]: row for row in grid.rows}
    assert by_label["PRIME (offline)"][5:7] == ("1.0x", "10.0x")
    assert "13.4 sections a document (90% of the documents have headings)" in grid.note
    assert "45.8x and 22.4x" in grid.note


def test_both_formulas_stand_beside_each_other_with_their_difference():
    grid = formulas(result())
    assert grid is not None
    assert [row[0] for row in grid.rows] == [
        "with a stop-word list (default)",
        "literal (stopwords: none)",
        "literal - default",
    ]
    assert grid.rows[2][1].startswith("+.200")
    assert formulas(result(full=False)) is None


def test_a_run_of_few_methods_has_fewer_tables():
    few = [grid.title for grid in grids(result(full=False))]
    assert not any("Density" in title or "Evidence" in title or "Fidelity" in title for title in few)
    assert len(grids(result())) == 9
    (factorial,) = overview([result(full=False)])
    assert [row[0] for row in factorial.rows] == ["Raw (windows of 256 tokens)"]


def test_the_overview_counts_losses_of_offline_by_collection():
    offline, factorial = overview([result("one"), result("two")])
    assert [row[0] for row in offline.rows] == ["one", "two"]
    assert offline.rows[0][1].endswith("LOSES")
    assert offline.rows[0][3].endswith("=")
    assert factorial.rows[0][1] == "0.400 (0.175)"


@pytest.mark.parametrize("full", [True, False])
def test_the_page_is_whole_and_self_contained(full):
    html = page([result(full=full), result("two", full=full)], SETTING)
    checker = Checker()
    checker.feed(html)
    checker.close()
    assert checker.open == []
    assert checker.fetched == []
    assert not re.search(r"https?://|@import|url\(", html)
    assert "pages <1>" in checker.text
    assert "a note & more" in checker.text
    for svg in re.findall(r"<svg.*?</svg>", html):
        ET.fromstring(svg)
    assert html.count("<svg") == 4


def test_plots_draw_every_difference_within_their_panel():
    svg = ET.fromstring(difference_plot(result()))
    dots = svg.findall("circle")
    assert len(dots) == 3 * 10
    for number, dot in enumerate(dots):
        left = 230 + (number // 10) * 224
        assert left <= float(dot.attrib["cx"]) <= left + 210
    assert "PRIME (offline)" in cost_plot(result())


def test_reports_are_written_in_three_forms(tmp_path):
    files = write_reports(tmp_path / "out", [result()], SETTING)
    assert [file.name for file in files] == list(NAMES)
    text, plain, html = (file.read_text("utf-8") for file in files)
    assert "Sample: 10 of 20 queries." in text
    assert html.startswith("<!doctype html>")
    found = json.loads(plain)
    assert found["schema"] == "idxopt-experiment/1"
    cells = found["collections"][0]["cells"]
    assert {cell["finding"] for cell in cells} == {None, "better", "worse", "no clear difference"}
    assert json_report([result()], SETTING)["collections"][0]["costs"]["offline"]["vectors"] == 10
    assert max(map(len, text_report([result()], SETTING).splitlines())) <= 200
