"""`idxopt canary`: a share of the queries to another build, and what comes of it."""

from __future__ import annotations

import re
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idxopt.cli import options
from idxopt.cli.applying import Allowed, check_writes, decide_writes, lock_settings, waiting, with_options
from idxopt.cli.confirm import confirm
from idxopt.cli.planning import Wanted, plan_program
from idxopt.cli.session import Session, session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, hint, print_tables, write
from idxopt.cli.suggestions import other_name
from idxopt.cli.units import parse_seconds
from idxopt.errors import BuildError, ExitCode, UsageError

if TYPE_CHECKING:
    from rich.table import Table

    from idxopt.builds.canary import Canary
    from idxopt.evaluation.canary_clicks import By
    from idxopt.evaluation.synthetic.clicks import Shown
    from idxopt.search.runlog import Entry

_SHARE = re.compile(r"([0-9]*\.?[0-9]+)\s*(%?)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the status: its key in the JSON document, and as tables and lines."""

    key: str
    document: dict[str, Any]
    tables: tuple[Table, ...] = ()
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Clicks:
    """What the options say of clicks."""

    file: Path | None
    columns: tuple[str, ...]
    ubi: bool
    queries: str
    events: str
    by: By | None

    def check(self) -> None:
        """Options that do not go together."""
        if self.file is not None and self.ubi:
            raise UsageError("exclude each other", place="--clicks, --ubi", remedy="give one of them")
        if self.by is not None and self.file is None and not self.ubi:
            raise UsageError("belongs to clicks", place="--by", remedy="give --clicks FILE or --ubi with it")
        if self.columns and self.file is None:
            raise UsageError("belongs to a table", place="--column", remedy="give --clicks FILE with it")

    def rows(self, work: Session, canary: Canary) -> list[Shown]:
        """What was shown and clicked; of UBI since the canary started, a table is taken whole."""
        from idxopt.evaluation.synthetic.click_tables import named_columns, read_click_table
        from idxopt.evaluation.synthetic.ubi import Ubi, read_ubi

        if self.file is not None:
            return list(read_click_table(self.file, named_columns(self.columns)))
        return list(read_ubi(work.engine, Ubi(self.queries, self.events, since=canary.started)))


Log = Annotated[
    Path | None,
    typer.Option("--log", metavar="FILE", help="Run log of the searchers. Default: the one named at the start."),
]


def start(
    settings: Settings,
    program: options.Program,
    share: Annotated[str, typer.Option("--share", metavar="SHARE", help="Of the queries: 5% or .05.")],
    source: options.Source = None,
    rebuild: options.Rebuild = False,
    log: Annotated[
        Path | None,
        typer.Option("--log", metavar="FILE", help="Where searchers write their run log, for `canary status`."),
    ] = None,
    allow_rejected: options.AllowRejected = 0,
    message: options.Message = "",
    lock_timeout: options.LockTimeout = "0",
    budget: options.Budget = None,
    yes: options.Yes = False,
    carry_writes: options.CarryWrites = False,
    discard_writes: options.DiscardWrites = False,
) -> ExitCode:
    """Build a program beside the live build and send it a share of the queries. No alias moves.

    Example: idxopt canary start better.json --share 5%
    """
    from idxopt.cli.render.canaries import canary_lines
    from idxopt.cli.render.plans import plan_lines
    from idxopt.deploy.canary import Split, check_start, start_canary

    split = Split(parse_share(share), str(log.absolute()) if log is not None else None)
    check_writes(carry_writes, discard_writes)
    parse_seconds(lock_timeout, "--lock-timeout")
    allowed = Allowed(
        carry_writes, discard_writes, lock_timeout, message, allow_rejected=allow_rejected, budget=budget, yes=yes
    )
    with session(settings) as work:
        planned = plan_program(work, Wanted(program, source, rebuild=rebuild))
        plan = planned.plan
        check_start(planned.observed, plan)
        if not settings.json:
            for line in plan_lines(plan, full=False):
                write(line)
        allowed = decide_writes(work, planned.observed, plan, allowed)
        question = f"Build this on {plan.cluster} and send it {share} of the queries? Aliases stay where they are."
        confirm(settings, question, "yes", given="yes" if yes else None, remedy="add --yes")
        started = with_options(
            work,
            plan,
            allowed,
            lambda chosen, progress: start_canary(
                work.engine, plan, chosen, split, source=planned.source, progress=progress
            ),
        )
    if settings.json:
        emit_json({**asdict(started), "canary": started.canary.model_dump()})
        return ExitCode.OK
    for view, rows in started.rows.items():
        write(f"built {view}: {rows:,} rows")
    for warning in started.warnings:
        write(f"! {warning}")
    for line in canary_lines(started.canary):
        write(line)
    apply = f"idxopt apply {shlex.quote(str(program))}"
    hint(settings, f"look at it with: idxopt canary status {plan.name}; put it live with: {apply}")
    return ExitCode.OK


def stop(
    settings: Settings,
    name: options.Name,
    message: options.Message = "",
    lock_timeout: options.LockTimeout = "0",
    yes: options.Yes = False,
) -> ExitCode:
    """End a canary: the live build answers all queries again, within seconds.

    Example: idxopt canary stop handbook --yes
    """
    from idxopt.builds.canary import has_canary
    from idxopt.cli.progress import stoppable
    from idxopt.deploy.canary import stop_canary
    from idxopt.search.split import no_canary

    lock = parse_seconds(lock_timeout, "--lock-timeout")
    with session(settings) as work:
        if not has_canary(work.engine, name):  # one of a name without builds can be stopped, too
            _known(work, name)
            raise no_canary(name)
        confirm(
            settings,
            f"End the canary of {name} on {work.cluster}?",
            "yes",
            given="yes" if yes else None,
            remedy="add --yes",
        )
        with stoppable(settings) as progress:
            stopped = stop_canary(
                work.engine,
                name,
                settings=lock_settings(work, f"{lock:g}"),
                message=message,
                on_wait=waiting(work, progress, set()),
            )
    if settings.json:
        emit_json({"name": name, "stopped": stopped.model_dump() if stopped is not None else None})
    else:
        build = f"; build {stopped.candidate} is kept for the grace time" if stopped is not None else ""
        write(f"{name}: the canary has ended, the live build answers all queries{build}")
    return ExitCode.OK


def status(
    settings: Settings,
    name: options.Name,
    log: Log = None,
    judgments: Annotated[
        Path | None,
        typer.Option("--judgments", metavar="FOLDER", help="Evaluate both builds with the judged queries of a folder."),
    ] = None,
    split: options.Split = None,
    metric: options.Metrics = None,
    depth: options.Depth = 100,
    clicks: Annotated[
        Path | None,
        typer.Option("--clicks", metavar="FILE", help="Compare by clicks: a table, as `queries make` reads."),
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option("--column", metavar="ROLE=NAME", help="A column of the clicks (repeatable)."),
    ] = None,
    ubi: Annotated[bool, typer.Option("--ubi", help="Compare by the clicks in the cluster's UBI indices.")] = False,
    ubi_queries: Annotated[str, typer.Option("--ubi-queries", metavar="INDEX")] = "ubi_queries",
    ubi_events: Annotated[str, typer.Option("--ubi-events", metavar="INDEX")] = "ubi_events",
    by: Annotated[
        str | None,
        typer.Option(
            "--by", metavar="WHAT", help="What the split went by: session or query. Default: the run log tells."
        ),
    ] = None,
) -> ExitCode:
    """Show a canary: counts, latency and empty answers by arm; which arm is better, by judgments or clicks.

    Example: idxopt canary status handbook --judgments judged/
    """
    from idxopt.builds.canary import running_canary
    from idxopt.builds.resolver import Resolver
    from idxopt.cli.render.canaries import canary_lines

    asked = Clicks(clicks, tuple(column or ()), ubi, ubi_queries, ubi_events, _by(by))
    asked.check()
    if judgments is None and split is not None:
        raise UsageError("belongs to a folder", place="--split", remedy="give --judgments FOLDER with it")
    with session(settings) as work:
        _known(work, name)
        live = Resolver(work.engine, name).live()
        canary = running_canary(work.engine, name, live.manifest.build if live is not None else None)
        if canary is None:
            if settings.json:
                emit_json({"name": name, "canary": None})
            else:
                write(f"{name}: no canary is running")
                hint(settings, other_name(work, name) if live is None else "")
            return ExitCode.OK
        entries = _entries(canary, log)
        parts = [_logged(canary, entries)]
        if judgments is not None:
            parts.append(_judged(work, canary, judgments, split, metric, depth))
        if clicks is not None or ubi:
            parts.append(_clicked(canary, asked, asked.rows(work, canary), entries))
    if settings.json:
        emit_json({"name": name, "canary": canary.model_dump(), **{part.key: part.document for part in parts}})
        return ExitCode.OK
    for line in canary_lines(canary):
        write(line)
    for part in parts:
        print_tables(settings, *part.tables)
        for line in part.lines:
            write(line)
    return ExitCode.OK


def _known(work: Session, name: str) -> None:
    """Raises BuildError for a name under which nothing was ever built."""
    from idxopt.builds.state import StateStore

    if name not in StateStore(work.engine).names():
        raise BuildError(
            f"nothing was built under this name on {work.cluster}", place=name, remedy=other_name(work, name)
        )


def parse_share(text: str) -> float:
    """`5%`, `.05`. Raises UsageError."""
    found = _SHARE.fullmatch(text.strip())
    share = float(found[1]) / (100 if found[2] else 1) if found is not None else 0.0
    if not 0 < share < 1:
        raise UsageError(
            f"{text!r} is no share of the queries",
            place="--share",
            remedy="write it like 5% or .05: above 0%, below 100%",
        )
    return share


def _by(text: str | None) -> By | None:
    match text:
        case None | "session" | "query":
            return text
    raise UsageError(f"{text!r} is unknown", place="--by", remedy="write session or query")


def _entries(canary: Canary, log: Path | None) -> list[Entry]:
    from idxopt.search.runlog import read_run_log

    place = log or (Path(canary.log) if canary.log is not None else None)
    if place is None:
        return []
    if log is not None and not log.exists():
        raise UsageError("there is no such file", place="--log", remedy="name the file that the searchers write to")
    return list(read_run_log(place))


def _logged(canary: Canary, entries: list[Entry]) -> Part:
    from idxopt.cli.render.canaries import log_json, log_lines, log_table
    from idxopt.evaluation.canary import log_figures

    figures = log_figures(entries, canary)
    if not figures.incumbent.answers and not figures.candidate.answers:
        where = "name it with --log FILE" if canary.log is None else f"looked at {canary.log}"
        return Part("log", log_json(figures), lines=(f"! no answer of this canary is in a run log: {where}",))
    return Part("log", log_json(figures), (log_table(figures),), tuple(log_lines(figures)))


def _judged(
    work: Session, canary: Canary, folder: Path, split: str | None, metric: list[str] | None, depth: int
) -> Part:
    """Both builds asked all judged queries: paired, whatever the share."""
    from idxopt.cli.operands import answers, find_operand, load_judgments
    from idxopt.evaluation.comparison import compare, evaluate_run
    from idxopt.evaluation.metrics import DEFAULT_METRICS, parse_metric
    from idxopt.evaluation.tables import comparison_json, comparison_notes, comparison_table

    metrics = [parse_metric(one) for one in metric or ()] or list(DEFAULT_METRICS)
    judgments = load_judgments(None, None, folder, split, texts=True)
    sides = [find_operand(work, f"{canary.name}@{build}") for build in (canary.incumbent, canary.candidate)]
    a, b = (
        evaluate_run(answers(work, side, judgments.judged.queries, depth), judgments.judged, metrics, label=side.label)
        for side in sides
    )
    found = compare(a, b)
    notes = (*judgments.notes, *(f"! {note}" for note in comparison_notes(found)))
    document = {**comparison_json(found), "split": judgments.split}
    return Part("judgments", document, (comparison_table(found),), notes)


def _clicked(canary: Canary, asked: Clicks, rows: list[Shown], entries: list[Entry]) -> Part:
    from idxopt.cli.render.canaries import click_json, click_lines, click_table
    from idxopt.evaluation.canary_clicks import click_figures, split_by

    by = asked.by or split_by(rows, {entry.key for entry in entries if entry.at >= canary.started})
    figures = click_figures(rows, canary, by)
    return Part("clicks", click_json(figures), (click_table(figures),), tuple(click_lines(figures)))
