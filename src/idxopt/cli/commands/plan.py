"""`idxopt plan`: what an apply would change. Reads only."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from idxopt.cli import options
from idxopt.cli.outputs import is_plan, refuse_foreign
from idxopt.cli.planning import Planned, Wanted, plan_program, write_plan
from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, hint, write
from idxopt.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from idxopt.compiler.lowered import Placement


class DiffForm(StrEnum):
    """Forms of the program's difference."""

    UNIFIED = "unified"
    JSON = "json"


def plan(
    settings: Settings,
    program: options.Program,
    source: options.Source = None,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Save the plan; `idxopt apply FILE` does exactly that.")
    ] = None,
    view: options.View = None,
    rebuild: options.Rebuild = False,
    take_over: options.TakeOver = None,
    curl: Annotated[
        bool, typer.Option("--curl", help="Print the requests as curl commands, for an administrator to review.")
    ] = False,
    diff: Annotated[
        DiffForm | None,
        typer.Option("--diff", help="Print only the program's difference (IDXOPT_EXTERNAL_DIFF names a tool)."),
    ] = None,
    full: options.Full = False,
) -> ExitCode:
    """Show what an apply would change. Exit code 0: nothing, 2: changes, 1: error.

    Example: idxopt plan program.json --source docs/ --out plan.json
    """
    if curl and (diff or settings.json):
        raise UsageError("prints a script, and nothing else", place="--curl", remedy="leave --diff and --json out")
    if settings.json and diff is DiffForm.UNIFIED:
        raise UsageError("prints text", place="--diff unified", remedy="leave --json out, or use --diff json")
    if out is not None:
        refuse_foreign(out, "--out", "a saved plan", is_plan, read=(program, Path(source or program)))
    with session(settings) as work:
        planned = plan_program(work, Wanted(program, source, tuple(view or ()), rebuild, take_over))
        if out is not None:
            write_plan(planned.plan, out)
        if curl:
            _script(planned, full=full)
        elif diff is not None:
            _diff(planned, diff)
        else:
            _show(settings, planned, full=full)
        if out is not None and not planned.plan.empty:
            hint(settings, f"saved; apply it with: idxopt apply {out}")
    return ExitCode.OK if planned.plan.empty else ExitCode.CHANGES


def placements_of(planned: Planned) -> Mapping[str, Sequence[Placement]]:
    """Where each step runs, by view."""
    from idxopt.deploy.lowering import compile_plan

    compiled = compile_plan(planned.observed, planned.plan).compiled
    return {name: view.placements for name, view in compiled.views.items()}


def _show(settings: Settings, planned: Planned, *, full: bool) -> None:
    from idxopt.cli.render.plans import plan_json, plan_lines

    if settings.json:
        emit_json(plan_json(planned.plan, placements_of(planned)))
        return
    placements = placements_of(planned) if settings.verbose else None
    for line in plan_lines(planned.plan, full=full, placements=placements):
        write(line)


def _script(planned: Planned, *, full: bool) -> None:
    from idxopt.compiler.curl import script
    from idxopt.deploy.requests import requests, shortened_note

    title = f"{planned.plan.name}: requests of an apply, without the rows; the id of the new build is unknown yet"
    title += shortened_note(planned.observed, planned.plan, full=full)
    write(script(requests(planned.observed, planned.plan, full=full), title=title))


def _diff(planned: Planned, form: DiffForm) -> None:
    from idxopt.cli.render.diffs import external, unified

    if form is DiffForm.JSON:
        emit_json([change.model_dump(mode="json") for change in planned.plan.program_changes])
        return
    live = planned.observed.live
    old, new, name = live.program if live else None, planned.plan.intent.program, planned.plan.name
    text = external(old, new, name)
    write((unified(old, new, name) if text is None else text).rstrip("\n"))
