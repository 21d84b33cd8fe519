"""`idxopt show`: a saved plan, without asking any cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from idxopt.cli import options
from idxopt.cli.planning import is_plan_file, not_a_plan, read_plan
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, write
from idxopt.errors import ExitCode


def show(
    settings: Settings,
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A file that `idxopt plan --out` wrote.")],
    full: options.Full = False,
) -> ExitCode:
    """Show a saved plan.

    Example: idxopt show plan.json
    """
    from idxopt.cli.render.plans import plan_json, plan_lines

    if plan.is_file() and not is_plan_file(plan):
        raise not_a_plan(plan)
    saved = read_plan(plan)
    if settings.json:
        emit_json(plan_json(saved))
    else:
        for line in plan_lines(saved, full=full):
            write(line)
    return ExitCode.OK
