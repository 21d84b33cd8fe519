"""What a run log says of the two arms of a canary: counts, latency, queries that found nothing. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from idxopt.builds.canary import Arm, Canary
from idxopt.evaluation.bootstrap import Interval
from idxopt.search.runlog import Entry

LEAST = 30
"""Queries or sessions of an arm below which nothing is concluded."""
LEVEL = 0.95
_IMPLAUSIBLE = 0.001


@dataclass(frozen=True, slots=True)
class ArmFigures:
    """One arm. `keys`: different sessions (or queries, where there are none). `p50`, `p95`: milliseconds; `zero`: the
    share of answers without a document. Intervals take answers as independent; None where there is no answer.
    """

    arm: Arm
    build: str
    answers: int
    keys: int
    p50: Interval | None
    p95: Interval | None
    zero: Interval | None


@dataclass(frozen=True, slots=True)
class LogFigures:
    """Both arms. `fallbacks`: queries of the candidate's that the live build answered, counted in neither arm's
    figures. `share`: of the keys that fell to the candidate; `mismatch`: that share is implausible for the split.
    """

    incumbent: ArmFigures
    candidate: ArmFigures
    fallbacks: int
    share: Interval | None
    mismatch: bool

    @property
    def small(self) -> list[str]:
        """Which arms have too few answers to conclude anything."""
        return [
            f"{one.arm}: {one.answers} answers, {LEAST} are the least that anything is concluded from"
            for one in (self.incumbent, self.candidate)
            if one.answers < LEAST
        ]


def log_figures(entries: Iterable[Entry], canary: Canary) -> LogFigures:
    """Of the answers since the canary started that nobody asked one arm for."""
    ours = [
        entry
        for entry in entries
        if entry.at >= canary.started
        and not entry.chosen
        and entry.arm is not None
        and entry.build in (canary.incumbent, canary.candidate)
    ]
    plain = [entry for entry in ours if not entry.fallback]
    fallen = [entry for entry in ours if entry.fallback]
    candidates = {entry.key for entry in ours if entry.arm == "candidate" or entry.fallback}
    keys = {entry.key for entry in ours}
    return LogFigures(
        incumbent=_arm("incumbent", canary.incumbent, plain),
        candidate=_arm("candidate", canary.candidate, plain),
        fallbacks=len(fallen),
        share=proportion(len(candidates), len(keys)),
        mismatch=_implausible(len(candidates), len(keys), canary.share),
    )


def quantile_interval(values: Sequence[float], quantile: float) -> Interval:
    """A quantile with the interval that order statistics give, whatever the distribution (Conover 1999, 3.2); no
    interval where so few values cannot bound it.
    """
    from scipy.stats import binom  # half a second to import

    ordered = np.sort(np.asarray(values, dtype=np.float64))
    n = len(ordered)
    centre = float(np.quantile(ordered, quantile))
    below = int(binom.ppf((1 - LEVEL) / 2, n, quantile)) - 1
    above = int(binom.ppf((1 + LEVEL) / 2, n, quantile))
    if below < 0 or above >= n:
        return Interval(centre, None, None, n, LEVEL, "none")
    return Interval(centre, float(ordered[below]), float(ordered[above]), n, LEVEL, "order statistics")


def proportion(hits: int, n: int) -> Interval | None:
    """A share with its Wilson interval."""
    if n == 0:
        return None
    from scipy.stats import binomtest

    ends = binomtest(hits, n).proportion_ci(LEVEL, method="wilson")
    return Interval(hits / n, float(ends.low), float(ends.high), n, LEVEL, "wilson")


def _arm(arm: Arm, build: str, entries: Sequence[Entry]) -> ArmFigures:
    own = [entry for entry in entries if entry.arm == arm and entry.build == build]
    times = [entry.ms for entry in own]
    return ArmFigures(
        arm=arm,
        build=build,
        answers=len(own),
        keys=len({entry.key for entry in own}),
        p50=quantile_interval(times, 0.5) if times else None,
        p95=quantile_interval(times, 0.95) if times else None,
        zero=proportion(sum(entry.total == 0 for entry in own), len(own)),
    )


def _implausible(hits: int, n: int, share: float) -> bool:
    if n == 0:
        return False
    from scipy.stats import binomtest

    return bool(binomtest(hits, n, share).pvalue < _IMPLAUSIBLE)
