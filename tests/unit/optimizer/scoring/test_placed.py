"""Rows cut out of texts have the counts of their own texts, wherever they are cut."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.operators.row import Document, Row
from idxopt.operators.slice import Slicing, compile_slice
from idxopt.operators.tables import Tables
from idxopt.operators.transform import Context
from idxopt.operators.windows import Window
from idxopt.optimizer.scoring.chunks import Chunks, Counts, chunks_of
from idxopt.optimizer.scoring.cuts import Cut, Spans, cut
from idxopt.optimizer.scoring.growth import Growth
from idxopt.optimizer.scoring.placed import Placed, _edges
from idxopt.program.steps import Slice
from tests.unit.optimizer.scoring.test_chunks import TEXTS, WORDY

HEADERS = ["", "", "", "| a | b |\n", "the pears \u3000", "\n"]


@st.composite
def stretches(draw: st.DrawFn) -> tuple[list[str], list[tuple[int, int, int, str]]]:
    """Texts, and (number of the text, start, end, header) of stretches anywhere in them."""
    texts = draw(st.lists(st.one_of(TEXTS, WORDY), min_size=1, max_size=4))
    found = []
    for number, text in enumerate(texts):
        places = st.integers(0, len(text))
        drawn = draw(st.lists(st.tuples(places, places, st.sampled_from(HEADERS)), min_size=1, max_size=5))
        found += [(number, min(a, b), max(a, b), header) for a, b, header in drawn]
    return texts, found


def spans_of(found: list[tuple[int, int, int, str]]) -> Spans:
    parents, starts, ends, headers = (list(each) for each in zip(*found, strict=True))
    numbered = tuple((number, header) for number, header in enumerate(headers) if header)
    return Spans(np.array(parents), np.array(starts), np.array(ends), numbered)


def counted(found: Counts) -> Counter[tuple[int, int]]:
    total: Counter[tuple[int, int]] = Counter()
    for row, column, times in zip(found.rows.tolist(), found.columns.tolist(), found.counts.tolist(), strict=True):
        total[row, column] += times
    return total


@pytest.mark.parametrize("name", ["english", "standard"])
@given(drawn=stretches())
def test_stretches_have_the_counts_of_their_texts(name, drawn):
    whole, found = drawn
    texts = [header + whole[number][start:end] for number, start, end, header in found]
    columns = {term: number for number, term in enumerate(["pear", "a", "1", "word" * 70, "\u6f22", "as1"])}
    lengths, expected = Chunks(name, columns).count([(text,) for text in texts], keep=False)
    chunks = Chunks(name, columns)
    placed = Placed.of(whole, chunks)
    for _ in range(2):  # the second time every chunk is known
        tokens, terms = placed.count(spans_of(found), chunks)
        assert tokens.tolist() == lengths.tolist()
        assert counted(terms) == counted(expected)
    assert spans_of(found).characters.tolist() == [len(text) for text in texts]


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


TABLE = (
    "Before it.\n\n| name | price |\n|---|---|\n| disk | 1 |\n| tape | 2 |\n| card | 3 |\n\nBehind it, more words.\n"
)
PIECES = [
    TABLE,
    "\ufeff",
    "One. Two! Three?\n\n",
    "word " * 9,
    "p53-like (cells) ",
    "\u202f",
    "\u6f22\u5b57",
    "| a |",
    "\n",
]
CUT_TEXTS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


@st.composite
def slices(draw: st.DrawFn) -> Slice:
    unit = draw(st.sampled_from(["words", "sentences", "paragraphs"]))
    window = draw(st.integers(1, 12))
    plain = {"op": "slice", "unit": unit, "window": window, "overlap": draw(st.integers(0, window - 1))}
    if draw(st.booleans()):
        plain["min_size"] = draw(st.integers(1, window))
    if unit == "words" and draw(st.booleans()):
        plain["cut"] = "sentences"
    return Slice.model_validate(plain)


@given(slices(), st.lists(st.lists(st.one_of(st.none(), CUT_TEXTS, TEXTS), max_size=3), max_size=4))
def test_what_is_cut_is_what_the_step_makes(step, texts):
    context = Context("markdown", Tables())
    rows = [[Row(str(n), {} if text is None else {"body": text}) for text in each] for n, each in enumerate(texts)]
    documents = [Document(str(number), {}) for number in range(len(texts))]
    found = cut(rows, documents, Slicing.of(step, context), Growth("slice", len(texts), 10_000))
    expected = [row for each in rows for row in compile_slice(step, context)(each)]
    if found is None:
        assert any("|" in str(row.fields.get("body")) for row in expected)
        return
    before = [row.fields.get("body", "") for each in rows for row in each]
    spans, headers = found.spans, dict(found.spans.headers)
    pairs = zip(spans.parents.tolist(), spans.starts.tolist(), spans.ends.tolist(), strict=True)
    made = [headers.get(n, "") + before[parent][start:end] for n, (parent, start, end) in enumerate(pairs)]
    assert made == [row.fields.get("body", "") for row in expected]
    assert [str(document) for document in found.documents.tolist()] == [row.doc_id for row in expected]
    assert found.times.sum() == len(expected)


def test_a_header_that_runs_into_its_row_makes_rows_necessary():
    class Headed(Slicing):
        def even_units(self, text: str) -> None:
            return None

        def windows(self, text: str) -> list[Window]:
            return [Window(0, 5, text)]

    def found(header: str) -> Cut | None:
        slicing = Headed.of(
            Slice.model_validate({"op": "slice", "unit": "words", "window": 9}), Context("text", Tables())
        )
        return cut([[Row("a", {"body": header})]], [Document("a", {})], slicing, Growth("slice", 1, 5))

    assert found("| h |") is None
    assert found("| h |\u202f") is None
    assert found("| h |\n") is not None
