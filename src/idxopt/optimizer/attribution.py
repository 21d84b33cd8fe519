"""What each accepted change is worth: the winner without it, and what its kind did over all trials.

A change is left out by applying all others to the baseline again. Edits that name steps by number are moved to the same
steps of the shorter path; a later change that edits what the missing one made is dropped with it, and named.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from idxopt.errors import EvaluationError, ProgramError
from idxopt.evaluation.bootstrap import Interval, mean_interval
from idxopt.evaluation.metrics import Metric
from idxopt.optimizer.edits import Edit, edited
from idxopt.optimizer.ports import METRICS, Evaluator, Outcome, Scores
from idxopt.optimizer.record import Attribution, Effect
from idxopt.optimizer.renumbering import Named, moved_along
from idxopt.program.schema import Program


@dataclass(frozen=True, slots=True)
class Accepted:
    """One accepted change: its edits to the program that stood when it was accepted. Names tell changes apart."""

    name: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The winner without one change. `losses`: winner minus that, paired over the queries, with BCa intervals.

    `dropped`: later changes that depend on it and left with it. `rows`, `bytes`: what the winner has more.
    """

    name: str
    dropped: tuple[str, ...]
    program: Program
    losses: Mapping[Metric, Interval]
    rows: int
    bytes: int

    def recorded(self, metric: Metric) -> Attribution:
        """As a study records it, of one metric; the step names what left with it."""
        step = f"{self.name} (with {', '.join(self.dropped)})" if self.dropped else self.name
        return Attribution(step, self.losses[metric], self.rows, self.bytes)


def leave_one_out(
    evaluator: Evaluator,
    baseline: Program,
    path: Sequence[Accepted],
    places: npt.NDArray[np.int64],
    metrics: Sequence[Metric] = METRICS,
) -> tuple[LeftOut, ...]:
    """Every change of the path left out in turn, scored over the queries at `places`.

    Raises EvaluationError without queries, ProgramError for a path that does not fit the baseline, and what the
    evaluator raises.
    """
    if not len(places):
        raise EvaluationError("there is no query to judge changes by", remedy="give the places of some queries")
    winner = evaluator.scores(without(baseline, path, None)[0])
    found: list[LeftOut] = []
    for number, change in enumerate(path):
        program, dropped = without(baseline, path, number)
        scores = evaluator.scores(program)
        found.append(
            LeftOut(
                change.name,
                tuple(path[other].name for other in dropped),
                program,
                {metric: _loss(winner, scores, metric, places) for metric in metrics},
                winner.size.rows - scores.size.rows,
                winner.size.bytes - scores.size.bytes,
            )
        )
    return tuple(found)


def effects(outcomes: Iterable[Outcome]) -> tuple[Effect, ...]:
    """The mean gain of each kind of change over its trials, the best first; each is one change against the program that
    it would have replaced, over the same queries. Trials without a gain (invalid, failed) take no part.
    """
    gains: defaultdict[str, list[float]] = defaultdict(list)
    kept: defaultdict[str, int] = defaultdict(int)
    for outcome in outcomes:
        proposal = outcome.candidate.proposal
        if proposal is not None and outcome.gain is not None:
            gains[proposal.kind].append(outcome.gain)
            kept[proposal.kind] += outcome.status == "kept"
    found = [Effect(kind, mean_interval(values), kept[kind]) for kind, values in gains.items()]
    return tuple(sorted(found, key=lambda effect: (-effect.gain.mean, effect.kind)))


def without(baseline: Program, path: Sequence[Accepted], left_out: int | None) -> tuple[Program, tuple[int, ...]]:
    """The program of the path without one change (None: the whole path), and the later changes that left with it.

    Raises ProgramError where the path itself does not fit.
    """
    whole, shorter = Named.of(baseline), Named.of(baseline)
    full = program = baseline
    dropped: list[int] = []
    for number, change in enumerate(path):
        full = edited(full, change.edits)
        after = shorter.copy()
        moved = moved_along(change.edits, number, whole, after)
        if number == left_out:
            continue
        try:
            if moved is None:
                raise ProgramError("what it edits is not there", place=change.name)
            program, shorter = edited(program, moved), after
        except ProgramError:
            dropped.append(number)
    return program, tuple(dropped)


def _loss(winner: Scores, other: Scores, metric: Metric, places: npt.NDArray[np.int64]) -> Interval:
    return mean_interval((winner.at(metric, places) - other.at(metric, places)).tolist())
