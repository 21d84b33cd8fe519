"""Sections judged by gold spans: values computed by hand."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import EvaluationError
from idxopt.evaluation.evidence import (
    GOLD_TOKENS,
    TOKEN_RECALL,
    Evidence,
    evidence_figures,
    sections_of,
    shared_queries,
    transferred,
)
from idxopt.evaluation.gold import GoldSpan, GoldSpans

PUMPS = "Intro words here.\n\n## Leaks\n\nReplace the gasket now.\n\n## Noise\n\nOil the bearing well.\n"
VALVES = "## Stuck\n\nTurn it twice.\n"
TEXTS = {"pumps": PUMPS, "valves": VALVES}


def span(query: str, doc: str, quote: str) -> GoldSpan:
    start = TEXTS[doc].index(quote)
    return GoldSpan(query, doc, start, start + len(quote))


GOLD = GoldSpans(
    (span("q1", "pumps", "Replace the gasket now."), span("q1", "valves", "Turn it twice."), span("q2", "pumps", "Oil"))
)


@pytest.fixture
def evidence() -> Evidence:
    return Evidence(TEXTS, "markdown", GOLD)


def test_sections_are_those_of_the_heading_tree():
    found = sections_of("pumps", PUMPS, "markdown")
    assert [(section.id, section.path) for section in found] == [
        ("pumps#0", ()),
        ("pumps#1", ("Leaks",)),
        ("pumps#2", ("Noise",)),
    ]
    assert "".join(PUMPS[section.start : section.end] for section in found) == PUMPS


def test_a_text_without_headings_is_cut_at_words_when_asked():
    text = "one two three four five"
    assert len(sections_of("a", text, "text")) == 1
    found = sections_of("a", text, "text", window=2)
    assert [text[section.start : section.end] for section in found] == ["one two ", "three four ", "five"]


def test_the_sections_that_hold_a_span_are_relevant(evidence):
    assert evidence.qrels == {"q1": {"pumps#1": 1, "valves#0": 1}, "q2": {"pumps#2": 1}}


def test_a_span_over_two_sections_counts_where_fifty_characters_of_it_are():
    text = "## A\n\n" + "x" * 60 + "\n\n## B\n\n" + "y" * 60
    spans = GoldSpans((GoldSpan("long", "d", 0, len(text)), GoldSpan("edge", "d", 0, 80)))
    assert Evidence({"d": text}, "markdown", spans).qrels == {"long": {"d#0": 1, "d#1": 1}, "edge": {"d#0": 1}}


def test_figures_computed_by_hand(evidence):
    found = evidence_figures({"q1": ["pumps#0", "valves#0", "pumps#1"], "q2": ["pumps#1"]}, evidence)
    ideal = 1 + 1 / math.log2(3)
    gained = 1 / math.log2(3) + 1 / 2
    assert found.values["nDCG@5"] == pytest.approx({"q1": gained / ideal, "q2": 0})
    assert found.values["Recall@5"] == {"q1": 1, "q2": 0}
    assert found.values["P@5"] == pytest.approx({"q1": 0.4, "q2": 0})
    assert found.values["MAP"] == pytest.approx({"q1": (1 / 2 + 2 / 3) / 2, "q2": 0})
    assert found.values["MRR"] == {"q1": 0.5, "q2": 0}
    assert found.values[GOLD_TOKENS] == {"q1": 4 + 3, "q2": 1}
    assert found.values[TOKEN_RECALL] == {"q1": 1, "q2": 0}
    assert found.mean("Recall@5") == 0.5
    assert found.queries == 2


def test_token_recall_counts_the_words_of_the_first_five_sections(evidence):
    found = evidence_figures({"q1": ["valves#0"]}, evidence, ["q1"])
    assert found.values[TOKEN_RECALL]["q1"] == pytest.approx(3 / 7)


def test_a_query_without_a_ranking_counts_0(evidence):
    found = evidence_figures({}, evidence)
    assert found.mean("nDCG@5") == 0
    assert found.queries == 2


@pytest.mark.parametrize(("ranking", "message"), [(["pumps#9"], "does not have"), (["pumps#1", "pumps#1"], "twice")])
def test_a_ranking_of_other_sections_is_an_error(evidence, ranking, message):
    with pytest.raises(EvaluationError, match=message):
        evidence_figures({"q1": ranking}, evidence)


def test_no_judged_query_is_an_error(evidence):
    with pytest.raises(EvaluationError, match="no query has a judged section"):
        evidence_figures({}, evidence, ["unknown"])


def test_a_rewritten_corpus_is_judged_by_the_spans_that_are_left():
    rewritten = {
        "pumps": "## Leaks\n\nReplace the gasket now.\n\n## Noise\n\nBearings need lubrication.\n",
        "valves": VALVES,
    }
    moved = transferred(GOLD, TEXTS, rewritten)
    assert moved.lost == ("q2",)
    dense = Evidence(rewritten, "markdown", moved)
    assert dense.qrels == {"q1": {"pumps#0": 1, "valves#0": 1}}
    assert shared_queries(Evidence(TEXTS, "markdown", GOLD), dense) == ["q1"]
    figures = evidence_figures({"q1": ["pumps#0"]}, dense)
    assert figures.values[GOLD_TOKENS]["q1"] == 7


@given(st.permutations(["pumps#0", "pumps#1", "pumps#2", "valves#0"]), st.integers(0, 4))
def test_figures_stay_between_0_and_1_and_a_complete_ranking_covers_all(order, size):
    evidence = Evidence(TEXTS, "markdown", GOLD)
    found = evidence_figures({"q1": order[:size]}, evidence, ["q1"])
    assert all(0 <= values["q1"] <= 1 for name, values in found.values.items() if name != GOLD_TOKENS)
    if size == 4:
        assert found.values[TOKEN_RECALL]["q1"] == found.values["Recall@5"]["q1"] == 1
