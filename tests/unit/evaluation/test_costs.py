"""Costs: the paper's break-even, embedded tokens counted by hand, c(D)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import EvaluationError
from idxopt.evaluation.costs import (
    PAPER_BREAK_EVEN,
    PAPER_DOCUMENTS,
    PAPER_QUERIES,
    PAPER_TOKENS_A_DOCUMENT,
    PAPER_TOKENS_A_QUERY,
    CostRatio,
    EmbeddingCost,
    RewritingCost,
    break_even,
    break_even_queries,
    cheaper_by,
    document_cost,
    embedding_cost,
    rewriting_cost,
)


class Words:
    """A tokenizer whose tokens are words."""

    def count(self, texts):
        return [len(text.split()) for text in texts]


def test_the_papers_break_even_holds_with_56_thousand_tokens_a_document():
    once = PAPER_TOKENS_A_DOCUMENT * PAPER_DOCUMENTS
    assert once == 23_296_000
    assert once / PAPER_TOKENS_A_QUERY == pytest.approx(12_095.53, abs=0.005)
    assert break_even_queries(once, PAPER_TOKENS_A_QUERY) == PAPER_BREAK_EVEN
    assert pytest.approx(8.3, abs=0.05) == PAPER_BREAK_EVEN / PAPER_QUERIES
    # read as 5.6 thousand it is a tenth, and less than the test set
    assert break_even_queries(5_600 * PAPER_DOCUMENTS, PAPER_TOKENS_A_QUERY) == 1_210


def test_output_moves_the_break_even_in_money():
    # half of the rewriting is output at four times the price; a reranked query writes 26 tokens
    rewriting = RewritingCost(calls=5_589, input_tokens=11_648_000, output_tokens=11_648_000)
    found = break_even(rewriting, query_input=1_900, query_output=26, price=(1.0, 4.0))
    assert found.by_tokens == PAPER_BREAK_EVEN
    assert found.money_once == pytest.approx(11.648 + 4 * 11.648)
    assert found.money_a_query == pytest.approx((1_900 + 4 * 26) / 1e6)
    assert found.by_money == 29_062  # 58.24 / 0.002004 = 29,061.9: 2.4 times as many queries as by tokens


def test_a_local_model_has_no_break_even_in_money():
    found = break_even(RewritingCost(1, 10, 10), query_input=10, query_output=0, price=(0.0, 0.0))
    assert (found.by_tokens, found.by_money, found.money_once) == (2, None, 0.0)


@pytest.mark.parametrize("a_query", [0, -1])
def test_a_query_without_cost_has_no_break_even(a_query):
    with pytest.raises(EvaluationError, match="never pays"):
        break_even_queries(10, a_query)


def test_embedded_tokens_and_vectors_counted_by_hand():
    # window 6 with 2 special tokens: 4 words are read of a text
    found = embedding_cost([["a b c", "a b c d e"], [""], ["one"]], Words(), max_tokens=6)
    assert found == EmbeddingCost(documents=3, vectors=3, tokens=5 + 6 + 3, cut=1)
    assert found.vectors_a_document == 1
    assert found.tokens_a_document == pytest.approx(14 / 3)


def test_ratios_are_those_of_the_paper_where_its_counts_are():
    # 416 documents with one vector each against 9,318 chunks: 22.4 times fewer
    ratio = cheaper_by(EmbeddingCost(416, 416, 10_000), EmbeddingCost(416, 9_318, 458_000))
    assert ratio.vectors == pytest.approx(22.4, abs=0.01)
    assert ratio.tokens == pytest.approx(45.8)
    assert cheaper_by(EmbeddingCost(1, 0, 0), EmbeddingCost(1, 1, 1)) == CostRatio(None, None)


def test_the_cost_of_a_document_is_the_papers_sum():
    assert document_cost([100, 50], alpha=2.0, beta=10.0) == 2 * 150 + 2 * 10
    assert document_cost([], alpha=2.0, beta=10.0) == 0


def test_rewriting_cost_counts_every_call():
    found = rewriting_cost({"a": [100, 51], "b": [9]}, overhead=30, output_share=0.5)
    assert found == RewritingCost(calls=3, input_tokens=160 + 90, output_tokens=50 + 26 + 5)
    assert found.money((1.0, 2.0)) == pytest.approx((250 + 162) / 1e6)


@given(st.lists(st.lists(st.text(alphabet="ab ", max_size=30), max_size=4), max_size=5), st.integers(3, 20))
def test_no_vector_costs_more_than_the_window(texts, window):
    found = embedding_cost(texts, Words(), max_tokens=window)
    assert found.documents == len(texts)
    assert 3 * found.vectors <= found.tokens <= window * found.vectors
    assert found.cut <= found.vectors
    assert embedding_cost(texts, Words(), max_tokens=None).tokens >= found.tokens
