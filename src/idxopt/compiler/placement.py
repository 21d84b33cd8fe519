"""Where each step of a view runs, and why: on the client when a build is loaded, and where possible on the server too.

Only the primary view has a pipeline: its rows are the documents that an application writes through the alias. A step is
in the pipeline if and only if it can run in both places and its inputs are source fields or outputs of pipelined steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from idxopt.compiler.lowered import Place, Placement
from idxopt.operators.registry import form_name, where
from idxopt.operators.row import VECTOR
from idxopt.program.effects import ViewFields, reads_tables, step_effect, view_fields
from idxopt.program.schema import Markup, Program
from idxopt.program.steps import HeadingTree, PrimeTerms, Step

_IN_PIPELINE = "runs on the client when the build is loaded and in the ingest pipeline for later writes"


@dataclass(frozen=True, slots=True)
class ViewPlacement:
    """Placements of a view, the steps of its pipeline, what it writes, and what writes through the alias lack."""

    placements: tuple[Placement, ...]
    pipelined: tuple[Step, ...]
    outputs: tuple[str, ...]
    lost_on_write: tuple[str, ...]


def place_steps(program: Program, view_name: str, *, pipelines: bool) -> ViewPlacement:
    """Decides the place of every step of one view."""
    view = program.views[view_name]
    fields = view_fields(program, view)
    obstacle = _no_pipeline(program, view_name, fields, pipelines=pipelines)
    on_server = set(program.source.fields) if obstacle is None else set()
    placements: list[Placement] = []
    pipelined: list[Step] = []
    for number, step in enumerate(view.steps):
        place, why = _place(step, program.source.markup, on_server, obstacle)
        placements.append(Placement(number, form_name(step), place, why))
        effect = step_effect(step)
        on_server -= effect.removes
        if place == "both":
            pipelined.append(step)
            on_server |= effect.writes
        else:
            on_server -= effect.writes
    if obstacle is not None and view_name != program.primary:
        lost: Sequence[str] = fields.names
    else:
        lost = sorted(fields.changed - on_server)
    if view.dense is not None:
        lost = (*lost, VECTOR.rpartition(".")[2])
    outputs = sorted(fields.changed & on_server)
    return ViewPlacement(tuple(placements), tuple(pipelined), tuple(outputs), tuple(lost))


def _no_pipeline(program: Program, view_name: str, fields: ViewFields, *, pipelines: bool) -> str | None:
    if fields.many_rows:
        return "a pipeline cannot make several rows of one document"
    if view_name != program.primary:
        return "writes through the alias reach the primary view only"
    if not pipelines:
        return "this engine has no ingest pipelines"
    return None


def _place(step: Step, markup: Markup, on_server: set[str], obstacle: str | None) -> tuple[Place, str]:
    able = where(step)
    if able == "query":
        return "query", "weights are applied when searching: a change needs no new index"
    if able != "both":
        if reads_tables(step):
            return "client", "needs tables over the whole corpus, and a pipeline sees one document at a time"
        if step_effect(step).many_rows:
            return "client", "makes several rows of one document, which a pipeline cannot"
        return "client", "has no equal on the server"
    if obstacle is not None:
        return "client", obstacle
    if isinstance(step, PrimeTerms | HeadingTree) and markup not in ("markdown", "text"):
        return "client", f"a pipeline reads Markdown and plain text only, and the markup is {markup}"
    missing = sorted(step_effect(step).reads - on_server)
    if missing:
        return "client", f"reads {', '.join(missing)}, made by a step that runs on the client only"
    return "both", _IN_PIPELINE
