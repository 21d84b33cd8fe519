"""What every reranker does: finite scores in order, whatever the other texts are, and texts of any length."""

from collections.abc import Iterator

import numpy as np
import pytest

from idxopt.models.ports import Reranker
from tests.contract.providers import RERANKERS, opened, reranker_settings

QUERY = "how do I keep a cat?"
TEXTS = [
    "A cat wants food, water and a warm place to sleep.",
    "Interest rates of central banks",
    "Cats",
    "word " * 700,
    "The cat, the dog and the garden " * 5,
]


@pytest.fixture(scope="module", params=RERANKERS)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def reranker(name: str, request: pytest.FixtureRequest) -> Iterator[Reranker]:
    with opened(reranker_settings(name, request.getfixturevalue)) as models:
        yield models.reranker("late" if name == "maxsim" else "ce")


def test_a_score_does_not_depend_on_the_other_texts(reranker):
    together = reranker.score(QUERY, TEXTS)
    alone = [reranker.score(QUERY, [text])[0] for text in TEXTS]
    assert together == pytest.approx(alone, abs=1e-5)
    assert reranker.score(QUERY, TEXTS[::-1]) == pytest.approx(alone[::-1], abs=1e-5)


def test_scores_are_finite_floats(reranker):
    scores = reranker.score(QUERY, [*TEXTS, "", "\ud83d", "日本語"])
    assert len(scores) == 8
    assert all(isinstance(score, float) and np.isfinite(score) for score in scores)


def test_no_text_is_no_score(reranker):
    assert reranker.score(QUERY, []) == []


@pytest.mark.parametrize("query", ["", "cat " * 2000, "\ud83d"])
def test_a_query_of_any_kind_is_answered(reranker, query):
    assert len(reranker.score(query, TEXTS)) == len(TEXTS)
