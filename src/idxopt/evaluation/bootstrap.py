"""Bootstrap intervals for means: BCa (Efron 1987), 10,000 resamples, seeded: equal data, equal intervals."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 10_000
SEED = 20_240_229
ROUNDING = 1e-12
"""Values that differ by no more are equal: differences of equal pairs may be off by their last bits."""
LARGE = 5_000
"""Values of a sample from which on the mean is as good as normal, and resampling only costs time."""
_VALUES_AT_ONCE = 2_000_000
"""Resampled values held in memory at a time (16 MB)."""


@dataclass(frozen=True)
class Interval:
    """A mean with its two-sided interval at `level`.

    `method` says how it came about: `bca`; `percentile` where BCa is not defined; `constant` where all values are
    equal; `none` below two values, where `low` and `high` are None.
    """

    mean: float
    low: float | None
    high: float | None
    n: int
    level: float
    method: str


def mean_interval(
    values: Sequence[float], *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """Interval of the mean of independent values, or of paired differences. At least one value is needed."""
    data = np.asarray(values, dtype=np.float64)
    n = len(data)
    centre = math.fsum(values) / n
    if n == 1:
        return Interval(centre, None, None, n, level, "none")
    if np.ptp(data) <= ROUNDING:
        return Interval(centre, centre, centre, n, level, "constant")
    method: Literal["BCa", "percentile"] = "BCa"
    low, high = _bootstrap(data, method, level, resamples, seed)
    if not (math.isfinite(low) and math.isfinite(high)):
        method = "percentile"
        low, high = _bootstrap(data, method, level, resamples, seed)
    return Interval(centre, low, high, n, level, method.lower())


def unpaired_interval(
    a: Sequence[float], b: Sequence[float], *, level: float = 0.95, resamples: int = RESAMPLES, seed: int = SEED
) -> Interval:
    """Interval of mean(b) - mean(a) of two independent samples, at least one value each; `n` counts both.

    BCa as in `mean_interval`; `normal` (Welch) where one has more than LARGE values; `none` where one has only one.
    """
    x, y = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    centre, n = math.fsum(b) / len(b) - math.fsum(a) / len(a), len(a) + len(b)
    if min(len(a), len(b)) < 2:
        return Interval(centre, None, None, n, level, "none")
    if np.ptp(x) <= ROUNDING and np.ptp(y) <= ROUNDING:
        return Interval(centre, centre, centre, n, level, "constant")
    from scipy import stats

    if max(len(a), len(b)) > LARGE:
        half = float(stats.norm.ppf(0.5 + level / 2)) * math.sqrt(x.var(ddof=1) / len(a) + y.var(ddof=1) / len(b))
        return Interval(centre, centre - half, centre + half, n, level, "normal")
    found = (math.nan, math.nan)
    for method in ("BCa", "percentile"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", stats.DegenerateDataWarning)
            ends = stats.bootstrap(
                (x, y),
                lambda one, other, axis: np.mean(other, axis=axis) - np.mean(one, axis=axis),
                vectorized=True,
                paired=False,
                confidence_level=level,
                n_resamples=resamples,
                batch=max(1, _VALUES_AT_ONCE // n),
                method=method,
                rng=np.random.default_rng(seed),
            ).confidence_interval
        found = (float(ends.low), float(ends.high))
        if math.isfinite(found[0]) and math.isfinite(found[1]):
            return Interval(centre, *found, n, level, method.lower())
    return Interval(centre, None, None, n, level, "none")


def one_sided_lower(differences: Sequence[float], *, level: float = 0.95) -> float | None:
    """The mean is above this bound with confidence `level`; None below two values."""
    return one_sided_bounds(differences, level=level).low


def one_sided_bounds(differences: Sequence[float], *, level: float = 0.95) -> Interval:
    """The interval whose ends are each a one-sided bound at `level`: the two-sided 90% one for .95."""
    return mean_interval(differences, level=2 * level - 1)


def _bootstrap(
    data: NDArray[np.float64], method: Literal["BCa", "percentile"], level: float, resamples: int, seed: int
) -> tuple[float, float]:
    from scipy import stats  # half a second to import, and most commands compute no interval

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        result = stats.bootstrap(
            (data,),
            np.mean,
            vectorized=True,
            confidence_level=level,
            n_resamples=resamples,
            batch=max(1, _VALUES_AT_ONCE // len(data)),
            method=method,
            rng=np.random.default_rng(seed),
        )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)
