"""How small a difference a number of queries can show: what a "no clear difference" may hide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from idxopt.evaluation.bootstrap import ROUNDING

ALPHA, POWER = 0.05, 0.8


@dataclass(frozen=True, slots=True)
class Detectable:
    """A true mean difference of `difference` between two systems is found by a two-sided paired test at `alpha` with
    probability `power`, over `n` queries.

    `basis`: what the standard deviation `sd` of the paired differences was taken from: the differences themselves, or
    the values of one system (then two systems are taken to correlate by .5, where both deviations are equal).
    """

    difference: float
    n: int
    sd: float
    basis: Literal["differences", "values"]
    alpha: float = ALPHA
    power: float = POWER


def smallest_detectable(
    values: Sequence[float],
    basis: Literal["differences", "values"],
    *,
    alpha: float = ALPHA,
    power: float = POWER,
) -> Detectable | None:
    """`(t(1 - alpha / 2) + t(power)) * sd / sqrt(n)` with n - 1 degrees of freedom (Sakai 2016, paired t-test).

    None where nothing can be said: below two queries, and where all values are equal.
    """
    n = len(values)
    if n < 2 or np.ptp(values) <= ROUNDING:
        return None
    from scipy.stats import t  # half a second to import, and most commands need no power

    sd = float(np.std(np.asarray(values, dtype=np.float64), ddof=1))
    quantiles = float(t.ppf(1 - alpha / 2, n - 1)) + float(t.ppf(power, n - 1))
    return Detectable(quantiles * sd / math.sqrt(n), n, sd, basis, alpha, power)
