"""Analysis against tokens recorded from Lucene 9.12.1 (10.3.1 gives the same), and on any text."""

import json
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import ProgramError
from idxopt.text.analysis import ANALYZERS, analyzer, standard_spans, standard_starts, standard_tokens
from idxopt.text.porter import stem
from idxopt.text.word_break import _CLASSES, _spans_by_class
from idxopt.text.word_classes import OTHER, RANGES

RECORDED = json.loads((Path(__file__).parent / "lucene_tokens.json").read_text("utf-8"))
anything = st.text(
    st.characters() | st.characters(categories=["Cs"]) | st.sampled_from("a1_.',:\"\u200d\u05d0\u0e31\u263a\u2139")
)


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: ascii(case["text"][:20]))
@pytest.mark.parametrize("name", ["standard", "english"])
def test_recorded_tokens(name: str, case: dict[str, Any]) -> None:
    assert analyzer(name)(case["text"]) == case[name]


def test_recorded_cases_cover_every_class_of_characters() -> None:
    text = "".join(case["text"] for case in RECORDED)
    assert set(text.translate(_CLASSES)) == {OTHER, *RANGES}


@given(anything)
def test_spans_are_in_order_and_give_the_tokens(text: str) -> None:
    spans = list(standard_spans(text))
    assert [text[start:end] for start, end in spans] == standard_tokens(text)
    assert list(standard_starts(text)) == [start for start, _ in spans]
    assert all(start < end for start, end in spans)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


@given(anything)
def test_every_analyzer_is_total(text: str) -> None:
    for analyze in ANALYZERS.values():
        assert all(isinstance(token, str) for token in analyze(text))


EASY = "aZ0_.,:;' \n\u00e9\u03bc\u00b7\u037e\u2019\u2014\u202f\u200b\u0301\u00ad\u0663\u30ab\u6f22\u05d0\""


@given(st.text("abcxyz0_.,'; \n") | st.text(EASY) | anything)
def test_shortcuts_agree_with_the_classes(text: str) -> None:
    expected = list(_spans_by_class(text))
    assert list(standard_spans(text)) == expected
    assert list(standard_starts(text)) == [start for start, _ in expected]
    assert standard_tokens(text) == [text[start:end] for start, end in expected]


@pytest.mark.parametrize(
    "text", ["_", "a __ b", "\u00e9 _", "a_ _b __", "a.__.b", "a" * 256, "\u00e9" * 300 + " _ b", "_" * 300]
)
def test_shortcuts_agree_on_connectors_and_long_tokens(text: str) -> None:
    expected = list(_spans_by_class(text))
    assert list(standard_spans(text)) == expected
    assert list(standard_starts(text)) == [start for start, _ in expected]
    assert standard_tokens(text) == [text[start:end] for start, end in expected]


@given(anything)
def test_tokens_have_at_most_255_utf16_units(text: str) -> None:
    assert all(len(token.encode("utf-16-le", "surrogatepass")) <= 510 for token in standard_tokens(text * 40))


def test_keyword_is_the_whole_text() -> None:
    assert analyzer("keyword")("Two Words") == ["Two Words"]


def test_unknown_analyzer_names_those_that_exist() -> None:
    with pytest.raises(ProgramError, match=r"unknown analyzer 'klingon'\n.*english, keyword, standard"):
        analyzer("klingon")


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("sky", "sky"),
        ("skies", "ski"),
        ("apology", "apolog"),
        ("y" * 255, "y" * 254 + "i"),
        ("\U00010400s", "\U00010400"),
        ("is", "is"),
    ],
)
def test_stem(word: str, expected: str) -> None:
    assert stem(word) == expected


@given(st.text(max_size=300))
def test_stem_is_total_and_never_longer_than_one_more(word: str) -> None:
    assert len(stem(word)) <= len(word) + 1


@pytest.mark.parametrize(
    "unit", ["_", "a", "_\u0e31", "\u200d", "\u263a\u200d", "a.", "1,", '\u05d0"', "#", "\u0301", "_a" * 200, "y"]
)
def test_time_is_linear(unit: str) -> None:
    started = time.perf_counter()
    analyzer("english")(unit * (200_000 // len(unit)))
    assert time.perf_counter() - started < 20
