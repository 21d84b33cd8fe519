"""Starting and stopping a canary: an apply up to its switch, then a record instead of the switch.

No alias moves. The candidate's indices are protected from collection as long as the record is there.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from idxopt.builds.canary import STARTED, STOPPED, Canary, delete_canary, put_canary, read_canary
from idxopt.builds.lock import Lock, LockSettings, OnWait
from idxopt.builds.manifest import Manifest
from idxopt.builds.state import Event, StateWriter
from idxopt.deploy.apply import ApplyRun, check_apply
from idxopt.deploy.beside import canary_event, moves_readers
from idxopt.deploy.intent import Intent, Plan
from idxopt.deploy.lowering import lowered_with, target_of
from idxopt.deploy.observed import Observed, observe
from idxopt.deploy.options import ApplyOptions, Progress, Quiet
from idxopt.deploy.rollback import layout_of
from idxopt.deploy.steps import PutTemplate
from idxopt.deploy.templates import wanted_template
from idxopt.engines.port import Engine
from idxopt.errors import BuildError, Conflict, EngineError, IdxoptError, LockedError, UsageError
from idxopt.hashing import text_digest
from idxopt.program.validate import program_from
from idxopt.sources.source import Source

SALT_DIGITS = 16


@dataclass(frozen=True, slots=True)
class Split:
    """What the one who starts a canary decides. `share`: of the queries, above 0 and below 1. `log`: place of the run
    log, for `canary status`.
    """

    share: float
    log: str | None = None


@dataclass(frozen=True, slots=True)
class Started:
    """A canary that runs now. `rows` by view that was built; `seconds` it took."""

    canary: Canary
    rows: Mapping[str, int] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0


def check_start(observed: Observed, plan: Plan) -> None:
    """Raises BuildError where nothing is live, the program is live already, a canary runs, or its record is damaged."""
    if observed.live is None:
        raise BuildError(
            "nothing is live yet, so there is nothing to compare with",
            place=plan.name,
            remedy="put a program live with `idxopt apply` first",
        )
    if observed.damaged_canary:
        raise BuildError(
            observed.damaged_canary,
            place=plan.name,
            remedy=f"`idxopt canary stop {plan.name}` removes it, then start again; indices that are built already are"
            " used again",
        )
    if observed.canary is not None:
        raise BuildError(
            f"a canary runs already (build {observed.canary.candidate}, since {observed.canary.started})",
            place=plan.name,
            remedy=f"`idxopt canary stop {plan.name}`, then start again; indices that are built already are used again",
        )
    if not moves_readers(plan):
        raise BuildError(
            "this program is live already",
            place=plan.name,
            remedy="change it, or add --rebuild for the same program over the documents as they are now",
        )


def start_canary(
    engine: Engine,
    plan: Plan,
    options: ApplyOptions,
    split: Split,
    *,
    source: Source | None = None,
    progress: Progress | None = None,
) -> Started:
    """Builds what the plan builds, without moving an alias, and records the canary.

    Killed at any point the live build serves all queries, and starting again goes on where it stopped. Raises what
    `apply_plan` raises, and as `check_start`.
    """
    started = time.monotonic()
    if not 0 < split.share < 1:
        raise UsageError(
            f"the share {split.share:g} is out of range", place="--share", remedy="write it like 5% or .05"
        )
    check_apply(engine, plan, options, source)
    with Lock(engine, plan.name, "canary start", settings=options.lock, on_wait=options.on_wait) as lock:
        run = ApplyRun(engine, plan, options, source, progress or Quiet(), lock)
        check_start(run.observed, plan)
        built = run.prepare()
        assert built.manifest is not None  # the plan moves readers
        _templates_of_live(engine, plan, run.observed, lock)
        canary = _canary(built.manifest, plan, split, options, lock, run.store)
        _record(engine, canary, lock)
        warnings = list(built.loaded.warnings)
        try:
            run.store.append(canary_event(canary, STARTED, canary.started, canary.who, options.message))
        except IdxoptError as error:
            warnings.append(f"the history could not be written: {error.message}")
    return Started(canary, built.loaded.rows, tuple(warnings), time.monotonic() - started)


def stop_canary(
    engine: Engine, name: str, *, settings: LockSettings, message: str = "", on_wait: OnWait | None = None
) -> Canary | None:
    """Ends the canary of a name: the live build answers everything within the time that readers cache it.

    None: the record could not be read, and is gone now. Raises BuildError when there is none.
    """
    store = StateWriter(engine)
    store.ensure()
    with Lock(engine, name, "canary stop", settings=settings, on_wait=on_wait) as lock:
        try:
            found = read_canary(engine, name)
        except BuildError:
            lock.confirm()
            delete_canary(engine, name)
            store.append(Event(name=name, what=STOPPED, at=store.now(), who=lock.record.who, message=message))
            return None
        if found is None:
            raise BuildError("no canary is running", place=name, remedy="see `idxopt status`")
        canary, version = found
        lock.confirm()
        delete_canary(engine, name, expect=version)
        store.append(canary_event(canary, STOPPED, store.now(), lock.record.who, message))
    return canary


def _canary(
    manifest: Manifest, plan: Plan, split: Split, options: ApplyOptions, lock: Lock, store: StateWriter
) -> Canary:
    """The salt depends on name and program alone: stopped and started with a larger share, the keys that had the
    candidate keep it.
    """
    return Canary(
        name=plan.name,
        incumbent=plan.live,
        candidate=manifest.build,
        share=split.share,
        salt=text_digest(f"{plan.name}:{plan.program_hash}")[:SALT_DIGITS],
        started=store.now(),
        who=lock.record.who,
        log=split.log,
        message=options.message,
    )


def _record(engine: Engine, canary: Canary, lock: Lock) -> None:
    """The record, then the removal of the lock's fence: where that fails another run took over, and the record goes
    again. In between it can do no harm: it holds only for the incumbent, and a candidate that fails is passed over.
    """
    before = read_canary(engine, canary.name)
    lock.confirm()
    try:
        version = put_canary(engine, canary, over=before[1] if before is not None else None)
    except Conflict:
        raise _superseded(canary.name) from None
    try:
        engine.update_aliases([lock.fence_removal()])
    except EngineError as error:
        with contextlib.suppress(EngineError):
            delete_canary(engine, canary.name, expect=version)
        if isinstance(error, Conflict):
            raise _superseded(canary.name) from None
        raise


def _superseded(name: str) -> LockedError:
    return LockedError(
        "another run took the lock over before the canary could start",
        place=name,
        remedy="no query was split by this run; see `idxopt status`",
    )


def _templates_of_live(engine: Engine, plan: Plan, before: Observed, lock: Lock) -> None:
    """Templates belong to the live build: the candidate needed its own only to create its indices."""
    lock.confirm()
    observed = observe(engine, plan.name)
    live = observed.live
    assert live is not None  # compared right before
    layout = layout_of(observed, live)
    program = program_from(live.program, f"build {live.build}")
    compiled = lowered_with(program, target_of(observed, Intent(program=live.program, layout=layout)), live.generations)
    for view in compiled.views.values():
        wanted = wanted_template(observed, view)
        if not wanted.matches(observed.templates.get(view.template_name)):
            engine.put_template(view.template_name, wanted.body)
    for step in plan.steps:
        if isinstance(step, PutTemplate) and step.view not in program.views:
            known = before.templates.get(step.name)
            if known is None:
                engine.delete_template(step.name)
            else:
                engine.put_template(step.name, known.body)
