"""Regimes and recommendations from profiles made for each case."""

from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.evaluation.density import CorpusDensity, Density
from idxopt.evaluation.profile import Headings, Lengths, Profile, Titles, profile
from idxopt.evaluation.regimes import predict, told
from idxopt.evaluation.representations import Text

MANUAL = Profile(
    documents=100,
    empty=0,
    markup="markdown",
    titles=Titles(share=1, distinct=1, words=4, in_body=0.9, id_like=0),
    headings=Headings(0.9, 5, 5, 0.1, 0.05, 0.01, 0.1, 20),
    lengths=Lengths(900, 100, 700, 2_000, 0.9),
    density=CorpusDensity(Density(0.37, 2.5, 50, 4, 900), 100, 0),
    unread_markdown=0,
)
"""Long documents with true headings and good titles."""

BARE = replace(MANUAL, headings=Headings(0, 1, 0, 0, 0, 0, 0, 0))
SHORT = replace(MANUAL, lengths=Lengths(120, 50, 110, 200, 0.1))
CODE = replace(MANUAL, density=CorpusDensity(Density(0.12, 4, 80, 25, 900), 100, 0))
NAMED = replace(MANUAL, titles=replace(MANUAL.titles, words=2.5, named=0.9))
"""Entries about a thing each."""
LATEX = replace(MANUAL, headings=replace(MANUAL.headings, false=0.6))
SCRAPS = replace(MANUAL, headings=replace(MANUAL.headings, one_line=0.7))


@pytest.mark.parametrize(
    ("found", "regime", "recommended"),
    [
        (MANUAL, "structure-exploiting", "structure-chunks"),
        (BARE, "saturated", "raw"),
        (SHORT, "saturated", "raw"),
        (replace(MANUAL, headings=replace(MANUAL.headings, coverage=0.3)), "saturated", "raw"),
        (CODE, "deficit-bridging", "offline"),
        (NAMED, "structure-exploiting", "title"),
        (replace(NAMED, headings=BARE.headings), "deficit-bridging", "title"),
        (replace(NAMED, headings=BARE.headings, lengths=SHORT.lengths), "saturated", "raw"),
        (LATEX, "fragmented", "raw"),
        (SCRAPS, "fragmented", "raw"),
    ],
    ids=[
        "manual",
        "no headings",
        "short",
        "few headings",
        "code",
        "entries",
        "bare entries",
        "short entries",
        "formulas",
        "scraps",
    ],
)
def test_the_regime_and_what_is_recommended(found, regime, recommended):
    prediction = predict(found)
    assert (prediction.regime, prediction.recommended) == (regime, recommended)
    assert all(reason for reason in prediction.reasons)


def test_code_without_titles_and_headings_has_nothing_to_bridge_with():
    bare = replace(CODE, headings=BARE.headings, titles=Titles(0, 0, 0, 0, 0))
    assert predict(bare).regime == "saturated"


@pytest.mark.parametrize(
    ("found", "sign"),
    [
        (MANUAL, "-"),
        (BARE, "-"),
        (CODE, "+"),
        (NAMED, "-"),
        (replace(NAMED, headings=BARE.headings), "+"),
        (replace(NAMED, headings=BARE.headings, titles=replace(NAMED.titles, named=0.5)), "-"),
        (replace(NAMED, headings=BARE.headings, titles=replace(NAMED.titles, distinct=0.5)), "-"),
    ],
)
def test_metadata_is_expected_to_win_only_where_windows_do_not_name_their_document(found, sign):
    assert predict(found).sign == sign


def test_text_without_headings_is_always_warned_of():
    for found in (BARE, replace(BARE, density=CODE.density), replace(BARE, titles=Titles(0, 0, 0, 0, 0))):
        prediction = predict(found)
        assert prediction.heading_free
        assert any("no headings" in warning for warning in prediction.warnings)
    assert not predict(MANUAL).heading_free
    assert predict(MANUAL).warnings == ()


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (replace(BARE, unread_markdown=0.4), "is the markup right"),
        (replace(MANUAL, titles=Titles(0.2, 1, 3, 1, 0)), "80% of the documents have no title"),
        (replace(MANUAL, titles=Titles(1, 0.02, 1, 0, 0)), "shared by several"),
        (replace(MANUAL, titles=Titles(1, 1, 1, 0, 0.9)), "ids or file names"),
        (LATEX, "structure off"),
        (replace(MANUAL, headings=replace(MANUAL.headings, coverage=0.3)), "70% of the documents have no headings"),
        (replace(MANUAL, empty=3), "3 documents have no text"),
    ],
)
def test_what_else_is_warned_of(found, says):
    assert any(says in warning for warning in predict(found).warnings)


def test_the_strength_of_a_loss_is_what_metadata_fails_to_tell():
    assert told(MANUAL.titles, MANUAL.headings) == pytest.approx(0.7 + 0.3 * 0.9 * 0.99 * 0.95 * 0.9)
    assert predict(replace(BARE, titles=Titles(0, 0, 0, 0, 0))).strength == 1
    assert predict(BARE).strength == pytest.approx(0.3)
    assert predict(MANUAL).strength < predict(BARE).strength


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["", "Pump care", "DOC-1", "a.md"]),
            st.lists(st.sampled_from(["the pump of the day", "## Leaks", "### x = 1", "", "f(x);"]), max_size=10),
        ),
        min_size=1,
        max_size=5,
    ),
    st.sampled_from(["markdown", "text"]),
)
def test_any_corpus_has_a_prediction(pairs, markup):
    texts = [Text(str(number), title, "\n".join(lines) or "x") for number, (title, lines) in enumerate(pairs)]
    if not any(text.body.strip() for text in texts):
        return
    found = profile(texts, markup)
    prediction = predict(found)
    assert 0 <= prediction.strength <= 1
    assert prediction.reasons
    if markup == "text":
        assert prediction.heading_free
        assert prediction.warnings


def test_the_shared_collections_are_told_apart(shared):
    from benchmarks.collections import NAMES, collection

    found = {}
    for name in NAMES:
        of = collection(name)
        records = list(islice(of.documents(), 0, 300, 5))
        texts = [Text(record["_id"], record["title"], record["text"]) for record in records]
        measured = profile(texts, of.markup)
        found[name] = (measured, predict(measured))
    free = {name for name, (_, prediction) in found.items() if prediction.heading_free}
    assert free == {"scifact", "cranfield", "covidqa_docs", "chroma_chunking"}
    assert all(found[name][1].recommended == "raw" and found[name][1].warnings for name in free)
    assert {name for name, (profiled, _) in found.items() if profiled.titles.named > 0.7} == {"medquad_pages"}
    assert found["chroma_chunking"][0].titles.quality < 0.1
    assert found["awsdocs_small"][1].regime == "structure-exploiting"
