"""Rows cut out of texts have the counts of their own texts, wherever they are cut."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.operators.row import Document, Row
from idxopt.operators.windows import Window
from idxopt.optimizer.scoring.chunks import Chunks, Counts, chunks_of
from idxopt.optimizer.scoring.cuts import Cut, cut
from idxopt.optimizer.scoring.growth import Growth
from idxopt.optimizer.scoring.placed import Placed, _edges
from tests.unit.optimizer.scoring.test_chunks import TEXTS, WORDY

HEADERS = ["", "", "", "| a | b |\n", "the pears \u3000", "\n"]


@st.composite
def cuts(draw: st.DrawFn) -> list[tuple[str, list[Window]]]:
    """Texts, each with windows anywhere in it."""
    found = []
    for text in draw(st.lists(st.one_of(TEXTS, WORDY), min_size=1, max_size=4)):
        places = st.integers(0, len(text))
        spans = draw(st.lists(st.tuples(places, places, st.sampled_from(HEADERS)), min_size=1, max_size=5))
        found.append((text, [Window(min(a, b), max(a, b), header) for a, b, header in spans]))
    return found


def made(found: list[tuple[str, list[Window]]]) -> Cut:
    windows = iter([each for _, each in found])
    rows = [[Row(str(number), {"body": text})] for number, (text, _) in enumerate(found)]
    documents = [Document(str(number), {"body": text}) for number, (text, _) in enumerate(found)]
    result = cut(rows, documents, "body", lambda _: next(windows), Growth("slice", len(found), 10_000))
    assert result is not None
    return result


def counted(found: Counts) -> Counter[tuple[int, int]]:
    total: Counter[tuple[int, int]] = Counter()
    for row, column, times in zip(found.rows.tolist(), found.columns.tolist(), found.counts.tolist(), strict=True):
        total[row, column] += times
    return total


@pytest.mark.parametrize("name", ["english", "standard"])
@given(found=cuts())
def test_rows_that_are_cut_have_the_counts_of_rows_that_are_made(name, found):
    texts = [window.header + text[window.start : window.end] for text, windows in found for window in windows]
    columns = {term: number for number, term in enumerate(["pear", "a", "1", "word" * 70, "\u6f22", "as1"])}
    lengths, expected = Chunks(name, columns).count([(text,) for text in texts], keep=False)
    chunks = Chunks(name, columns)
    placed = Placed.of([text for text, _ in found], chunks)
    for _ in range(2):  # the second time every chunk is known
        tokens, terms = placed.count(made(found), chunks)
        assert tokens.tolist() == lengths.tolist()
        assert counted(terms) == counted(expected)
    assert made(found).characters.tolist() == [len(text) for text in texts]


@given(st.one_of(TEXTS, WORDY))
def test_chunks_stand_where_they_are_found(text):
    starts, ends = _edges(text)
    found = [text[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    assert found == (chunks_of(text) if "\u202f" in text else text.split())


def test_no_white_space_is_behind_what_is_looked_up():
    import sys

    from idxopt.optimizer.scoring.placed import _SPACES

    found = {code for code in range(sys.maxunicode + 1) if chr(code).isspace()}
    assert found == {*np.flatnonzero(_SPACES).tolist(), 0x202F}
    assert not _SPACES[-1]


def test_a_header_that_runs_into_its_row_makes_rows_necessary():
    rows, documents = [[Row("a", {"body": "| x |"})]], [Document("a", {"body": "| x |"})]
    growth = Growth("slice", 1, 5)
    assert cut(rows, documents, "body", lambda _: [Window(0, 5, "| h |")], growth) is None
    assert cut(rows, documents, "body", lambda _: [Window(0, 5, "| h |\u202f")], growth) is None
    assert cut(rows, documents, "body", lambda _: [Window(0, 5, "| h |\n")], growth) is not None


def test_a_row_without_the_field_stays():
    rows = [[Row("a", {"body": "one two"}), Row("a", {"title": "x"})]]
    found = cut(rows, [Document("a", {})], "body", lambda _: [Window(0, 4), Window(4, 7)], Growth("slice", 1, 9))
    assert found is not None
    assert found.parents.tolist() == [0, 0, 1]
    assert found.characters.tolist() == [4, 3, 0]
    assert found.times.tolist() == [2, 1]
