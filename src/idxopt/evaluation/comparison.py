"""Evaluating runs, comparing two evaluations query by query, and the decisions that gates take."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from idxopt.errors import EvaluationError, IdxoptError, UsageError
from idxopt.evaluation.bootstrap import Interval, mean_interval, one_sided_bounds
from idxopt.evaluation.judgments import JudgedQueries, Query, Ranking, Run
from idxopt.evaluation.metrics import DEFAULT_METRICS, Metric, parse_metric, per_query_values
from idxopt.hashing import text_digest

TIE = 1e-9
"""Two values of one query that differ by no more are a tie."""
DEFAULT_MARGIN = 0.02
"""How much worse the new build may be in the mean of the metric before the gate calls it worse."""


@dataclass(frozen=True)
class MetricResult:
    """One metric: its value for every judged query (by id) and its mean with a 95% interval."""

    per_query: Mapping[str, float]
    interval: Interval


@dataclass(frozen=True)
class Evaluation:
    """The figures of one run, with everything that was left out of them.

    `judgments`: a digest of them, to notice when two evaluations rest on different ones.
    `empty`: judged queries that found nothing; they count 0 and are part of every mean.
    `unjudged`: queries without judgments, `unknown`: judged ids that are no query; neither is part of any mean.
    `without_relevant`: judged queries whose grades are all 0; they are part of every mean and cannot score.
    `synthetic`: how judgments that nobody gave were made.
    """

    label: str
    results: Mapping[Metric, MetricResult]
    texts: Mapping[str, str]
    judgments: str
    empty: tuple[str, ...]
    unjudged: int
    unknown: int
    without_relevant: int
    synthetic: str | None = None

    @property
    def synthetic_note(self) -> str | None:
        """As in JudgedQueries."""
        return None if self.synthetic is None else f"synthetic judgments ({self.synthetic})"

    @property
    def n(self) -> int:
        """Judged queries behind every mean."""
        return len(self.texts)

    def mean(self, metric: Metric | str) -> float:
        """Mean of one metric. Raises EvaluationError where it was not computed."""
        return self.result(metric).interval.mean

    def result(self, metric: Metric | str) -> MetricResult:
        """Values of one metric. Raises EvaluationError where it was not computed."""
        wanted = parse_metric(metric) if isinstance(metric, str) else metric
        if wanted not in self.results:
            raise EvaluationError(
                f"{wanted} was not computed for {self.label}",
                remedy=f"ask for it when evaluating; computed: {', '.join(map(str, self.results))}",
            )
        return self.results[wanted]


def answer_queries(queries: Iterable[Query], search: Callable[[Query], Ranking]) -> dict[str, Ranking]:
    """Ask every query. Raises EvaluationError naming the first query that fails: a failure is never a zero."""
    run: dict[str, Ranking] = {}
    for query in queries:
        try:
            run[query.id] = search(query)
        except IdxoptError as error:
            raise failed_query(query, error.message) from error
    return run


def failed_query(query: Query, cause: str) -> EvaluationError:
    """The error for a query that could not be answered."""
    return EvaluationError(
        f"query {query.id!r} ({query.text[:80]!r}) failed: {cause}",
        remedy="remove the cause and evaluate again; no mean is printed, since a failed query is no zero",
    )


def evaluate_run(
    run: Run,
    judged: JudgedQueries,
    metrics: Sequence[Metric] = DEFAULT_METRICS,
    *,
    label: str = "run",
    failures: Mapping[str, str] | None = None,
) -> Evaluation:
    """Metrics of a run over the judged queries, each mean with its BCa interval.

    `failures` (query id -> cause) holds queries that failed or timed out. Raises EvaluationError where there is
    any, where no query is judged, and where a ranking holds a document twice.
    """
    texts = {query.id: query.text for query in judged.queries}
    for query_id, cause in sorted((failures or {}).items()):
        raise failed_query(Query(query_id, texts.get(query_id, "")), cause)
    if not texts:
        raise EvaluationError("no query is judged", remedy="give judgments for the queries")
    values = per_query_values(run, judged.qrels, metrics)
    return Evaluation(
        label=label,
        results={
            metric: MetricResult(by_query, mean_interval(list(by_query.values())))
            for metric, by_query in values.items()
        },
        texts=texts,
        judgments=text_digest(
            repr(sorted((query_id, sorted(graded.items())) for query_id, graded in judged.qrels.items()))
        ),
        empty=tuple(query_id for query_id in texts if not run.get(query_id)),
        unjudged=len(judged.unjudged | (run.keys() - texts.keys())),
        unknown=len(judged.unknown),
        without_relevant=sum(max(graded.values()) <= 0 for graded in judged.qrels.values()),
        synthetic=judged.synthetic,
    )


@dataclass(frozen=True, slots=True)
class QueryDifference:
    """One query in both evaluations; `difference` is b - a."""

    query_id: str
    text: str
    a: float
    b: float

    @property
    def difference(self) -> float:
        return self.b - self.a


@dataclass(frozen=True)
class MetricComparison:
    """One metric over the shared queries: means, mean difference b - a with its interval, and every query.

    `queries` is sorted from the largest gain of b to its largest loss, ties by query id.
    """

    metric: Metric
    mean_a: float
    mean_b: float
    difference: Interval
    queries: tuple[QueryDifference, ...]

    @property
    def wins(self) -> int:
        return sum(query.difference > TIE for query in self.queries)

    @property
    def losses(self) -> int:
        return sum(query.difference < -TIE for query in self.queries)

    @property
    def ties(self) -> int:
        return len(self.queries) - self.wins - self.losses

    @property
    def finding(self) -> Literal["better", "worse", "no clear difference"]:
        """b against a: better or worse only where the 95% interval of the difference leaves out 0."""
        low, high = self.difference.low, self.difference.high
        if low is not None and low > 0:
            return "better"
        return "worse" if high is not None and high < 0 else "no clear difference"


@dataclass(frozen=True)
class Comparison:
    """b against a over the `n` judged queries that both have."""

    label_a: str
    label_b: str
    n: int
    only_a: int
    only_b: int
    same_judgments: bool
    metrics: tuple[MetricComparison, ...]
    synthetic: str | None = None

    def metric(self, metric: Metric | str) -> MetricComparison:
        """One metric's comparison. Raises EvaluationError where it is not part of it."""
        wanted = parse_metric(metric) if isinstance(metric, str) else metric
        found = next((compared for compared in self.metrics if compared.metric == wanted), None)
        if found is None:
            raise EvaluationError(f"{wanted} was not compared", remedy="ask for it when evaluating both")
        return found


def compare(a: Evaluation, b: Evaluation) -> Comparison:
    """Paired comparison of b against a. Raises EvaluationError where they share no judged query or no metric."""
    shared = sorted(a.texts.keys() & b.texts.keys())
    metrics = [metric for metric in a.results if metric in b.results]
    if not shared:
        raise EvaluationError(
            f"{a.label} and {b.label} share no judged query", remedy="evaluate both on the same queries and judgments"
        )
    if not metrics:
        raise EvaluationError(f"{a.label} and {b.label} share no metric", remedy="evaluate both with the same metrics")
    return Comparison(
        label_a=a.label,
        label_b=b.label,
        n=len(shared),
        only_a=len(a.texts.keys() - b.texts.keys()),
        only_b=len(b.texts.keys() - a.texts.keys()),
        same_judgments=a.judgments == b.judgments,
        metrics=tuple(_compare_metric(metric, a, b, shared) for metric in metrics),
        synthetic=a.synthetic or b.synthetic,
    )


def _compare_metric(metric: Metric, a: Evaluation, b: Evaluation, shared: Sequence[str]) -> MetricComparison:
    in_a, in_b = a.results[metric].per_query, b.results[metric].per_query
    queries = [QueryDifference(query_id, a.texts[query_id], in_a[query_id], in_b[query_id]) for query_id in shared]
    return MetricComparison(
        metric=metric,
        mean_a=sum(query.a for query in queries) / len(queries),
        mean_b=sum(query.b for query in queries) / len(queries),
        difference=mean_interval([query.difference for query in queries]),
        queries=tuple(sorted(queries, key=lambda query: (-query.difference, query.query_id))),
    )


@dataclass(frozen=True)
class Verdict:
    """Whether a new build is not worse than the live one by more than `margin` in the mean of `metric`.

    `lower` and `upper` are the one-sided 95% bounds of new - live; None below two queries.
    """

    outcome: Literal["passed", "failed", "undecided"]
    metric: Metric
    n: int
    difference: float
    lower: float | None
    upper: float | None
    margin: float

    def __str__(self) -> str:
        bounds = "no bounds" if self.lower is None else f"95% bounds {self.lower:+.4f} and {self.upper:+.4f}"
        return (
            f"{self.metric} {self.outcome}: new - live {self.difference:+.4f}, {bounds}, "
            f"allowed -{self.margin:g}, n = {self.n}"
        )


def non_inferior(
    new: Evaluation, live: Evaluation, metric: Metric | str, margin: float = DEFAULT_MARGIN, level: float = 0.95
) -> Verdict:
    """Non-inferiority over the shared judged queries.

    Passed when the one-sided lower bound of new - live is at least -margin, failed when the upper bound is below
    -margin, undecided otherwise. Raises EvaluationError for missing metrics or queries, UsageError for the margin.
    """
    if not 0 <= margin <= 1:
        raise UsageError(f"the margin {margin:g} is out of range", remedy="use a number from 0 to 1, such as .02")
    wanted = parse_metric(metric) if isinstance(metric, str) else metric
    in_new, in_live = new.result(wanted).per_query, live.result(wanted).per_query
    shared = sorted(new.texts.keys() & live.texts.keys())
    if not shared:
        raise EvaluationError("the builds share no judged query", remedy="evaluate both on the same queries")
    differences = [in_new[query_id] - in_live[query_id] for query_id in shared]
    bounds = one_sided_bounds(differences, level=level)
    lower, upper = bounds.low, bounds.high
    outcome: Literal["passed", "failed", "undecided"] = "undecided"
    if lower is not None and lower >= -margin - TIE:
        outcome = "passed"
    elif upper is not None and upper < -margin - TIE:
        outcome = "failed"
    return Verdict(outcome, wanted, bounds.n, bounds.mean, lower, upper, margin)


_BOUNDS: dict[str, Callable[[float, float], bool]] = {">=": operator.ge, ">": operator.gt}
_REQUIREMENT = re.compile(r"(.+?)\s*(>=|>)\s*([0-9]*\.?[0-9]+)", re.ASCII)


@dataclass(frozen=True)
class Requirement:
    """A minimum for the mean of a metric, such as `nDCG@10>=.4`."""

    metric: Metric
    bound: str
    minimum: float

    def met(self, evaluation: Evaluation) -> bool:
        """Raises EvaluationError where the metric was not computed."""
        return _BOUNDS[self.bound](evaluation.mean(self.metric), self.minimum)

    def __str__(self) -> str:
        return f"{self.metric}{self.bound}{self.minimum:g}"


def parse_requirement(text: str) -> Requirement:
    """Read `METRIC>=NUMBER` (or `>`), the number from 0 to 1. Raises UsageError."""
    found = _REQUIREMENT.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text!r} is no requirement", remedy="write it like nDCG@10>=.4 (in quotes, for the shell)")
    minimum = float(found[3])
    if minimum > 1:
        raise UsageError(f"the minimum in {text!r} is above 1", remedy="metrics go from 0 to 1: write .4 for 40%")
    return Requirement(parse_metric(found[1]), found[2], minimum)
