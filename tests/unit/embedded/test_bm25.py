"""BM25 and Lucene's quantised lengths."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.engines.embedded import bm25


def test_lengths_are_exact_to_40_then_coarser() -> None:
    kept = [int(bm25.DECODED[bm25.length_code(length)]) for length in range(60)]
    assert kept[:41] == list(range(41))
    assert kept[41:50] == [40, 42, 42, 44, 44, 46, 46, 48, 48]
    assert [kept[length] for length in (55, 56, 57, 58, 59)] == [54, 56, 56, 56, 56]


@given(st.integers(0, 2**31 - 1))
def test_a_kept_length_is_never_longer_and_at_most_an_eighth_shorter(length: int) -> None:
    code = bm25.length_code(length)
    assert 0 <= code <= 255
    assert length * 7 / 8 - 1 <= float(bm25.DECODED[code]) <= length * (1 + 1e-6)


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (0.9, 0.4), (2.0, 0.0), (1.2, 1.0)])
def test_scores_follow_the_formula(k1: float, b: float) -> None:
    statistics = bm25.FieldStatistics(documents=10, tokens=133)
    weight = bm25.term_weight(statistics, 3, 2.0)
    inverse = bm25.inverse_norms(statistics, k1, b)
    lengths, frequencies = [1, 12, 40], [1.0, 3.0, 7.0]
    found = bm25.scores(weight, np.array(frequencies, dtype=np.float32), inverse[lengths])
    idf = math.log(1 + (10 - 3 + 0.5) / (3 + 0.5))
    expected = [
        2.0 * idf * f / (f + k1 * (1 - b + b * length / 13.3)) for f, length in zip(frequencies, lengths, strict=True)
    ]
    assert found.dtype == np.float32
    assert found == pytest.approx(expected, rel=1e-6)


def test_without_k1_only_presence_counts() -> None:
    statistics = bm25.FieldStatistics(documents=2, tokens=4)
    weight = bm25.term_weight(statistics, 1, 1.0)
    inverse = bm25.inverse_norms(statistics, 0.0, 0.75)
    assert bm25.scores(weight, np.array([1, 9], dtype=np.float32), inverse[[1, 3]]) == pytest.approx([weight, weight])
