"""No analyzer makes a token across white space, which is what `Chunks` builds on; and its counts are the analyzer's."""

from __future__ import annotations

import sys
from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.optimizer.scoring.chunks import Chunks, chunks_of
from idxopt.text.analysis import analyzer

SPACES = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
EXTENDERS = ["\u0301", "\u200d", "\u00ad", "\ufeff", "\u200b", "\u180e", "\u2060", "\ufe0f", "\u20e3", "\U0001f3fd"]
JOINERS = ["_", "'", "\u2019", ".", ",", ":", ";", '"', "\u00b7", "\u203f", "#"]
LETTERS = [*"aS1", *"\u05d0\u0628", *"\u30ab\u0e01\u6f22\ud55c", *"\U0001f600\U0001f1e9\u2139"]
PARTS = [*SPACES, *EXTENDERS, *JOINERS, *LETTERS]
WORDY = st.lists(st.sampled_from([*LETTERS, " ", "\u202f", "the ", "\u3000", "pears "]), max_size=300).map("".join)
TEXTS = st.one_of(
    st.text(st.sampled_from(PARTS), max_size=30),
    st.text(max_size=30),
    st.lists(st.sampled_from([*PARTS, "word" * 70, "_" * 300, "\U0001f600" * 140]), max_size=8).map("".join),
)


def by_chunks(name: str, text: str) -> list[str]:
    return [token for chunk in chunks_of(text) for token in analyzer(name)(chunk)]


@pytest.mark.parametrize("name", ["english", "standard"])
@given(TEXTS)
def test_the_tokens_of_a_text_are_those_of_its_chunks(name, text):
    assert analyzer(name)(text) == by_chunks(name, text)


@pytest.mark.parametrize("name", ["english", "standard"])
def test_no_white_space_joins_what_stands_on_both_sides(name):
    around = [*EXTENDERS, *JOINERS, *LETTERS]
    for space in SPACES:
        text = " ".join(f"{before}{space}{after}" for before, after in product(around, around))
        assert analyzer(name)(text) == by_chunks(name, text), ascii(space)


def test_a_space_that_the_tokenizer_takes_for_a_connector_is_no_boundary():
    """French texts, and those of language models, have it before units and signs."""
    text = "about 5\u202fkm\u202f! and a\u202fb"
    assert analyzer("standard")(text) == ["about", "5\u202fkm\u202f", "and", "a\u202fb"]
    assert chunks_of(text) == ["about", "5\u202fkm\u202f!", "and", "a\u202fb"]
    assert chunks_of("5\u00a0km\u3000 and\x1cmore\n") == ["5", "km", "and", "more"]


@given(
    st.sampled_from(["english", "standard", "keyword"]),
    st.lists(st.lists(WORDY, max_size=3)),
)  # fmt: skip
def test_lengths_and_counts_are_those_of_the_analyzer(name, texts):
    analyze = analyzer(name)
    expected = [Counter(token for value in values for token in analyze(value)) for values in texts]
    terms = sorted({term for count in expected for term in count})[::2]  # not all are asked for
    columns = {term: number for number, term in enumerate(terms)}
    chunks = Chunks(name, columns)
    for _ in range(2):  # the second time everything is known
        lengths, found = chunks.count([tuple(values) for values in texts], keep=True)
        assert lengths.tolist() == [count.total() for count in expected]
        counted: Counter[tuple[int, str]] = Counter()
        for row, column, times in zip(found.rows, found.columns, found.counts, strict=True):
            counted[int(row), terms[column]] += int(times)
        assert counted == {
            (row, term): times for row, count in enumerate(expected) for term, times in count.items() if term in columns
        }
