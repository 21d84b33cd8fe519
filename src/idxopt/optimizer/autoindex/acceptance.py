"""Which changes are kept: pure functions over the values of paired queries (docs/autoindex.md, section on rules).

`paper` keeps any gain. `guarded` asks for a paired bootstrap over all dev queries and a gain that matters, and lets
neither the other metric, nor a dev set, nor a slice of the queries fall. The held-out queries take no part: they are
read once, at the end, by `final_cut`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

import numpy as np
import numpy.typing as npt

from idxopt.evaluation.bootstrap import Interval, mean_interval
from idxopt.evaluation.comparison import TIE
from idxopt.evaluation.metrics import Metric
from idxopt.optimizer.ports import JUDGED, NDCG, RECALL, Scores, Size, Values
from idxopt.optimizer.splits import PlacedQueries, Places, pooled

Rule = Literal["guarded", "paper"]
Aim = Literal["recall", "ndcg"]

RESAMPLES = 2_500
CONFIDENCE, CONFIDENCE_FEW = 0.90, 0.95
FEW = 50
"""Below so many dev queries the stricter confidence holds."""
LEAST_GAIN = 0.005
"""The smallest mean gain that is worth a change."""
TOLERANCE = 0.003
"""How far the mean of the metric that is not gained in may fall, against the current program and the baseline."""
RECALL_CONFIDENCE = 0.75
"""Where nDCG@10 is gained: share of resampled means of Recall@100 that do not fall by more than TOLERANCE. A document
that is not found is lost to whatever comes after, and a few dev queries lost and won again are a warning.
"""
FALL_CONFIDENCE = 0.95
"""A dev set or a slice has fallen where so many resampled means are below 0 and the mean falls by LEAST_GAIN."""
SLICE_QUERIES = 10
"""Slices with fewer dev queries are not looked at: they show nothing."""
BLIND_RECALL, BLIND_SHARE, RECALL_DEPTH = 0.95, 0.10, 100
JUDGED_DIFFERENCE = 0.02
_AT_ONCE = 4_096
"""Values whose counts are doubles at a time: 8 bytes for each and each resample."""


@dataclass(frozen=True, slots=True)
class Objective:
    """What a search aims at. `recall`: Recall@100, then nDCG@10. `ndcg`: nDCG@10, with Recall@100 as a constraint.

    `why`: the reason, for people.
    """

    aim: Aim
    why: str

    @property
    def sentence(self) -> str:
        """Which objective, and why."""
        what = "Recall@100, then nDCG@10"
        if self.aim == "ndcg":
            what = f"nDCG@10; Recall@100 may fall by at most {TOLERANCE:g}"
        return f"the objective is {what} ({self.why})"

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """What is gained in, first things first."""
        return (RECALL, NDCG) if self.aim == "recall" else (NDCG,)


def choose_objective(
    baseline_recall: float, documents: int, wanted: Literal["auto", "recall", "ndcg"] = "auto"
) -> Objective:
    """The objective for a baseline's mean Recall@100 over dev queries and the number of documents.

    Recall@100 is blind where the baseline leaves nothing to gain, or where 100 documents are much of the corpus.
    """
    if wanted != "auto":
        return Objective(wanted, "as asked for")
    if baseline_recall > BLIND_RECALL:
        return Objective("ndcg", f"the baseline's Recall@100 is {baseline_recall:.3f}, above {BLIND_RECALL:g}")
    if documents * BLIND_SHARE < RECALL_DEPTH:
        return Objective("ndcg", f"100 is more than {BLIND_SHARE:.0%} of {documents:,} documents")
    return Objective("recall", f"the baseline's Recall@100 is {baseline_recall:.3f}: there are documents left to find")


@dataclass(frozen=True, slots=True)
class Limits:
    """The largest program that may be kept; None: no limit. `bytes` and `rows` as in Size."""

    views: int | None = None
    rows: int | None = None
    bytes: int | None = None

    def broken(self, size: Size) -> str | None:
        """The first limit that a size breaks, as a sentence."""
        pairs = (("views", size.views, self.views), ("rows", size.rows, self.rows), ("bytes", size.bytes, self.bytes))
        for name, value, limit in pairs:
            if limit is not None and value > limit:
                return f"{value:,} {name}, and at most {limit:,} are allowed"
        return None


@dataclass(frozen=True, slots=True)
class Bar:
    """What a change must pass, the same throughout a search.

    `dev`: the sets that gains are measured on, all together. `slices`: further groups of dev queries (by length,
    kind...) that may not fall; they may overlap.
    """

    rule: Rule
    objective: Objective
    dev: tuple[PlacedQueries, ...]
    slices: tuple[PlacedQueries, ...] = ()
    limits: Limits = field(default_factory=Limits)
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether a candidate may replace the current program.

    `metric`: the one that it passed on; where it is refused, the one of the objective that speaks most for it.
    `gain` and `confidence` are of `metric`; `gains` holds the mean differences of all metrics. `refused`: why not.
    """

    passed: bool
    metric: Metric
    gain: float
    confidence: float
    gains: Mapping[Metric, float]
    refused: str | None = None
    warnings: tuple[str, ...] = ()


def judge(candidate: Scores, current: Scores, baseline: Scores, bar: Bar) -> Judgement:
    """Decides about one candidate against the current program. Equal arrays, equal judgement."""
    places = pooled(bar.dev)
    differences = {metric: _differences(candidate, current, metric, places) for metric in (NDCG, RECALL, JUDGED)}
    gains = {metric: float(np.mean(values)) for metric, values in differences.items()}
    shares = {metric: confidence(differences[metric], bar.seed) for metric in bar.objective.metrics}
    passed_on, reasons = None, []
    for metric in bar.objective.metrics:
        reason = _too_small(metric, gains, shares, bar, len(places)) or _other_falls(
            metric, candidate, current, baseline, bar, places
        )
        if reason is None:
            passed_on = metric
            break
        reasons.append(reason)
    refused = bar.limits.broken(candidate.size) or ("; ".join(reasons) if passed_on is None else None)
    if refused is None and bar.rule == "guarded":
        refused = fallen(candidate, current, bar)
    best = passed_on or max(bar.objective.metrics, key=lambda metric: shares[metric])
    return Judgement(
        passed=refused is None,
        metric=best,
        gain=gains[best],
        confidence=shares[best],
        gains=gains,
        refused=refused,
        warnings=judged_warnings(candidate, current, places),
    )


def rank(judgement: Judgement) -> tuple[float, ...]:
    """Sorts passing candidates, the best one largest: by Recall@100 where it was passed on, then by nDCG@10."""
    recall = judgement.gains[RECALL] if judgement.metric == RECALL else -1.0
    return recall, judgement.gains[NDCG]


def confidence(differences: Values, seed: int = 0, *, resamples: int = RESAMPLES) -> float:
    """Share of resampled means above 0: one-sided paired bootstrap. A mean of 0 is no win; 0.0 for no values."""
    values = np.where(np.abs(differences) <= TIE, 0.0, differences)
    moved = np.flatnonzero(values)
    if not len(moved):
        return 0.0
    counts, sums = _counts(len(values), resamples, seed), np.zeros(resamples)
    for start in range(0, len(moved), _AT_ONCE):
        some = moved[start : start + _AT_ONCE]
        sums += values[some] @ counts[some].astype(np.float64)
    return float(np.mean(sums > TIE))


def fallen(candidate: Scores, current: Scores, bar: Bar) -> str | None:
    """The first dev set or slice that falls significantly in nDCG@10 or Recall@100, as a sentence."""
    sets = [("dev set", queries) for queries in bar.dev] if len(bar.dev) > 1 else []
    slices = [("slice", queries) for queries in bar.slices if queries.n >= SLICE_QUERIES]
    for what, queries in (*sets, *slices):
        for metric in (NDCG, RECALL):
            values = _differences(candidate, current, metric, queries.places)
            share = confidence(-values, bar.seed)
            mean = float(np.mean(values))
            if mean <= -LEAST_GAIN + TIE and share >= FALL_CONFIDENCE:
                return f"{what} {queries.name} falls: {metric} {mean:+.4f} over {queries.n} queries ({share:.3f})"
    return None


def judged_warnings(candidate: Scores, current: Scores, places: Places) -> tuple[str, ...]:
    """A warning where one side's first ten are much better judged: its figures are then not comparable."""
    before = float(np.mean(current.at(JUDGED, places)))
    after = float(np.mean(candidate.at(JUDGED, places)))
    if abs(after - before) <= JUDGED_DIFFERENCE + TIE:
        return ()
    direction = "too small" if after < before else "too large"
    counted = "unjudged documents count as not relevant"
    return (f"Judged@10 goes from {before:.3f} to {after:.3f}: {counted}, so the gain may be {direction}",)


def gain_interval(candidate: Scores, current: Scores, metric: Metric, places: Places) -> Interval:
    """Mean of the paired differences with its 95% BCa interval."""
    return mean_interval(_differences(candidate, current, metric, places).tolist())


@dataclass(frozen=True, slots=True)
class PrefixCheck:
    """The first `steps` changes of a path against the baseline, over the held-out queries: the mean difference of one
    metric, its standard error (None below two queries), and whether that is near enough.
    """

    steps: int
    metric: Metric
    difference: float
    error: float | None
    within: bool


@dataclass(frozen=True, slots=True)
class Cut:
    """How many changes of a path stay (`kept` of `of`), and the figures that decided it over `n` held-out queries."""

    kept: int
    of: int
    n: int
    checks: tuple[PrefixCheck, ...]

    @property
    def sentence(self) -> str:
        if not self.of:
            return "no change was kept, so there was nothing to cut"
        if self.n < 2:
            return f"{self.n} held-out queries show nothing, so all {self.of} changes stay"
        if self.kept == self.of:
            return (
                f"all {self.of} changes stay: not more than 1 standard error below the baseline, held-out n = {self.n}"
            )
        return f"cut back to {self.kept} of {self.of} changes: the rest falls below the baseline, held-out n = {self.n}"


def final_cut(baseline: Scores, path: Sequence[Scores], objective: Objective, held_out: Iterable[PlacedQueries]) -> Cut:
    """The longest prefix of a path that is not more than 1 standard error below the baseline on held-out queries.

    Each metric of the objective must hold; Recall@100 as a constraint may fall by TOLERANCE more. With fewer than two
    held-out queries nothing is cut.
    """
    places = pooled(held_out)
    checks: list[PrefixCheck] = []
    for steps in range(len(path), 0, -1):
        here = [_prefix(steps, path[steps - 1], baseline, metric, objective, places) for metric in (NDCG, RECALL)]
        checks += here
        if all(check.within for check in here):
            return Cut(steps, len(path), len(places), tuple(checks))
    return Cut(0, len(path), len(places), tuple(checks))


def _prefix(
    steps: int, scores: Scores, baseline: Scores, metric: Metric, objective: Objective, places: Places
) -> PrefixCheck:
    values = _differences(scores, baseline, metric, places)
    mean = float(np.mean(values)) if len(values) else 0.0
    if len(values) < 2:
        return PrefixCheck(steps, metric, mean, None, within=True)
    error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    allowance = 0.0 if metric in objective.metrics else TOLERANCE
    return PrefixCheck(steps, metric, mean, error, within=mean >= -error - allowance - TIE)


def _too_small(
    metric: Metric, gains: Mapping[Metric, float], shares: Mapping[Metric, float], bar: Bar, n: int
) -> str | None:
    """Why the gain in one metric is not enough."""
    gain, share = gains[metric], shares[metric]
    if bar.rule == "paper":
        return None if gain > TIE else f"{metric} {gain:+.4f}: no gain"
    needed = CONFIDENCE_FEW if n < FEW else CONFIDENCE
    if gain < LEAST_GAIN - TIE:
        return f"{metric} {gain:+.4f}: below {LEAST_GAIN:g}"
    return None if share >= needed else f"{metric} {gain:+.4f}: confidence {share:.3f} is below {needed:g}"


def _other_falls(
    metric: Metric, candidate: Scores, current: Scores, baseline: Scores, bar: Bar, places: Places
) -> str | None:
    """Why the other metric forbids it: it may fall by TOLERANCE against the current program and the baseline.

    The paper's rule is lexicographic and no more: a gain in nDCG@10 counts where Recall@100 does not fall at all, and
    where Recall@100 is no part of the objective nothing is asked of it.
    """
    other = NDCG if metric == RECALL else RECALL
    if bar.rule == "paper":
        if metric == RECALL or bar.objective.aim == "ndcg":
            return None
        fall = float(np.mean(_differences(candidate, current, other, places)))
        return None if fall >= -TIE else f"{metric} is gained, but {other} falls by {-fall:.4f}"
    for against, scores in (("the current program", current), ("the baseline", baseline)):
        fall = float(np.mean(_differences(candidate, scores, other, places)))
        if fall < -TOLERANCE - TIE:
            return f"{metric} is gained, but {other} falls by {-fall:.4f} against {against}, more than {TOLERANCE:g}"
        if other == RECALL:
            share = confidence(_differences(candidate, scores, RECALL, places) + TOLERANCE, bar.seed)
            if share < RECALL_CONFIDENCE:
                return f"{metric} is gained, but {RECALL} holds against {against} with confidence {share:.3f} only"
    return None


def _differences(after: Scores, before: Scores, metric: Metric, places: Places) -> Values:
    values: Values = after.at(metric, places) - before.at(metric, places)
    return values


@lru_cache(maxsize=16)
def _counts(n: int, resamples: int, seed: int) -> npt.NDArray[np.uint8]:
    """A row a value: how often it is drawn in each resample. Drawn once, the same for all candidates.

    Counts fit a byte: 256 draws of one value in n have a probability below 1e-500 (n of 256 and more).
    """
    generator = np.random.default_rng([seed, n])
    counts = np.empty((resamples, n), dtype=np.uint8)
    block = max(1, 1_000_000 // n)
    for start in range(0, resamples, block):
        rows = min(block, resamples - start)
        drawn = generator.integers(0, n, size=(rows, n)) + np.arange(rows)[:, None] * n
        counts[start : start + rows] = np.bincount(drawn.ravel(), minlength=rows * n).reshape(rows, n)
    return np.ascontiguousarray(counts.T)
