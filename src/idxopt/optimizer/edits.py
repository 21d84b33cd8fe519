"""Edits: what a proposer may change in a program. Data, validated, applied one after the other.

An edit names views, fields and steps as the program does; a list of edits is one change, and lists of several accepted
changes can be merged by applying them in turn. Nothing that a proposer says is ever executed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from idxopt.errors import ProgramError
from idxopt.program.canonical import canonical
from idxopt.program.schema import Fusion, LexicalField, Name, Program, View, Weight
from idxopt.program.steps import FieldName, Model, Step
from idxopt.program.validate import program_from

MAX_EDITS = 20
"""Edits of one change."""


class AddStep(Model):
    """Puts a step into a view: before the step that is number `before` now (counted from 0), else last."""

    edit: Literal["add_step"]
    view: Name
    step: Step
    before: Annotated[int, Field(ge=0)] | None = None


class RemoveStep(Model):
    edit: Literal["remove_step"]
    view: Name
    number: Annotated[int, Field(ge=0)]


class ReplaceStep(Model):
    edit: Literal["replace_step"]
    view: Name
    number: Annotated[int, Field(ge=0)]
    step: Step


class SearchField(Model):
    """Searches a field in the BM25 leg of a view, or changes how: what is left out stays, or takes the default."""

    edit: Literal["search_field"]
    view: Name
    field: FieldName
    weight: Weight | None = None
    analyzer: str | None = None
    k1: Annotated[float, Field(ge=0, le=1_000)] | None = None
    b: Annotated[float, Field(ge=0, le=1)] | None = None


class LeaveField(Model):
    """Searches a field no longer; with its last field a view loses its BM25 leg."""

    edit: Literal["leave_field"]
    view: Name
    field: FieldName


class AddView(Model):
    """A further view; its name must be free."""

    edit: Literal["add_view"]
    name: Name
    view: View


class RemoveView(Model):
    edit: Literal["remove_view"]
    view: Name


class WeighView(Model):
    """The weight of a view in the fusion."""

    edit: Literal["weigh_view"]
    view: Name
    weight: Weight


class SetFusion(Model):
    """Replaces how the views are fused."""

    edit: Literal["set_fusion"]
    fusion: Fusion


Edit = Annotated[
    AddStep | RemoveStep | ReplaceStep | SearchField | LeaveField | AddView | RemoveView | WeighView | SetFusion,
    Field(discriminator="edit"),
]
EDITS: TypeAdapter[list[Edit]] = TypeAdapter(Annotated[list[Edit], Field(max_length=MAX_EDITS)])
"""Reads and writes lists of edits as JSON."""

Plain = dict[str, Any]


def edited(program: Program, edits: Sequence[Edit]) -> Program:
    """The program after the edits, validated as any other.

    Raises ProgramError where an edit names what is not there, and where the result is no valid program.
    """
    plain = canonical(program)
    for number, edit in enumerate(edits):
        _apply(plain, edit, f"edits[{number}]")
    return program_from(plain, "the edited program")


def _apply(plain: Plain, edit: Edit, place: str) -> None:
    match edit:
        case AddView():
            if edit.name in plain["views"]:
                raise _wrong(f'there is a view "{edit.name}" already', place, "choose another name")
            plain["views"][edit.name] = _plain(edit.view)
        case SetFusion():
            plain["fusion"] = _plain(edit.fusion)
        case RemoveView():
            _view(plain, edit.view, place)
            del plain["views"][edit.view]
            _forget_weights(plain, f"{edit.view}.")
        case WeighView():
            _view(plain, edit.view, place)["weight"] = edit.weight
        case SearchField() | LeaveField():
            view = _view(plain, edit.view, place)
            _search(view, edit, place)
            if "lexical" not in view:
                _forget_weights(plain, f"{edit.view}.lexical")
        case _:
            _step(_view(plain, edit.view, place), edit, place)


def _step(view: Plain, edit: AddStep | RemoveStep | ReplaceStep, place: str) -> None:
    steps = view.setdefault("steps", [])
    number = edit.before if isinstance(edit, AddStep) else edit.number
    last = len(steps) if isinstance(edit, AddStep) else len(steps) - 1
    if number is not None and number > last:
        raise _wrong(f"view {edit.view} has {len(steps)} steps, none is number {number}", place, "count from 0")
    if isinstance(edit, AddStep):
        steps.insert(last if number is None else number, _plain(edit.step))
    elif isinstance(edit, RemoveStep):
        del steps[edit.number]
    else:
        steps[edit.number] = _plain(edit.step)


def _search(view: Plain, edit: SearchField | LeaveField, place: str) -> None:
    fields = view.setdefault("lexical", {}).setdefault("fields", {})
    if isinstance(edit, SearchField):
        given = {"analyzer": edit.analyzer, "k1": edit.k1, "b": edit.b, "weight": edit.weight}
        now = {**fields.get(edit.field, {}), **{key: value for key, value in given.items() if value is not None}}
        fields[edit.field] = _plain(LexicalField.model_validate(now))
        return
    if edit.field not in fields:
        raise _wrong(f'the view searches no field "{edit.field}"', place, f"it searches {', '.join(fields) or 'none'}")
    del fields[edit.field]
    if not fields:
        del view["lexical"]


def _view(plain: Plain, name: str, place: str) -> Plain:
    if name not in plain["views"]:
        raise _wrong(f'there is no view "{name}"', place, f"the views are {', '.join(plain['views'])}")
    view: Plain = plain["views"][name]
    return view


def _forget_weights(plain: Plain, prefix: str) -> None:
    """Weights of legs that are gone: a program must not have them."""
    fusion = plain.get("fusion", {})
    if "weights" in fusion:
        fusion["weights"] = {leg: weight for leg, weight in fusion["weights"].items() if not leg.startswith(prefix)}


def _plain(value: Model) -> Plain:
    return value.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _wrong(message: str, place: str, remedy: str) -> ProgramError:
    return ProgramError(message, place=place, remedy=remedy)
