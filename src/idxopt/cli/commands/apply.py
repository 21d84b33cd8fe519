"""`idxopt apply`: puts a program live, or does exactly what a saved plan says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from idxopt.cli import options
from idxopt.cli.applying import Allowed, check_writes, decide_writes, run_plan
from idxopt.cli.confirm import confirm
from idxopt.cli.planning import Planned, Wanted, check_cluster, is_plan_file, plan_program, plan_source, read_plan
from idxopt.cli.session import Session, session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, write
from idxopt.cli.units import parse_seconds
from idxopt.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from idxopt.deploy.intent import Plan
    from idxopt.deploy.options import QualityGate
    from idxopt.sources.source import Source


def apply(
    settings: Settings,
    program: Annotated[Path, typer.Argument(metavar="PROGRAM|PLAN", help="A program.json, or a saved plan.")],
    source: options.Source = None,
    view: options.View = None,
    rebuild: options.Rebuild = False,
    take_over: options.TakeOver = None,
    full: options.Full = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the requests instead of sending them; nothing is changed.")
    ] = False,
    keep: options.Keep = None,
    allow_rejected: options.AllowRejected = 0,
    message: options.Message = "",
    lock_timeout: options.LockTimeout = "0",
    budget: options.Budget = None,
    yes: options.Yes = False,
    auto_approve: options.AutoApprove = False,
    confirm_name: options.Confirm = None,
    carry_writes: options.CarryWrites = False,
    discard_writes: options.DiscardWrites = False,
    queries: Annotated[
        Path | None, typer.Option("--queries", metavar="FILE", rich_help_panel=options.GATE, help="Queries.")
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option("--qrels", metavar="FILE", rich_help_panel=options.GATE, help="Judgments.")
    ] = None,
    require: Annotated[
        list[str] | None,
        typer.Option(
            "--require",
            metavar="RULE",
            rich_help_panel=options.GATE,
            help="Minimum, such as 'nDCG@10>=.4' (repeatable).",
        ),
    ] = None,
    metric: Annotated[
        str,
        typer.Option("--metric", rich_help_panel=options.GATE, help="Metric of the comparison with the live build."),
    ] = "nDCG@10",
    margin: Annotated[
        float | None,
        typer.Option("--margin", rich_help_panel=options.GATE, help="How much worse than live is accepted (.02)."),
    ] = None,
    accept_undecided: Annotated[
        bool, typer.Option("--accept-undecided", rich_help_panel=options.GATE, help="Go on where the data cannot tell.")
    ] = False,
) -> ExitCode:
    """Put a program live: show the plan, ask, build beside, check, switch.

    Example: idxopt apply program.json --source docs/ -m "split identifiers"
    """
    check_writes(carry_writes, discard_writes)
    parse_seconds(lock_timeout, "--lock-timeout")
    quality = _quality(queries, qrels, require, metric, margin, accept_undecided)
    allowed = Allowed(
        carry_writes,
        discard_writes,
        lock_timeout,
        message,
        keep,
        allow_rejected,
        quality,
        budget,
        yes=yes or auto_approve,
    )
    if is_plan_file(program):
        _refuse_planning(source, view, rebuild, take_over)
        return _apply_saved(settings, program, allowed, dry_run=dry_run, full=full)
    wanted = Wanted(program, source, tuple(view or ()), rebuild, take_over)
    with session(settings) as work:
        planned = plan_program(work, wanted)
        if dry_run:
            return _dry_run(work, planned.plan, full=full)
        _show(settings, planned.plan, full=full)
        if planned.plan.empty:
            return _unchanged(settings, planned.plan)
        allowed = decide_writes(work, planned.observed, planned.plan, allowed)
        _confirm(settings, planned, yes=yes or auto_approve, name=confirm_name)
        return _run(work, planned.plan, planned.source, allowed)


def _apply_saved(settings: Settings, path: Path, allowed: Allowed, *, dry_run: bool, full: bool) -> ExitCode:
    saved = read_plan(path)
    with session(settings, cluster=saved.cluster) as work:
        check_cluster(work, saved)
        if dry_run:
            return _dry_run(work, saved, full=full)
        _show(settings, saved, full=full)
        if saved.empty:
            return _unchanged(settings, saved)
        return _run(work, saved, plan_source(work, saved), allowed)


def _run(work: Session, plan: Plan, source: Source | None, allowed: Allowed) -> ExitCode:
    from idxopt.cli.render.outcomes import applied_json, applied_lines

    applied = run_plan(work, plan, source, allowed)
    if work.settings.json:
        emit_json(applied_json(applied, plan.name, changes=True))
    else:
        for line in applied_lines(applied, plan.name):
            write(line)
    return ExitCode.OK


def _show(settings: Settings, plan: Plan, *, full: bool) -> None:
    from idxopt.cli.render.plans import plan_lines

    if not settings.json:
        for line in plan_lines(plan, full=full):
            write(line)


def _unchanged(settings: Settings, plan: Plan) -> ExitCode:
    if settings.json:
        emit_json({"name": plan.name, "changes": False, "build": plan.live})
    return ExitCode.OK


def _dry_run(work: Session, plan: Plan, *, full: bool) -> ExitCode:
    from idxopt.compiler.curl import script
    from idxopt.deploy.observed import observe
    from idxopt.deploy.requests import requests, shortened_note

    observed = observe(work.engine, plan.name)
    made = requests(observed, plan, full=full)
    if work.settings.json:
        emit_json(
            {
                "name": plan.name,
                "changes": not plan.empty,
                "requests": [
                    {"method": item.method, "path": "/".join(item.path), "query": item.query, "body": item.body}
                    for item in made
                ],
            }
        )
    else:
        title = f"{plan.name}: what apply would send, without the rows; nothing was sent"
        write(script(made, title=title + shortened_note(observed, plan, full=full)))
    return ExitCode.OK


def _confirm(settings: Settings, planned: Planned, *, yes: bool, name: str | None) -> None:
    plan = planned.plan
    if plan.intent.take_over is not None:
        confirm(
            settings,
            f"This takes the alias {plan.name} over from {plan.intent.take_over}.",
            plan.name,
            given=name,
            remedy=f"add --confirm {plan.name}",
        )
        return
    confirm(settings, f"Apply this to {plan.cluster}?", "yes", given="yes" if yes else None, remedy="add --yes")


def _refuse_planning(source: str | None, view: list[str] | None, rebuild: bool, take_over: str | None) -> None:
    given = {"--source": source, "--view": view, "--rebuild": rebuild, "--take-over": take_over}
    for option, value in given.items():
        if value:
            raise UsageError(
                "a saved plan is applied as it is",
                place=option,
                remedy=f"leave {option} out, or plan again with it",
            )


def _quality(
    queries: Path | None,
    qrels: Path | None,
    require: list[str] | None,
    metric: str,
    margin: float | None,
    accept_undecided: bool,
) -> QualityGate | None:
    if queries is None and qrels is None:
        if require or margin is not None or accept_undecided:
            raise UsageError(
                "needs judged queries",
                place="--require, --margin, --accept-undecided",
                remedy="add --queries and --qrels",
            )
        return None
    if queries is None or qrels is None:
        raise UsageError("belong together", place="--queries, --qrels", remedy="give both")
    if margin is not None and not 0 <= margin <= 1:
        raise UsageError(
            f"{margin:g} is out of range", place="--margin", remedy="use a number from 0 to 1, such as .02"
        )
    from idxopt.deploy.options import QualityGate
    from idxopt.evaluation.comparison import DEFAULT_MARGIN, parse_requirement
    from idxopt.evaluation.datasets import load_judged
    from idxopt.evaluation.metrics import parse_metric

    return QualityGate(
        judged=load_judged(queries, qrels),
        requirements=tuple(parse_requirement(rule) for rule in require or ()),
        metric=str(parse_metric(metric)),
        margin=DEFAULT_MARGIN if margin is None else margin,
        accept_undecided=accept_undecided,
    )
