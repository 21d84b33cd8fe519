"""Density: values computed by hand, the paper's check, and what holds for any text."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import EvaluationError
from idxopt.evaluation.density import Reference, change, corpus_density, density_of, semantic_density
from idxopt.operators.streams import STOP_WORDS, prime_tokens

CORPUS = ["the pump and the valve", "the pump leaks", "a valve"]


def test_the_figures_of_a_document_computed_by_hand():
    reference = Reference.of(CORPUS, "text")
    found = density_of(prime_tokens(CORPUS[0]), reference)
    # N 3; df: the 2, pump 2, and 1, valve 2. IDF of 2: ln(4/3)+1, of 1: ln(4/2)+1. Stop words: the, and, the.
    twice, once = math.log(4 / 3) + 1, math.log(2) + 1
    assert found is not None
    assert found.tokens == 5
    assert found.stop_ratio == pytest.approx(3 / 5)
    assert found.mean_idf == pytest.approx((4 * twice + once) / 5)
    assert found.technical == 0  # pump and valve stand in two of three documents
    assert found.semantic == pytest.approx(2 * found.mean_idf / 4)


def test_a_term_that_the_reference_lacks_has_df_0_and_is_technical():
    reference = Reference.of(CORPUS, "text")
    found = density_of(["gasket"], reference)
    assert found is not None
    assert found.mean_idf == pytest.approx(math.log(4) + 1)
    assert found.technical == 100


@pytest.mark.parametrize(
    ("term", "technical"),
    [("leaks", True), ("pump", False), ("and", False), ("ab", False), ("123", False), ("p53", True), ("the", False)],
)
def test_what_a_technical_term_is(term, technical):
    assert Reference.of(CORPUS, "text").is_technical(term) is technical


def test_the_papers_means_give_3_39():
    assert semantic_density(0.635, 0.365 - 1, 1.947) == pytest.approx(3.39, abs=0.005)
    # of a document with a thousand tokens the 1 in the denominator hardly counts
    assert semantic_density(635, 365, 1.947) == pytest.approx(3.38, abs=0.005)
    assert change(3.42, 7.76) == pytest.approx(127, abs=0.5)
    assert change(0, 1) is None


def test_a_corpus_is_the_mean_of_its_documents_and_empty_ones_are_counted():
    texts = [CORPUS[0], "", "gasket"]
    reference = Reference.of(CORPUS, "text")
    found = corpus_density(texts, "text", reference)
    first, last = density_of(prime_tokens(texts[0]), reference), density_of(["gasket"], reference)
    assert first is not None
    assert last is not None
    assert (found.documents, found.empty) == (2, 1)
    assert found.mean.semantic == pytest.approx((first.semantic + last.semantic) / 2)
    assert found.mean.stop_ratio == pytest.approx(0.3)


def test_a_corpus_without_text_is_an_error():
    with pytest.raises(EvaluationError, match="none of the 2 documents"):
        corpus_density(["", "  "], "text", Reference.of(CORPUS, "text"))


def test_taking_stop_words_out_never_lowers_density():
    reference = Reference.of(CORPUS, "text")
    tokens = prime_tokens(CORPUS[0])
    full, dense = density_of(tokens, reference), density_of([t for t in tokens if t not in STOP_WORDS], reference)
    assert full is not None
    assert dense is not None
    assert dense.semantic > full.semantic
    assert dense.stop_ratio == 0


@given(st.lists(st.sampled_from(["the", "of", "pump", "gasket", "p53", "12", "x"]), min_size=1, max_size=60))
def test_figures_are_in_their_ranges_and_do_not_depend_on_order(tokens):
    reference = Reference.of(CORPUS, "text")
    found = density_of(tokens, reference)
    assert found is not None
    assert 0 <= found.stop_ratio <= 1
    assert 0 <= found.technical <= 100 * (1 - found.stop_ratio) + 1e-9
    assert 1 <= found.mean_idf <= math.log(4) + 1 + 1e-12
    assert density_of(sorted(tokens), reference) == found
