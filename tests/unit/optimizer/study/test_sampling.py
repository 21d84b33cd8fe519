"""The sample of a search: judged documents, then the hardest others."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import UsageError
from idxopt.operators.row import Document
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.study.sampling import sampled

CORPUS = Corpus.of(Document(f"d{number:02}", {"text": str(number)}) for number in range(30))
QRELS = {"q1": {"d00": 1, "gone": 1}, "q2": {"d01": 0}}
RUN = {"q1": [("d10", 3.0), ("d00", 2.0), ("d11", 1.0)], "q2": [("d20", 3.0), ("d10", 2.0)]}


def ids(corpus: Corpus) -> set[str]:
    return set(corpus.by_id)


def test_judged_first_then_the_best_rank_of_every_query() -> None:
    assert ids(sampled(CORPUS, QRELS, RUN, 4, 0)) == {"d00", "d01", "d10", "d20"}
    assert ids(sampled(CORPUS, QRELS, RUN, 5, 0)) == {"d00", "d01", "d10", "d20", "d11"}


def test_what_is_left_is_drawn_by_the_seed() -> None:
    one, other = ids(sampled(CORPUS, QRELS, RUN, 12, 0)), ids(sampled(CORPUS, QRELS, RUN, 12, 1))
    assert one == ids(sampled(CORPUS, QRELS, RUN, 12, 0))
    assert one != other
    assert {"d00", "d01", "d10", "d20", "d11"} <= one & other


def test_a_small_corpus_is_taken_whole_and_a_small_sample_refused() -> None:
    assert sampled(CORPUS, QRELS, RUN, 30, 0) is CORPUS
    with pytest.raises(UsageError, match="2 documents are judged"):
        sampled(CORPUS, QRELS, RUN, 1, 0)


@given(size=st.integers(2, 40), seed=st.integers(0, 100))
def test_it_has_the_size_that_was_asked_for(size: int, seed: int) -> None:
    found = sampled(CORPUS, QRELS, RUN, size, seed)
    assert len(found.documents) == min(size, len(CORPUS.documents))
    assert {"d00", "d01"} <= ids(found)
