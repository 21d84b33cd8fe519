"""Texts of representations, ranking by the best text, and self-retrieval with an encoder of word counts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import EvaluationError
from idxopt.evaluation.representations import Represented, Text, best_first, metadata, windows
from idxopt.evaluation.self_retrieval import self_retrieval
from idxopt.models.ports import Embedded, ModelIdentity

PUMPS = Text("b", "Pumps", "## Leaks\n\nReplace the gasket.\n\n## Noise\n\nOil the bearing.\n")
BARE = Text("a", "", "bearing steel")
EMPTY = Text("c", "", "")


class WordCounts:
    """A vector has the number of times that each word of a small vocabulary stands in the text."""

    identity = ModelIdentity("embedder", "word-counts")
    words = ("pumps", "gasket", "bearing", "steel", "oil", "leaks", "noise", "valves", "brush", "rust")
    dimension = len(words) + 1
    max_tokens = None

    def embed(self, texts, kind, *, on_progress=None):
        rows = np.array(
            [[*(text.lower().count(word) for word in self.words), 0.01] for text in texts], dtype=np.float32
        )
        return Embedded(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def test_metadata_is_title_terms_and_heading_tree():
    found = metadata([PUMPS, BARE, EMPTY], "markdown")
    assert found.owners == (0, 1)
    lines = found.texts[0].split("\n")
    assert (lines[0], lines[-2:]) == ("Pumps", ["Leaks", "Noise"])
    assert len(lines) == 1 + 5 + 2
    assert set(found.texts[1].split("\n")) == {"bearing", "steel"}


def test_controls_choose_their_fields():
    assert metadata([PUMPS, BARE], "markdown", ("title",)) == Represented(("Pumps",), (0,))
    assert metadata([PUMPS], "markdown", ("title", "headings")).texts == ("Pumps\nLeaks\nNoise",)


def test_windows_hold_the_whole_body():
    found = windows([PUMPS, EMPTY, BARE], "markdown", size=3)
    assert "".join(text for text, owner in zip(found.texts, found.owners, strict=True) if owner == 0) == PUMPS.body
    assert 1 not in found.owners


def test_a_document_ranks_by_its_best_text_and_ties_go_by_id():
    rows = np.array([[1, 0], [0, 1], [0, 1], [0.6, 0.8]], dtype=np.float32)
    represented = Represented(("", "", "", ""), (0, 0, 1, 2))
    queries = np.array([[0, 1], [1, 0]], dtype=np.float32)
    first, second = best_first(queries, rows, represented, ["z", "a", "m"])
    assert [doc for doc, _ in first] == ["a", "z", "m"]
    assert [doc for doc, _ in second] == ["z", "m", "a"]
    assert first[2][1] == pytest.approx(0.8)
    assert [doc for doc, _ in best_first(queries, rows, represented, ["z", "a", "m"], depth=1)[1]] == ["z"]


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(0, 2**31))
def test_ranking_is_that_of_sorting_by_the_best(owners, seed):
    chance = np.random.default_rng(seed)
    rows = chance.integers(0, 3, (len(owners), 2)).astype(np.float32)
    query = np.array([[1, 2]], dtype=np.float32)
    ids = ["d", "b", "a", "c"]
    best: dict[str, float] = {}
    for row, owner in zip(rows, owners, strict=True):
        best[ids[owner]] = max(best.get(ids[owner], -1.0), float(query[0] @ row))
    expected = sorted(best, key=lambda doc: (-best[doc], doc))
    ranked = best_first(query, rows, Represented(("",) * len(owners), tuple(owners)), ids)[0]
    assert [doc for doc, _ in ranked] == expected


def test_self_retrieval_counts_documents_that_their_metadata_finds():
    valves = Text("v", "Valves", "## Rust\n\nBrush the valves.\n")
    stranger = Text("s", "Pumps", "brush rust brush rust")  # its title and terms lead elsewhere
    found = self_retrieval([PUMPS, valves, stranger, EMPTY], "markdown", WordCounts())
    assert found.documents == 3
    assert found.title_first is not None
    assert found.title_first < 1
    assert found.metadata_first >= 2 / 3
    assert 1 / 3 <= found.reciprocal_rank <= 1


def test_self_retrieval_without_titles_and_with_one_document():
    assert self_retrieval([Text("x", "", "oil"), Text("y", "", "steel")], "text", WordCounts()).title_first is None
    with pytest.raises(EvaluationError, match="not two documents"):
        self_retrieval([PUMPS, EMPTY], "markdown", WordCounts())
