"""`idxopt rollback`: back to an earlier build, as a plan like any other."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from idxopt.cli import options
from idxopt.cli.applying import Allowed, check_writes, decide_writes, missing_after, pending_writes, run_plan
from idxopt.cli.confirm import confirm
from idxopt.cli.outputs import is_plan, refuse_foreign
from idxopt.cli.planning import write_plan
from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, hint, write
from idxopt.cli.suggestions import other_name
from idxopt.cli.units import counted
from idxopt.errors import BuildError, ExitCode

if TYPE_CHECKING:
    from idxopt.deploy.intent import Plan


@dataclass(frozen=True, slots=True)
class Lost:
    """`writes` would be hidden; `shared_writes` stay, but the views `lacking` come back without them."""

    writes: int
    shared_writes: int
    lacking: list[str]


def rollback(
    settings: Settings,
    name: options.Name,
    to: Annotated[
        str | None, typer.Option("--to", metavar="BUILD", help="Build to go back to; default: the one before.")
    ] = None,
    plan_only: Annotated[bool, typer.Option("--plan", help="Show the plan only (exit code 2: changes).")] = False,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="Save the plan instead of applying it.")
    ] = None,
    message: options.Message = "",
    lock_timeout: options.LockTimeout = "0",
    yes: options.Yes = False,
    auto_approve: options.AutoApprove = False,
    carry_writes: options.CarryWrites = False,
    discard_writes: options.DiscardWrites = False,
) -> ExitCode:
    """Make an earlier build live again; writes of applications are carried or refused, never lost in silence.

    Example: idxopt rollback handbook
    """
    from idxopt.cli.render.outcomes import applied_json, applied_lines
    from idxopt.deploy.observed import observe
    from idxopt.deploy.rollback import rollback_plan

    check_writes(carry_writes, discard_writes)
    if out is not None:
        refuse_foreign(out, "--out", "a saved plan", is_plan)
    with session(settings) as work:
        observed = observe(work.engine, name)
        if observed.live is None:
            raise BuildError("there is no live build to go back from", place=name, remedy=other_name(work, name))
        plan = rollback_plan(observed, to=to, cluster=work.cluster)
        writes = 0 if discard_writes else pending_writes(work, observed, plan)
        lost = Lost(writes, *missing_after(work, observed, plan))
        if out is not None:
            write_plan(plan, out)
        stops = plan_only or out is not None or plan.empty
        _show(settings, plan, lost, document=stops)
        if stops:
            if out is not None:
                hint(settings, f"saved; apply it with: idxopt apply {out}")
            return ExitCode.OK if plan.empty else ExitCode.CHANGES
        allowed = Allowed(carry_writes, discard_writes, lock_timeout, message, yes=yes or auto_approve)
        allowed = decide_writes(work, observed, plan, allowed)
        approved = "yes" if yes or auto_approve else None
        confirm(settings, f"Go back to build {plan.target}?", "yes", given=approved, remedy="add --yes")
        applied = run_plan(work, plan, None, allowed)
        if settings.json:
            emit_json(applied_json(applied, name, changes=True))
        else:
            for line in applied_lines(applied, name):
                write(line)
    return ExitCode.OK


def _show(settings: Settings, plan: Plan, lost: Lost, *, document: bool) -> None:
    """The plan and what becomes of writes. `document`: with `--json` too, for nothing else follows."""
    from idxopt.cli.render.plans import plan_json, plan_lines

    if settings.json:
        if document:
            emit_json({**plan_json(plan), **asdict(lost)})
        return
    for line in plan_lines(plan):
        write(line)
    if lost.writes:
        write(f"! {counted(lost.writes, 'write')} of applications since build {plan.live} went live would be hidden")
    if lost.shared_writes:
        write(
            f"! {counted(lost.shared_writes, 'write')} of applications: kept in the index that both builds share, but "
            f"view {', '.join(lost.lacking)} comes back without, until the next build (`apply --rebuild`)"
        )
