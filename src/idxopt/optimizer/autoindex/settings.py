"""The settings of a search, and what it hands out: rounds, steps of the path, the program it found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from idxopt.errors import UsageError
from idxopt.evaluation.bootstrap import Interval
from idxopt.evaluation.metrics import Metric
from idxopt.optimizer.autoindex.acceptance import Cut, Judgement, Limits, Objective, Rule
from idxopt.optimizer.ports import Candidate, Outcome, Proposal, Scores, Size
from idxopt.optimizer.splits import PlacedQueries

MOST_ROUNDS, MOST_ROUNDS_LARGE, LARGE = 20, 10, 10_000_000
"""K of the paper; above LARGE documents half of it."""
MOST_CANDIDATES = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSettings:
    """How long a search goes on, and what it keeps.

    `rounds`: K; `candidates`: n of each round; `evaluations`: programs scored at most, the baseline not counted;
    `patience`: rounds without a kept change before it ends; `merge`: further passing candidates of a round are tried
    on top of the best. Limits as in acceptance.Limits. Raises UsageError for what is out of range.
    """

    rounds: int = MOST_ROUNDS
    candidates: int = 4
    evaluations: int | None = None
    patience: int = 5
    rule: Rule = "guarded"
    objective: Literal["auto", "recall", "ndcg"] = "auto"
    merge: bool = True
    max_views: int | None = None
    max_rows: int | None = None
    max_bytes: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name, value, most in (
            ("rounds", self.rounds, MOST_ROUNDS),
            ("candidates", self.candidates, MOST_CANDIDATES),
            ("patience", self.patience, None),
            ("evaluations", self.evaluations, None),
            ("max_views", self.max_views, None),
            ("max_rows", self.max_rows, None),
            ("max_bytes", self.max_bytes, None),
        ):
            if value is not None and (value < 1 or (most is not None and value > most)):
                allowed = f"1 to {most}" if most is not None else "1 or more"
                raise UsageError(f"{name} = {value} is out of range", remedy=f"use {allowed}")
        if not 0 <= self.seed < 2**63:
            raise UsageError(f"seed = {self.seed} is out of range", remedy="use 0 or more, below 2^63")

    @property
    def limits(self) -> Limits:
        return Limits(self.max_views, self.max_rows, self.max_bytes)

    def rounds_for(self, documents: int) -> int:
        """K for a corpus of so many documents."""
        return min(self.rounds, MOST_ROUNDS_LARGE if documents > LARGE else MOST_ROUNDS)


@dataclass(frozen=True, slots=True)
class PathStep:
    """One kept change. `gain`: mean of the paired differences to the program before, over all dev queries, of the
    metric that it passed on, with its BCa interval; `gains`: the mean differences of all metrics. `merged`: it passed
    in its round, and passed again on top of the round's best.
    """

    candidate: Candidate
    proposal: Proposal
    round: int
    metric: Metric
    gain: Interval
    confidence: float
    gains: Mapping[Metric, float]
    before: Size
    after: Size
    scores: Scores
    merged: bool = False
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RoundRecord:
    """What one report of scores led to. A round has one record for its proposals and one for each merge.

    `outcomes`: of the candidates reported, and before them of proposals that were dropped unscored; `judgements` by
    program hash, of those that were scored; `kept`: the step added to the path. `complete`: the round is over.
    """

    round: int
    stage: Literal["proposals", "merge"]
    outcomes: tuple[Outcome, ...]
    judgements: Mapping[str, Judgement]
    kept: PathStep | None
    complete: bool


@dataclass(frozen=True, slots=True)
class Found:
    """The end of a search. `path`: all kept changes, of which the first `cut.kept` stay; `program` is the last of
    these, or the baseline. `ended`: why the search stopped, a sentence. `held_out`: the queries that decided the cut,
    now open; `differences`: program against baseline on them, by metric (none where there are no held-out queries).
    """

    baseline: Candidate
    program: Candidate
    scores: Scores
    path: tuple[PathStep, ...]
    cut: Cut
    objective: Objective
    outcomes: tuple[Outcome, ...]
    evaluations: int
    rounds: int
    ended: str
    held_out: tuple[PlacedQueries, ...]
    differences: Mapping[Metric, Interval]
