"""`idxopt sweep`: deletes trial indices that a killed study left behind."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from idxopt.cli import options
from idxopt.cli.confirm import confirm
from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, say, write
from idxopt.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from idxopt.optimizer.trials.sweep import Sweep


def sweep(
    settings: Settings,
    study: Annotated[
        str | None,
        typer.Option("--study", metavar="ID", help="All trial indices of this study, whatever time they have left."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All trial indices of every study, also of one that runs now.")
    ] = False,
    yes: options.Yes = False,
) -> ExitCode:
    """Delete trial indices whose time to live is over. Asks where `--study` or `--all` takes others too.

    Only indices that carry the mark of a trial go, one by one by exact name.

    Example: idxopt sweep --cluster prod
    """
    from idxopt.builds.clock import SystemClock
    from idxopt.optimizer.trials.marks import check_study
    from idxopt.optimizer.trials.sweep import carry_out, plan_sweep

    if study is not None and every:
        raise UsageError("--study and --all exclude each other", place="sweep", remedy="give one of them")
    if study is not None:
        check_study(study)
    with session(settings) as work:
        plan = plan_sweep(work.engine, SystemClock().now(), study=study, every=every)
        if plan.delete and (study is not None or every):
            for one in plan.delete:
                say(settings, f"- {one.index}")
            whose = f"of study {study}" if study is not None else "of every study"
            confirm(
                settings,
                f"This deletes {len(plan.delete)} trial indices {whose} from {work.cluster}; a study that runs now "
                "builds its own again.",
                "yes",
                given="yes" if yes else None,
                remedy="add --yes",
            )
        done = carry_out(work.engine, plan)
    _show(settings, work.cluster, done)
    return ExitCode.ERROR if done.failed else ExitCode.OK


def _show(settings: Settings, cluster: str, done: Sweep) -> None:
    if settings.json:
        emit_json(
            {
                "cluster": cluster,
                "deleted": [{"index": one.index, "study": one.study, "expires": one.expires} for one in done.delete],
                "left": [asdict(one) for one in done.left],
                "failed": [asdict(one) for one in done.failed],
            }
        )
        return
    for one in done.delete:
        write(f"deleted {one.index}")
    for left in done.left:
        write(f"left    {left.index}: {left.reason}")
    for failed in done.failed:
        write(f"failed  {failed.index}: {failed.reason}")
    if not (done.delete or done.left or done.failed):
        write(f"{cluster}: there are no trial indices")
