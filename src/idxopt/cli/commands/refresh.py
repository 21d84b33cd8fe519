"""`idxopt refresh`: counts the corpus tables anew and rebuilds what reads them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idxopt.cli import options
from idxopt.cli.applying import Allowed, check_writes, decide_writes, run_plan
from idxopt.cli.confirm import confirm
from idxopt.cli.planning import Planned, Wanted, plan_program
from idxopt.cli.progress import patient
from idxopt.cli.session import Session, session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, write
from idxopt.cli.suggestions import other_name
from idxopt.cli.units import parse_seconds
from idxopt.errors import BuildError, ExitCode, ProgramError

if TYPE_CHECKING:
    from idxopt.builds.manifest import Manifest, TablesRecord
    from idxopt.deploy.frozen import FrozenTables
    from idxopt.deploy.options import Applied
    from idxopt.operators.tables import Tables
    from idxopt.program.schema import Program


def refresh(
    settings: Settings,
    what: Annotated[
        str, typer.Argument(metavar="NAME|PROGRAM", help="A name that is live, or a program.json to put live with it.")
    ],
    source: options.Source = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Count and compare only; change nothing. Exit code 2: the tables differ."),
    ] = False,
    full: options.Full = False,
    keep: options.Keep = None,
    allow_rejected: options.AllowRejected = 0,
    message: options.Message = "",
    lock_timeout: options.LockTimeout = "0",
    budget: options.Budget = None,
    yes: options.Yes = False,
    auto_approve: options.AutoApprove = False,
    carry_writes: options.CarryWrites = False,
    discard_writes: options.DiscardWrites = False,
) -> ExitCode:
    """Count the corpus tables anew (document frequencies, repeated lines), and rebuild the views that read them.

    Example: idxopt refresh handbook --source docs/
    """
    check_writes(carry_writes, discard_writes)
    parse_seconds(lock_timeout, "--lock-timeout")
    approved = yes or auto_approve
    allowed = Allowed(
        carry_writes, discard_writes, lock_timeout, message, keep, allow_rejected, budget=budget, yes=approved
    )
    with session(settings) as work:
        program, live, stored = _live(work, what)
        wanted = Wanted(program, work.source_place(source) or live.source.place, refresh=True)
        if check:
            return _check(work, program, live, stored, wanted)
        planned = plan_program(work, wanted)
        frozen = planned.observed.frozen.read(live.tables)
        _show(work, planned, live, full=full)
        allowed = decide_writes(work, planned.observed, planned.plan, allowed)
        confirm(
            settings,
            f"Rebuild with new tables on {planned.plan.cluster}?",
            "yes",
            given="yes" if approved else None,
            remedy="add --yes",
        )
        applied = run_plan(work, planned.plan, planned.source, allowed)
        _tell(work, planned.plan.name, applied, frozen)
    return ExitCode.OK


def _live(work: Session, what: str) -> tuple[Program, Manifest, FrozenTables]:
    """The program to refresh, the build that is live, and the stored tables.

    Raises BuildError or ProgramError where there is no table.
    """
    from idxopt.deploy.observed import observe
    from idxopt.operators.tables import tables_needed
    from idxopt.program.validate import load_program, program_from

    path = Path(what)
    given = load_program(path) if path.suffix == ".json" or path.is_file() else None
    name = given.name if given is not None else options.one_name(what)
    observed = observe(work.engine, name)
    live = observed.live
    if live is None:
        raise BuildError(
            "nothing is live under this name, so there are no tables to make anew",
            place=name,
            remedy=other_name(work, name) or "`idxopt apply` makes the first ones",
        )
    program = given if given is not None else program_from(live.program, f"build {live.build}")
    if not tables_needed(program):
        raise ProgramError(
            "no step of the program reads corpus tables",
            place=name,
            remedy="`idxopt apply --rebuild` indexes the documents as they are now",
        )
    return program, live, observed.frozen


def _check(work: Session, program: Program, live: Manifest, stored: FrozenTables, wanted: Wanted) -> ExitCode:
    from idxopt.operators.tables import build_tables

    assert wanted.source is not None
    source = work.open_source(wanted.source, program)
    frozen = stored.read(live.tables)
    with patient(work.settings, "counting"):
        now = build_tables(program, source.documents(), workers=work.profile.workers)
    differs = frozen is None or frozen.digest != now.digest
    if work.settings.json:
        emit_json(
            {"name": program.name, "changes": differs, "frozen": _record(live.tables), **_drifts_json(frozen, now)}
        )
    else:
        write(f"{program.name}: {_frozen_line(live.tables)}")
        for line in _drift_lines(frozen, now):
            write(line)
    return ExitCode.CHANGES if differs else ExitCode.OK


def _show(work: Session, planned: Planned, live: Manifest, *, full: bool) -> None:
    from idxopt.cli.render.plans import plan_lines

    if work.settings.json:
        return
    write(f"{planned.plan.name}: {_frozen_line(live.tables)}")
    for line in plan_lines(planned.plan, full=full):
        write(line)


def _tell(work: Session, name: str, applied: Applied, frozen: Tables | None) -> None:
    from idxopt.builds.state import StateStore
    from idxopt.cli.render.outcomes import applied_json, applied_lines
    from idxopt.deploy.loading import tables_of

    store = StateStore(work.engine)
    made = store.manifest(name, applied.build)
    assert made is not None
    now = tables_of(store, made)
    if work.settings.json:
        document = applied_json(applied, name, changes=True)
        emit_json({**document, "frozen": _record(made.tables), **_drifts_json(frozen, now)})
        return
    write(_frozen_line(made.tables))
    for line in _drift_lines(frozen, now):
        write(line)
    for line in applied_lines(applied, name):
        write(line)


def _frozen_line(record: TablesRecord | None) -> str:
    from idxopt.cli.render.states import tables_text

    return tables_text(record) if record is not None else "no tables are frozen yet"


def _record(record: TablesRecord | None) -> dict[str, Any] | None:
    return None if record is None else record.model_dump(mode="json")


def _drift_lines(frozen: Tables | None, now: Tables) -> list[str]:
    from idxopt.deploy.table_drift import MOVED, table_drifts

    if frozen is None:
        return ["  the tables before are lost, so there is nothing to compare"]
    if frozen.digest == now.digest:
        return ["  the corpus gives the same tables"]
    lines = []
    for drift in table_drifts(frozen, now):
        lines.append(
            f"  {drift.field} ({drift.stream}): N {drift.documents[0]:,} -> {drift.documents[1]:,}, terms "
            f"{drift.terms[0]:,} -> {drift.terms[1]:,}; IDF moved by more than {MOVED:g} for {drift.moved:.1%} of them"
        )
        if drift.largest is not None:
            term, before, after = drift.largest
            lines.append(f"    most for {term!r}: {before:.3f} -> {after:.3f}")
    return lines


def _drifts_json(frozen: Tables | None, now: Tables) -> dict[str, Any]:
    from idxopt.deploy.table_drift import table_drifts

    drifts = None if frozen is None else [asdict(drift) for drift in table_drifts(frozen, now)]
    return {"documents": now.documents, "digest": now.digest, "drift": drifts}
