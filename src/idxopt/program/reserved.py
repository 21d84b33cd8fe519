"""What schema v1 accepts and this version does not build yet (design: "schema v1 reserves now")."""

from __future__ import annotations

from collections.abc import Iterator

from idxopt.program.problems import Location
from idxopt.program.reading import json_path
from idxopt.program.schema import Program, View
from idxopt.program.step_checks import UNITS
from idxopt.program.steps import Generated, Keywords, Slice


def unsupported(program: Program) -> list[tuple[str, str]]:
    """JSON path and name of everything in the program that this version cannot build; the compiler refuses these."""
    return [(json_path(location), what) for location, what in _reserved(program)]


def _reserved(program: Program) -> Iterator[tuple[Location, str]]:
    if program.analysis:
        yield ("analysis",), "analysis of one's own"
    if program.models:
        yield ("models",), "models"
    for name, view in program.views.items():
        yield from _view(("views", name), view)
    if program.rerank is not None:
        yield ("rerank",), "reranking"


def _view(at: Location, view: View) -> Iterator[tuple[Location, str]]:
    for number, step in enumerate(view.steps):
        here: Location = (*at, "steps", number)
        if isinstance(step, Generated) or (isinstance(step, Keywords) and step.generator is not None):
            yield (*here, "generator"), "text from a language model"
        elif isinstance(step, Slice) and step.unit not in UNITS:
            yield (*here, "unit"), "slices by the tokens of a model"
    if view.dense is not None:
        yield (*at, "dense"), "dense legs"
    if view.combine is not None:
        yield (*at, "combine"), "combined views"
