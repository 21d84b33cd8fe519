"""The tables and bars of controls: random proposals, few dev queries, changes left out."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from benchmarks.autoindex.measuring import DEV_QUERIES, Measured
from benchmarks.autoindex.quality import MOST_LOSSES
from benchmarks.autoindex.summary import wins
from benchmarks.report import Bar, Figures, Report, Value
from idxopt.optimizer.ports import NDCG, RECALL

WON = 0.70
LEAST_ACCEPTED = {"medquad_pages": 0.8, "covidqa_docs": 0.8, "awsdocs_small": 0.4}


def add_random(report: Report, measured: Sequence[Measured], *, whole: bool) -> None:
    """The heuristic proposer against random ones with as many evaluations."""
    rows: list[dict[str, Value]] = []
    pairs = {
        one.name: [(run.after(NDCG), other.after(NDCG)) for run, other in zip(one.searches, one.controls, strict=True)]
        for one in measured
    }
    for one in measured:
        found = wins(pairs[one.name])
        rows.append(
            {
                "collection": one.name,
                "heuristic": fmean(run.gain(NDCG) for run in one.searches),
                "random": fmean(run.gain(NDCG) for run in one.controls),
                "won": found.won,
                "lost": found.lost,
                "equal": found.equal,
                "random kept something": sum(run.accepted for run in one.controls),
                "random lost significantly": sum(run.lost for run in one.controls),
                "programs": fmean(run.found.evaluations for run in one.searches),
                "random programs": fmean(run.found.evaluations for run in one.controls),
            }
        )
    every = wins([pair for of in pairs.values() for pair in of])
    rows.append({"collection": "all", "won": every.won, "lost": every.lost, "equal": every.equal})
    report.tables.append(Figures("random proposals, gain in nDCG@10 on the test half", rows))
    if whole:
        report.bars.append(Bar("share of decided pairs won against random proposals", every.share, ">=", WON))


def add_power(report: Report, measured: Sequence[Measured], *, whole: bool) -> None:
    """Few dev queries: does the rule keep what is no gain, and does it still find what is one?"""
    rows: list[dict[str, Value]] = []
    for one in measured:
        for rule, runs in one.draws.items():
            rows.append(
                {
                    "collection": one.name,
                    "rule": rule,
                    "draws": len(runs),
                    "kept something": fmean(run.accepted for run in runs),
                    "significant losses": sum(run.lost for run in runs),
                    "below the baseline": sum(run.gain(NDCG) < 0 for run in runs),
                    "nDCG@10": fmean(run.gain(NDCG) for run in runs),
                    "Recall@100": fmean(run.gain(RECALL) for run in runs),
                    "programs": fmean(run.found.evaluations for run in runs),
                }
            )
    report.tables.append(
        Figures(f"{DEV_QUERIES} dev queries: changes on all queries that the search did not get", rows)
    )
    guarded = [run for one in measured for run in one.draws["guarded"]]
    name = f"significant losses in {len(guarded)} draws of {DEV_QUERIES} dev queries"
    report.bars.append(Bar(name, sum(run.lost for run in guarded), "<=", MOST_LOSSES))
    for one in measured:
        if whole and one.name in LEAST_ACCEPTED:
            share = fmean(run.accepted for run in one.draws["guarded"])
            report.bars.append(Bar(f"{one.name}: draws that keep something", share, ">=", LEAST_ACCEPTED[one.name]))


def add_attribution(report: Report, measured: Sequence[Measured]) -> None:
    """One winner a collection without each of its changes."""
    rows: list[dict[str, Value]] = []
    for one in measured:
        for step in one.steps:
            loss, recall = step.losses[NDCG], step.losses[RECALL]
            rows.append(
                {
                    "collection": one.name,
                    "seed": one.attributed,
                    "change": step.name + (f" (with {', '.join(step.dropped)})" if step.dropped else ""),
                    "nDCG@10": loss.mean,
                    "low": loss.low,
                    "high": loss.high,
                    "Recall@100": recall.mean,
                    "rows": step.rows,
                    "MB": round(step.bytes / 1e6, 2),
                    "p95 ms": round(step.p95_ms, 2),
                }
            )
    report.tables.append(Figures("what each change is worth: the winner minus the winner without it, test half", rows))
