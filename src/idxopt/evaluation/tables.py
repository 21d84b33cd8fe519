"""Evaluations and comparisons as rich tables and as JSON.

Every figure comes with its interval and n (contract 10); every meaning is in words or ASCII signs, none in colour.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rich.markup import escape
from rich.table import Table

from idxopt.evaluation.bootstrap import Interval
from idxopt.evaluation.comparison import Comparison, Evaluation, MetricComparison, QueryDifference
from idxopt.evaluation.metrics import Metric
from idxopt.evaluation.power import Detectable, smallest_detectable

BAR_HEADING = "+ win = tie - loss"
BAR_WIDTH = 20
"""Characters of a wins/ties/losses bar."""
_QUERY_WIDTH = 60


def evaluation_table(*evaluations: Evaluation) -> Table:
    """A line a metric, a column an evaluation: mean and 95% interval."""
    table = Table(title="Means with 95% intervals (BCa bootstrap)", title_justify="left")
    table.add_column("metric")
    for evaluation in evaluations:
        table.add_column(f"{escape(evaluation.label)} (n = {evaluation.n})", justify="right")
    for metric in _metrics(evaluations):
        cells = [
            _figure(evaluation.results[metric].interval) if metric in evaluation.results else "-"
            for evaluation in evaluations
        ]
        table.add_row(str(metric), *cells)
    return table


def evaluation_notes(evaluation: Evaluation) -> list[str]:
    """What was counted as 0 and what was left out, a sentence each; empty where there is nothing to say."""
    few = evaluation.n == 1
    counts = (
        (len(evaluation.empty), "found nothing: counted as 0 in every mean"),
        (evaluation.without_relevant, "with no relevant document: counted, and cannot score"),
        (evaluation.unjudged, "without judgments: left out"),
        (evaluation.unknown, "judged, but not among the queries: left out"),
    )
    notes = [f"{count} {'query' if count == 1 else 'queries'} {what}" for count, what in counts if count]
    return [*notes, "one query gives no interval"] if few else notes


def detectable_note(evaluation: Evaluation) -> str | None:
    """What these queries can show at all, by metric; None where nothing can be said."""
    found = _detectable(evaluation)
    parts = [
        f"{metric} {f'{one.difference:.3f}' if one.difference <= 1 else 'none'}"
        for metric, one in found.items()
        if one is not None
    ]
    if not parts:
        return None
    return (
        f"smallest detectable difference with n = {evaluation.n} (paired, two-sided .05, power .8, "
        f"deviation as in the values): {', '.join(parts)}"
    )


def comparison_table(comparison: Comparison) -> Table:
    """A line a metric: both means, the paired difference with its interval, wins, ties and losses of B."""
    table = Table(
        title=f"B = {escape(comparison.label_b)} against A = {escape(comparison.label_a)}, "
        f"n = {comparison.n} shared judged queries",
        title_justify="left",
    )
    for heading in ("metric", "A", "B", "B - A\n[95% interval]"):
        table.add_column(heading, justify="left" if heading == "metric" else "right")
    table.add_column("B is")
    table.add_column("wins / ties /\nlosses of B", justify="right")
    table.add_column(BAR_HEADING)
    for compared in comparison.metrics:
        table.add_row(
            str(compared.metric),
            _number(compared.mean_a),
            _number(compared.mean_b),
            _figure(compared.difference, signed=True),
            compared.finding,
            f"{compared.wins} / {compared.ties} / {compared.losses}",
            wins_bar(compared),
        )
    return table


def comparison_notes(comparison: Comparison) -> list[str]:
    """Where the two evaluations do not rest on the same queries or judgments; empty where they do."""
    notes = []
    if comparison.only_a or comparison.only_b:
        notes.append(
            f"the query sets differ: {comparison.only_a} only in A and {comparison.only_b} only in B are left out, "
            f"so the means here may differ from each one's own"
        )
    if not comparison.same_judgments:
        notes.append("the judgments differ between A and B")
    return notes


def wins_bar(compared: MetricComparison, width: int = BAR_WIDTH) -> str:
    """`+++++===--`: the shares of wins, ties and losses; each kind that occurs shows at least once."""
    counts = {"+": compared.wins, "=": compared.ties, "-": compared.losses}
    total = sum(counts.values())
    exact = {sign: count * width / total for sign, count in counts.items()}
    shown = {sign: max(int(share), 1 if counts[sign] else 0) for sign, share in exact.items()}
    while sum(shown.values()) != width:
        step = 1 if sum(shown.values()) < width else -1
        candidates = [sign for sign in counts if counts[sign] and shown[sign] + step >= 1]
        sign = max(candidates, key=lambda sign: step * (exact[sign] - shown[sign]))
        shown[sign] += step
    return "".join(sign * length for sign, length in shown.items())


def query_table(compared: MetricComparison, limit: int = 10) -> Table:
    """The queries with the largest gains and the largest losses of B, at most `limit` of each."""
    table = Table(title=f"{compared.metric}: largest differences by query", title_justify="left")
    table.add_column("")
    table.add_column("query", overflow="fold")
    for heading in ("A", "B", "B - A"):
        table.add_column(heading, justify="right")
    gains = [query for query in compared.queries if query.difference > 0][:limit]
    losses = [query for query in compared.queries if query.difference < 0][-limit:]
    for query in (*gains, *losses):
        table.add_row("win" if query.difference > 0 else "loss", *_query_cells(query))
    return table


def evaluation_json(evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation as JSON values; keys stay, figures are not rounded."""
    detectable = _detectable(evaluation)
    return {
        "label": evaluation.label,
        "n": evaluation.n,
        "found_nothing": list(evaluation.empty),
        "without_relevant": evaluation.without_relevant,
        "unjudged": evaluation.unjudged,
        "synthetic": evaluation.synthetic,
        "judged_but_unknown": evaluation.unknown,
        "metrics": {
            str(metric): {
                **_interval_json(result.interval),
                "smallest_detectable": _detectable_json(detectable[metric]),
                "per_query": dict(result.per_query),
            }
            for metric, result in evaluation.results.items()
        },
    }


def comparison_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON values; differences are b - a."""
    return {
        "a": comparison.label_a,
        "b": comparison.label_b,
        "n": comparison.n,
        "only_a": comparison.only_a,
        "only_b": comparison.only_b,
        "same_judgments": comparison.same_judgments,
        "synthetic": comparison.synthetic,
        "metrics": {str(compared.metric): _compared_json(compared) for compared in comparison.metrics},
    }


def _compared_json(compared: MetricComparison) -> dict[str, Any]:
    return {
        "mean_a": compared.mean_a,
        "mean_b": compared.mean_b,
        "difference": _interval_json(compared.difference),
        "smallest_detectable": _detectable_json(
            smallest_detectable([query.difference for query in compared.queries], "differences")
        ),
        "finding": compared.finding,
        "wins": compared.wins,
        "ties": compared.ties,
        "losses": compared.losses,
        "queries": [
            {"query": query.query_id, "text": query.text, "a": query.a, "b": query.b, "difference": query.difference}
            for query in compared.queries
        ],
    }


def _detectable(evaluation: Evaluation) -> dict[Metric, Detectable | None]:
    return {
        metric: smallest_detectable(list(result.per_query.values()), "values")
        for metric, result in evaluation.results.items()
    }


def _detectable_json(detectable: Detectable | None) -> dict[str, Any] | None:
    return None if detectable is None else asdict(detectable)


def _interval_json(interval: Interval) -> dict[str, Any]:
    return {
        "mean": interval.mean,
        "low": interval.low,
        "high": interval.high,
        "level": interval.level,
        "n": interval.n,
        "method": interval.method,
    }


def _metrics(evaluations: Sequence[Evaluation]) -> list[Metric]:
    return list(dict.fromkeys(metric for evaluation in evaluations for metric in evaluation.results))


def _number(value: float, *, signed: bool = False) -> str:
    return f"{value:+.3f}" if signed else f"{value:.3f}"


def _figure(interval: Interval, *, signed: bool = False) -> str:
    mean = _number(interval.mean, signed=signed)
    if interval.low is None or interval.high is None:
        return f"{mean} (no interval)"
    ends = f"{_number(interval.low, signed=signed)}, {_number(interval.high, signed=signed)}"
    return escape(f"{mean} [{ends}]")


def _query_cells(query: QueryDifference) -> tuple[str, str, str, str]:
    text = query.text if len(query.text) <= _QUERY_WIDTH else query.text[: _QUERY_WIDTH - 3] + "..."
    named = text if text == query.query_id else f"{query.query_id}: {text}"
    return escape(named), _number(query.a), _number(query.b), _number(query.difference, signed=True)
