"""Intervals: against Efron's formulas written out, against theory, and on degenerate data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from idxopt.evaluation.bootstrap import Interval, mean_interval, one_sided_bounds, one_sided_lower

VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


def ends(interval: Interval) -> tuple[float, float]:
    assert interval.low is not None
    assert interval.high is not None
    return interval.low, interval.high


def efron_bca(data, level, resamples, seed):
    """BCa after Efron and Tibshirani (1993), chapter 14, written out."""
    rng = np.random.default_rng(seed)
    n = len(data)
    means = data[rng.integers(0, n, (resamples, n))].mean(axis=1)
    below = ((means < data.mean()).mean() + (means <= data.mean()).mean()) / 2
    bias = stats.norm.ppf(below)
    jackknife = (data.sum() - data) / (n - 1)
    spread = jackknife.mean() - jackknife
    acceleration = (spread**3).sum() / (6 * (spread**2).sum() ** 1.5)
    tails = stats.norm.ppf([(1 - level) / 2, (1 + level) / 2])
    corrected = stats.norm.cdf(bias + (bias + tails) / (1 - acceleration * (bias + tails)))
    return np.quantile(means, corrected)


@pytest.mark.parametrize("shape", ["normal", "skewed", "zeros and ones"])
def test_the_interval_is_efrons_bca(shape):
    rng = np.random.default_rng(11)
    data = {
        "normal": rng.normal(0.5, 0.1, 80),
        "skewed": rng.exponential(0.2, 80),
        "zeros and ones": (rng.random(80) < 0.2).astype(float),
    }[shape]
    interval = mean_interval(list(data))
    low, high = efron_bca(data, 0.95, 40_000, 5)
    tolerance = max(0.05 * (high - low), 1.01 / 80 if shape == "zeros and ones" else 0)
    assert interval.method == "bca"
    assert interval.mean == pytest.approx(data.mean())
    assert interval.low == pytest.approx(low, abs=tolerance)
    assert interval.high == pytest.approx(high, abs=tolerance)


def test_on_normal_data_it_agrees_with_the_t_interval():
    data = np.random.default_rng(3).normal(0.4, 0.2, 400)
    interval = mean_interval(list(data))
    low, high = stats.t.interval(0.95, 399, loc=data.mean(), scale=stats.sem(data))
    assert interval.low == pytest.approx(low, abs=0.002)
    assert interval.high == pytest.approx(high, abs=0.002)


def test_it_covers_the_true_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(17)
    intervals = [mean_interval(list(rng.beta(0.6, 0.9, 60)), resamples=1000) for _ in range(300)]
    covered = sum(low <= 0.6 / 1.5 <= high for low, high in map(ends, intervals))
    assert 0.90 <= covered / 300 <= 0.99


def test_a_one_sided_bound_is_an_end_of_the_two_sided_90_percent_interval():
    differences = list(np.random.default_rng(5).normal(0.01, 0.1, 100))
    two_sided = mean_interval(differences, level=0.90)
    bounds = one_sided_bounds(differences)
    assert one_sided_lower(differences) == bounds.low == pytest.approx(two_sided.low)
    assert bounds.high == pytest.approx(two_sided.high)
    theory = np.mean(differences) - stats.t.ppf(0.95, 99) * stats.sem(differences)
    assert bounds.low == pytest.approx(theory, abs=0.002)


def test_equal_data_give_equal_intervals():
    data = [0.1, 0.5, 0.9, 0.3, 0.0]
    assert mean_interval(data) == mean_interval(list(data))
    assert mean_interval(data) != mean_interval(data, seed=1)


def test_one_value_has_no_interval():
    interval = mean_interval([0.5])
    assert (interval.mean, interval.low, interval.high, interval.method) == (0.5, None, None, "none")
    assert one_sided_lower([0.5]) is None


def test_equal_values_have_an_interval_without_width():
    interval = mean_interval([0.25] * 7)
    assert (interval.mean, interval.low, interval.high, interval.method) == (0.25, 0.25, 0.25, "constant")


def test_two_values():
    interval = mean_interval([0.0, 1.0])
    low, high = ends(interval)
    assert 0 <= low <= 0.5 <= high <= 1


@settings(max_examples=40)
@given(VALUES)
def test_an_interval_lies_within_the_data(values):
    interval = mean_interval(values, resamples=200)
    assert interval.n == len(values)
    assert min(values) - 1e-9 <= interval.mean <= max(values) + 1e-9
    if interval.low is None or interval.high is None:
        assert len(values) == 1
    else:
        assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9


def test_many_queries_are_resampled_in_batches():
    data = list(np.random.default_rng(1).random(3000))
    low, high = ends(mean_interval(data))
    assert high - low == pytest.approx(2 * 1.96 * np.std(data) / 3000**0.5, rel=0.05)


def test_values_that_differ_by_rounding_only_are_equal():
    interval = mean_interval([0.3 - 0.2, 0.1, 0.4 - 0.3])
    assert interval.method == "constant"
    assert interval.low == interval.high == pytest.approx(0.1)
