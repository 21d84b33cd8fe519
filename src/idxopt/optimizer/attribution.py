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
from idxopt.optimizer.edits import (
    AddStep,
    AddView,
    Edit,
    LeaveField,
    RemoveStep,
    RemoveView,
    ReplaceStep,
    SearchField,
    SetFusion,
    edited,
)
from idxopt.optimizer.ports import METRICS, Evaluator, Outcome, Scores
from idxopt.optimizer.record import Attribution, Effect
from idxopt.program.schema import Program, View

StepId = tuple[int, int]
"""The change (-1: the baseline) and the edit that added a step; a step that came with a view has -1 - its number."""


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
    whole, shorter = _Names.of(baseline), _Names.of(baseline)
    full = program = baseline
    dropped: list[int] = []
    for number, change in enumerate(path):
        full = edited(full, change.edits)
        after = shorter.copy()
        moved = _moved_along(change.edits, number, whole, after)
        if number == left_out:
            continue
        try:
            if moved is None:
                raise ProgramError("what it edits is not there", place=change.name)
            program, shorter = edited(program, moved), after
        except ProgramError:
            dropped.append(number)
    return program, tuple(dropped)


@dataclass(frozen=True, slots=True)
class _Names:
    """What edits may name in a program, by view: its steps, whatever their numbers, and its searched fields."""

    steps: dict[str, list[StepId]]
    fields: dict[str, set[str]]

    @classmethod
    def of(cls, program: Program) -> _Names:
        names = cls({}, {})
        for name, view in program.views.items():
            names.add_view(name, view, -1)
        return names

    def copy(self) -> _Names:
        return _Names(
            {view: list(steps) for view, steps in self.steps.items()},
            {view: set(fields) for view, fields in self.fields.items()},
        )

    def add_view(self, name: str, view: View, change: int) -> None:
        self.steps[name] = [(change, -1 - number) for number in range(len(view.steps))]
        self.fields[name] = set(view.lexical.fields) if view.lexical is not None else set()

    def follow(self, edit: Edit, identity: StepId) -> None:
        """What the edit does to the names; the view that it edits must be there."""
        match edit:
            case AddStep():
                steps = self.steps[edit.view]
                steps.insert(len(steps) if edit.before is None else edit.before, identity)
            case RemoveStep():
                del self.steps[edit.view][edit.number]
            case SearchField():
                self.fields[edit.view].add(edit.field)
            case LeaveField():
                self.fields[edit.view].discard(edit.field)
            case AddView():
                self.add_view(edit.name, edit.view, identity[0])
            case RemoveView():
                del self.steps[edit.view], self.fields[edit.view]
            case _:
                pass


def _moved_along(edits: Sequence[Edit], change: int, whole: _Names, shorter: _Names) -> list[Edit] | None:
    """The edits as they do the same on the shorter path, following both; None where what one edits is not there."""
    moved: list[Edit] | None = []
    for place, edit in enumerate(edits):
        there = _moved(edit, whole, shorter) if moved is not None else None
        whole.follow(edit, (change, place))
        if there is None or moved is None:
            moved = None
            continue
        shorter.follow(there, (change, place))
        moved.append(there)
    return moved


def _moved(edit: Edit, whole: _Names, shorter: _Names) -> Edit | None:
    if isinstance(edit, SetFusion | AddView):
        return edit
    if edit.view not in shorter.steps:
        return None
    steps, fields = shorter.steps[edit.view], shorter.fields[edit.view]
    match edit:
        case RemoveStep() | ReplaceStep():
            target = whole.steps[edit.view][edit.number]
            return edit.model_copy(update={"number": steps.index(target)}) if target in steps else None
        case AddStep(before=int() as before):
            following = [steps.index(step) for step in whole.steps[edit.view][before:] if step in steps]
            return edit.model_copy(update={"before": following[0] if following else None})
        case SearchField() | LeaveField():
            lost = edit.field in whole.fields[edit.view] and edit.field not in fields
            return None if lost else edit
        case _:
            return edit


def _loss(winner: Scores, other: Scores, metric: Metric, places: npt.NDArray[np.int64]) -> Interval:
    return mean_interval((winner.at(metric, places) - other.at(metric, places)).tolist())
