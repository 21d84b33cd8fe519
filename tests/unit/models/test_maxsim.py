"""MaxSim by hand, windows of long texts, and the bound on what is kept in memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.models.maxsim import WORST, MaxSim, similarities
from idxopt.models.ports import ModelIdentity
from tests.unit.models.stubs import vector_of

IDENTITY = ModelIdentity("reranker", "maxsim:e")


class Words:
    """Every word is a token."""

    def count(self, texts):
        return [len(text.split()) for text in texts]

    def spans(self, text):
        found, at = [], 0
        for word in text.split():
            at = text.index(word, at)
            found.append((at, at + len(word)))
            at += len(word)
        return found


class WordEmbedder:
    """The vector of a token is its word's; more than `limit` words are cut, as a model would."""

    identity = ModelIdentity("embedder", "e")
    dimension = 8

    def __init__(self, limit: int | None = 24) -> None:
        self.max_tokens = limit
        self.asked: list[str] = []

    def embed(self, texts, kind, *, on_progress=None):
        raise AssertionError("not asked for")

    def token_vectors(self, texts, kind):
        if kind == "passage":
            self.asked += texts
        words = [text.split()[: self.max_tokens] for text in texts]
        return [np.array([vector_of(word) for word in part], np.float32).reshape(-1, 8) for part in words]


def maxsim(embedder: WordEmbedder, **options) -> MaxSim:
    return MaxSim(embedder, IDENTITY, Words(), **options)


def test_the_score_is_the_mean_of_the_greatest_cosines():
    query = np.array([[1, 0], [0, 1]], np.float32)
    tokens = np.array([[0.6, 0.8], [1, 0], [-1, 0]], np.float16)
    assert similarities(query, [tokens]) == [pytest.approx((1.0 + 0.8) / 2, abs=1e-3)]


@given(st.lists(st.integers(0, 5), max_size=12))
def test_texts_compared_together_score_as_each_alone(lengths):
    generator = np.random.default_rng(sum(lengths))
    query = generator.standard_normal((3, 8)).astype(np.float32)
    texts = [generator.standard_normal((length, 8)).astype(np.float16) for length in lengths]
    together = similarities(query, texts)
    alone = [similarities(query, [text])[0] for text in texts]
    assert together == pytest.approx(alone, abs=2e-6)  # the last of six decimals may round either way
    assert [score for score, text in zip(together, texts, strict=True) if not len(text)] == [WORST] * lengths.count(0)


def test_more_texts_than_are_compared_at_once():
    texts = [f"text number {number}" for number in range(300)]
    reranker = maxsim(WordEmbedder())
    first = reranker.score("number 7", texts)
    assert reranker.score("number 7", texts) == first
    assert max(first) == first[7]


def test_a_text_that_has_every_word_of_the_query_scores_1():
    scores = maxsim(WordEmbedder()).score("cat garden", ["the cat in the garden", "cat", "", "nothing of it"])
    assert scores[0] == pytest.approx(1, abs=1e-3)
    assert scores[0] > scores[1] > scores[3] > scores[2] == WORST


def test_a_query_without_tokens_likes_all_texts_equally():
    assert maxsim(WordEmbedder()).score("", ["a", "b"]) == [0.0, 0.0]


@given(st.integers(0, 120), st.integers(10, 40), st.integers(0, 119))
def test_every_word_of_a_long_text_is_read(length, limit, place):
    """The best window counts: a word anywhere in the text is found, and no window is cut by the model."""
    embedder = WordEmbedder(limit)
    words = [f"w{number}" for number in range(length)]
    (score,) = maxsim(embedder).score(f"w{place}", [" ".join(words)])
    if place < length:
        assert score == pytest.approx(1, abs=1e-3)
    assert all(len(window.split()) <= limit for window in embedder.asked)
    assert sum(len(window.split()) for window in embedder.asked) <= 3 * length + limit


def test_a_text_is_embedded_once_while_it_is_kept():
    embedder = WordEmbedder()
    reranker = maxsim(embedder)
    texts = [f"text number {number}" for number in range(10)]
    first = reranker.score("text 3", texts)
    assert reranker.score("text 3", texts[::-1])[::-1] == first
    assert len(embedder.asked) == 10
    reranker.score("another query", texts)
    assert len(embedder.asked) == 10


def test_a_bound_changes_what_is_kept_and_no_score():
    texts = [f"text number {number}" for number in range(10)]
    free = maxsim(WordEmbedder()).score("text 3", texts)
    embedder = WordEmbedder()
    bounded = maxsim(embedder, max_bytes=3 * 3 * 8 * 2)  # three texts of three tokens
    assert bounded.score("text 3", texts) == free
    assert bounded.score("text 3", texts[-3:]) == free[-3:]
    assert len(embedder.asked) == 10
    bounded.score("text 3", texts[:1])
    assert len(embedder.asked) == 11
    assert maxsim(WordEmbedder(), max_bytes=0).score("text 3", texts) == free
