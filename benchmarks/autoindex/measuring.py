"""What one collection gives to every part of the benchmark: searches, single changes, controls, attribution."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.autoindex.bench import Bench
from benchmarks.autoindex.searches import Searched, control, few, halves, heuristic
from benchmarks.autoindex.singles import singles
from benchmarks.report import tell
from idxopt.errors import IdxoptError
from idxopt.evaluation.bootstrap import Interval
from idxopt.evaluation.metrics import Metric
from idxopt.optimizer.attribution import Accepted, leave_one_out
from idxopt.optimizer.autoindex.acceptance import Rule
from idxopt.optimizer.ports import METRICS, NDCG, Scores
from idxopt.optimizer.study.latency import embedded_latency
from idxopt.optimizer.study.scores import ScoreStore

Part = Literal["quality", "single", "random", "power", "attribution"]
PARTS: tuple[Part, ...] = ("quality", "single", "random", "power", "attribution")
DEV_QUERIES = 25
RULES: tuple[Rule, ...] = ("guarded", "paper")


@dataclass(frozen=True, slots=True)
class Plan:
    """What is measured. `seeds`: splits in halves; `draws`: splits with few dev queries, of them `paper_draws` also by
    the paper's rule, which goes on three times as long.
    """

    parts: Collection[Part]
    seeds: int
    draws: int
    paper_draws: int
    work: Path


@dataclass(frozen=True, slots=True)
class Picked:
    """The best single change on the queries that a search was given, and its mean nDCG@10 on the test queries."""

    seed: int
    name: str
    after: float


@dataclass(frozen=True, slots=True)
class Step:
    """One change of a winner left out. `losses`: what the winner has more, over the test queries.

    `dropped`: later changes that left with it; `rows`, `bytes`, `p95_ms`: what the winner takes more.
    """

    name: str
    dropped: tuple[str, ...]
    losses: dict[Metric, Interval]
    rows: int
    bytes: int
    p95_ms: float


@dataclass
class Measured:
    """Everything that was measured on one collection; what was not asked for is empty. Lists are in order of seeds."""

    name: str
    documents: int
    queries: int
    setup_s: float
    searches: list[Searched] = field(default_factory=list)
    picked: list[Picked] = field(default_factory=list)
    controls: list[Searched] = field(default_factory=list)
    draws: dict[Rule, list[Searched]] = field(default_factory=dict)
    attributed: int | None = None
    steps: list[Step] = field(default_factory=list)


def measure(name: str, plan: Plan) -> Measured:
    """Raises what reading and scoring raise; a candidate that cannot be scored is an outcome, not an error."""
    store = ScoreStore.open(plan.work / "scores.db")
    try:
        bench = Bench(name, store)
        measured = Measured(name, len(bench.corpus.documents), len(bench.queries), bench.setup_s)
        if set(plan.parts) - {"power"}:
            measured.searches = [_told(heuristic(bench, halves(bench, seed)), "") for seed in range(plan.seeds)]
        if "single" in plan.parts:
            measured.picked = _picked(bench, measured.searches)
        if "random" in plan.parts:
            measured.controls = [
                _told(control(bench, halves(bench, one.seed), one.found.evaluations), "random ")
                for one in measured.searches
            ]
        if "power" in plan.parts:
            for rule in RULES:
                measured.draws[rule] = [
                    _told(heuristic(bench, few(bench, seed, DEV_QUERIES), rule), f"{DEV_QUERIES} dev queries, {rule} ")
                    for seed in range(plan.paper_draws if rule == "paper" else plan.draws)
                ]
        if "attribution" in plan.parts:
            _attribute(bench, measured)
    finally:
        store.close()
    return measured


def _told(one: Searched, what: str) -> Searched:
    tell(
        f"{one.collection:16} {what}seed {one.seed}: nDCG@10 {one.before(NDCG):.3f} {one.gain(NDCG):+.4f},"
        f" {one.found.evaluations} programs ({one.evaluated} new), {one.spent_s:.0f} s: {one.changes}"
    )
    return one


def _picked(bench: Bench, searches: Sequence[Searched]) -> list[Picked]:
    known: dict[str, Scores] = {}
    for name, program in singles().items():
        try:
            known[name] = bench.scores(program)
        except IdxoptError as error:
            tell(f"{bench.name:16} single change {name}: {error}")
    tell(f"{bench.name:16} {len(known)} single changes scored")
    found = []
    for one in searches:
        means = {name: float(np.mean(scores.at(NDCG, one.given))) for name, scores in known.items()}
        best = max(means, key=lambda name: means[name])
        found.append(Picked(one.seed, best, float(np.mean(known[best].at(NDCG, one.test)))))
    return found


def _attribute(bench: Bench, measured: Measured) -> None:
    """The first search that kept something: each of its changes left out, over its test queries."""
    one = next((one for one in measured.searches if one.accepted), None)
    if one is None:
        return
    measured.attributed = one.seed
    path = [
        Accepted(f"{number} {step.proposal.kind}", step.proposal.edits)
        for number, step in enumerate(one.found.path[: one.found.cut.kept], 1)
    ]
    left = leave_one_out(bench, bench.baseline, path, one.test)
    with embedded_latency(bench.corpus, bench.gathered.queries, bench.gathered.qrels) as p95:
        winner = p95(one.found.program.program)
        measured.steps = [
            Step(
                each.name,
                each.dropped,
                {metric: each.losses[metric] for metric in METRICS},
                each.rows,
                each.bytes,
                winner - p95(each.program),
            )
            for each in left
        ]
    tell(f"{bench.name:16} attribution of seed {one.seed}: {len(path)} changes")
