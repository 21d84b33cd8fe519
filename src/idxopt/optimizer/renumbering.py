"""Edits moved to another program than they were made for: to a path without one of its changes, or to a program that
other changes of the same round went into first. Steps are named by number, and their numbers shift.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
)
from idxopt.program.schema import Program, View

StepId = tuple[int, int]
"""The change (-1: the program at the start) and the edit that added a step; a step that came with a view has -1 - its
number.
"""


def moved_over(start: Program, before: Sequence[Sequence[Edit]], edits: Sequence[Edit]) -> tuple[Edit, ...] | None:
    """Edits that fit `start`, as they do the same after other changes to it, which must fit one after the other; None
    where one of those took away what they edit.
    """
    whole, other = Named.of(start), Named.of(start)
    for change, others in enumerate(before):
        for place, edit in enumerate(others):
            other.follow(edit, (change, place))
    moved = moved_along(edits, len(before), whole, other)
    return None if moved is None else tuple(moved)


@dataclass(frozen=True, slots=True)
class Named:
    """What edits may name in a program, by view: its steps, whatever their numbers, and its searched fields."""

    steps: dict[str, list[StepId]]
    fields: dict[str, set[str]]

    @classmethod
    def of(cls, program: Program) -> Named:
        names = cls({}, {})
        for name, view in program.views.items():
            names.add_view(name, view, -1)
        return names

    def copy(self) -> Named:
        return Named(
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


def moved_along(edits: Sequence[Edit], change: int, whole: Named, other: Named) -> list[Edit] | None:
    """The edits as they do the same in the other program, following both; None where what one edits is not there."""
    moved: list[Edit] | None = []
    for place, edit in enumerate(edits):
        there = _moved(edit, whole, other) if moved is not None else None
        whole.follow(edit, (change, place))
        if there is None or moved is None:
            moved = None
            continue
        other.follow(there, (change, place))
        moved.append(there)
    return moved


def _moved(edit: Edit, whole: Named, other: Named) -> Edit | None:
    if isinstance(edit, SetFusion | AddView):
        return edit
    if edit.view not in other.steps:
        return None
    steps, fields = other.steps[edit.view], other.fields[edit.view]
    match edit:
        case RemoveStep() | ReplaceStep():
            target = whole.steps[edit.view][edit.number]
            return edit.model_copy(update={"number": steps.index(target)}) if target in steps else None
        case AddStep(before=int() as before):
            earlier = [steps.index(step) for step in whole.steps[edit.view][:before] if step in steps]
            return edit.model_copy(update={"before": earlier[-1] + 1 if earlier else 0})
        case SearchField() | LeaveField():
            lost = edit.field in whole.fields[edit.view] and edit.field not in fields
            return None if lost else edit
        case _:
            return edit
