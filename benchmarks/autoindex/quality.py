"""The tables and bars of what a search finds, against the baseline and against the best single change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, median

from benchmarks.autoindex.measuring import Measured
from benchmarks.autoindex.searches import Searched
from benchmarks.autoindex.summary import mean_by_seed, over_seeds, without_best
from benchmarks.report import Bar, Figures, Report, Value
from idxopt.evaluation.metrics import Metric
from idxopt.optimizer.ports import JUDGED, METRICS, NDCG, RECALL

RECALL_FALL = -0.003
MOST_LOSSES = 3
MEDIAN_GAIN, GEOMETRIC_GAIN = 0.04, 0.035
PAPER_NDCG, PAPER_RECALL = 0.083, 0.084
SECONDS = 90.0
RECALL_RISES = ("cranfield", "medquad_pages")


def add_quality(report: Report, measured: Sequence[Measured], *, whole: bool) -> None:
    """Against the baseline. `whole`: all collections and seeds are there, so that bars over all of them hold."""
    for metric in METRICS:
        rows = [_metric_row(one, metric) for one in measured]
        report.tables.append(Figures(f"{metric} on the test half, means over seeds, interval over seeds", rows))
    report.tables.append(Figures("searches, means over seeds", [_search_row(one) for one in measured]))
    report.tables.append(Figures("runs, nDCG@10, BCa", [_run_row(run) for one in measured for run in one.searches]))
    for one in measured:
        report.bars.append(Bar(f"{one.name}: change of nDCG@10", _gain(one, NDCG), ">=", 0))
        report.bars.append(Bar(f"{one.name}: change of Recall@100", _gain(one, RECALL), ">=", RECALL_FALL))
        if whole and one.name in RECALL_RISES:
            report.bars.append(Bar(f"{one.name}: Recall@100 is higher", _gain(one, RECALL), ">", 0))
    runs = [run for one in measured for run in one.searches]
    report.bars.append(Bar(f"significant losses in {len(runs)} runs", sum(run.lost for run in runs), "<=", MOST_LOSSES))
    report.bars.append(Bar("seconds a run, as if alone", fmean(run.charged_s for run in runs), "<=", SECONDS))
    _relative(report, measured, runs, whole=whole)


def _relative(report: Report, measured: Sequence[Measured], runs: Sequence[Searched], *, whole: bool) -> None:
    middle = median(run.relative for run in runs)
    geometric = without_best({one.name: _ratio(one, NDCG) for one in measured})
    row: dict[str, Value] = {
        "median over runs": middle,
        "geometric mean without the best": None if math.isnan(geometric) else geometric,
        "mean nDCG@10": fmean(_ratio(one, NDCG) - 1 for one in measured),
        "paper": PAPER_NDCG,
        "mean Recall@100": fmean(_ratio(one, RECALL) - 1 for one in measured),
        "paper ": PAPER_RECALL,
    }
    report.tables.append(Figures("relative gains (the paper: 8 tasks of CRUMB, other collections)", [row]))
    if whole:
        report.bars.append(Bar("relative gain in nDCG@10, median over runs", middle, ">=", MEDIAN_GAIN))
        name = "relative gain, geometric mean without the best collection"
        report.bars.append(Bar(name, geometric, ">=", GEOMETRIC_GAIN))


def add_single(report: Report, measured: Sequence[Measured], *, whole: bool) -> None:
    """Against the best single change that was picked on the queries given to the search."""
    differences = {
        one.name: [run.after(NDCG) - picked.after for run, picked in zip(one.searches, one.picked, strict=True)]
        for one in measured
    }
    rows: list[dict[str, Value]] = []
    for one in measured:
        names = [picked.name for picked in one.picked]
        most = max(sorted(set(names)), key=names.count)
        rows.append(
            {
                "collection": one.name,
                "search": _gain(one, NDCG),
                "single": fmean(picked.after for picked in one.picked)
                - fmean(run.before(NDCG) for run in one.searches),
                **_interval(differences[one.name]),
                "picked most": f"{most} ({names.count(most)} of {len(names)})",
            }
        )
    by_seed = mean_by_seed(differences)
    rows.append({"collection": "all", **_interval(by_seed)})
    report.tables.append(
        Figures("nDCG@10 on the test half: gain of search and of the best single change; difference", rows)
    )
    if whole:
        report.bars.append(Bar("above the best single change, mean nDCG@10", fmean(by_seed), ">", 0))


def _gain(one: Measured, metric: Metric) -> float:
    return fmean(run.gain(metric) for run in one.searches)


def _ratio(one: Measured, metric: Metric) -> float:
    return fmean(run.after(metric) for run in one.searches) / fmean(run.before(metric) for run in one.searches)


def _interval(values: Sequence[float]) -> dict[str, Value]:
    found = over_seeds(values)
    return {"difference": found.mean, "low": found.low, "high": found.high}


def _metric_row(one: Measured, metric: Metric) -> dict[str, Value]:
    row: dict[str, Value] = {
        "collection": one.name,
        "baseline": fmean(run.before(metric) for run in one.searches),
        "found": fmean(run.after(metric) for run in one.searches),
        **_interval([run.gain(metric) for run in one.searches]),
    }
    if metric != JUDGED:
        row["relative"] = _ratio(one, metric) - 1
    return row


def _search_row(one: Measured) -> dict[str, Value]:
    runs = one.searches
    return {
        "collection": one.name,
        "documents": one.documents,
        "queries": one.queries,
        "runs": len(runs),
        "kept something": sum(run.accepted for run in runs),
        "significant losses": sum(run.lost for run in runs),
        "programs": fmean(run.found.evaluations for run in runs),
        "of them new": fmean(run.evaluated for run in runs),
        "s as if alone": fmean(run.charged_s for run in runs),
        "s spent": fmean(run.spent_s for run in runs),
        "s to read": one.setup_s,
    }


def _run_row(run: Searched) -> dict[str, Value]:
    return {
        "collection": run.collection,
        "seed": run.seed,
        "n": len(run.test),
        "baseline": run.before(NDCG),
        "found": run.after(NDCG),
        "difference": run.interval.mean,
        "low": run.interval.low,
        "high": run.interval.high,
        "programs": run.found.evaluations,
        "kept": run.changes,
    }
