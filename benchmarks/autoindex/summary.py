"""Figures over many runs: means with intervals over seeds, relative gains, shares of decided pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from idxopt.evaluation.bootstrap import Interval, mean_interval

EQUAL = 1e-12
"""Means that differ by no more are equal."""


@dataclass(frozen=True, slots=True)
class Wins:
    """How often one side was above the other; equal pairs decide nothing."""

    won: int
    lost: int
    equal: int

    @property
    def share(self) -> float:
        """Of the decided pairs; not a number where none is."""
        decided = self.won + self.lost
        return self.won / decided if decided else math.nan


def wins(pairs: Sequence[tuple[float, float]]) -> Wins:
    """Counts pairs of (ours, theirs)."""
    won = sum(ours - theirs > EQUAL for ours, theirs in pairs)
    lost = sum(theirs - ours > EQUAL for ours, theirs in pairs)
    return Wins(won, lost, len(pairs) - won - lost)


def over_seeds(by_seed: Sequence[float]) -> Interval:
    """The mean over seeds with its interval. Seeds share queries, so it says how much the split matters, not more."""
    return mean_interval(list(by_seed))


def mean_by_seed(by_collection: Mapping[str, Sequence[float]]) -> list[float]:
    """For every seed the mean over the collections; they have equally many seeds."""
    return [math.fsum(values) / len(values) for values in zip(*by_collection.values(), strict=True)]


def without_best(ratios: Mapping[str, float]) -> float:
    """The geometric mean of the collections' ratios (after / before) without the highest, less 1.

    Not a number for fewer than two collections.
    """
    kept = sorted(ratios.values())[:-1]
    return math.exp(math.fsum(math.log(ratio) for ratio in kept) / len(kept)) - 1 if kept else math.nan
