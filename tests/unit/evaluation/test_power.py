"""Smallest detectable difference: the formula, and that it keeps its promise."""

import numpy as np
import pytest
from scipy import stats

from idxopt.evaluation.power import smallest_detectable


def test_the_formula_by_hand():
    found = smallest_detectable([0.0, 1.0] * 50, "values")
    assert found is not None
    # sd of 50 zeros and 50 ones: sqrt(25 / 99); t(.975; 99) = 1.9842, t(.8; 99) = .8453
    assert found.sd == pytest.approx((25 / 99) ** 0.5)
    assert found.difference == pytest.approx((1.9842 + 0.8453) * (25 / 99) ** 0.5 / 10, rel=1e-4)
    assert (found.n, found.basis, found.alpha, found.power) == (100, "values", 0.05, 0.8)


def test_a_difference_of_that_size_is_found_four_times_in_five():
    generator = np.random.default_rng(5)
    promised = smallest_detectable(generator.normal(0, 0.2, 30_000).tolist()[:60], "differences")
    assert promised is not None
    drawn = generator.normal(promised.difference, promised.sd, size=(4_000, 60))
    assert np.mean(stats.ttest_1samp(drawn, 0.0, axis=1).pvalue < 0.05) == pytest.approx(0.8, abs=0.025)


@pytest.mark.parametrize("values", [[], [0.4], [0.3, 0.3, 0.3]])
def test_nothing_can_be_said(values):
    assert smallest_detectable(values, "values") is None
