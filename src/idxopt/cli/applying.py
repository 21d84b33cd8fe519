"""Putting a plan live: what `apply` and `rollback` share."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from idxopt.cli.confirm import can_ask, confirm
from idxopt.cli.generating import consent, open_priced
from idxopt.cli.interruption import Stopped, stopped_by
from idxopt.cli.progress import ConsoleProgress, stoppable
from idxopt.cli.session import Session
from idxopt.cli.streams import say
from idxopt.cli.units import parse_seconds
from idxopt.errors import EngineError, UsageError

if TYPE_CHECKING:
    from idxopt.builds.lock import LockSettings
    from idxopt.builds.lockrecord import LockRecord
    from idxopt.deploy.intent import Plan, TextsEstimate
    from idxopt.deploy.observed import Observed
    from idxopt.deploy.options import Applied, ApplyOptions, Progress, QualityGate, TextOptions
    from idxopt.program.schema import Program
    from idxopt.sources.source import Source

T = TypeVar("T")

WRITES_REMEDY = "add --carry-writes or --discard-writes"
_TELL_EVERY_S = 10.0
_SLACK = 1.25


@dataclass(frozen=True, slots=True)
class Allowed:
    """What the options allow. `keep` None: the profile's. `budget`: money for generated texts; `yes` agrees to it."""

    carry_writes: bool = False
    discard_writes: bool = False
    lock_timeout: str = "0"
    message: str = ""
    keep: int | None = None
    allow_rejected: int = 0
    quality: QualityGate | None = None
    budget: float | None = None
    yes: bool = False


def check_writes(carry: bool, discard: bool) -> None:
    """The two options exclude each other."""
    if carry and discard:
        raise UsageError("exclude each other", place="--carry-writes, --discard-writes", remedy="give one of them")


def decide_writes(work: Session, observed: Observed, plan: Plan, allowed: Allowed) -> Allowed:
    """Asks what becomes of the writes since the last switch, where there are any, nothing was said and somebody is
    there.

    Where nobody can be asked nothing is decided here: the apply itself refuses then (exit code 5).
    """
    from dataclasses import replace

    if allowed.carry_writes or allowed.discard_writes or not can_ask(work.settings):
        return allowed
    writes = pending_writes(work, observed, plan)
    if not writes:
        return allowed
    chosen = confirm(
        work.settings,
        f"Applications made {writes} writes through the alias since build {plan.live} went live. "
        "carry brings them along, discard leaves them behind.",
        "carry",
        "discard",
        remedy=WRITES_REMEDY,
    )
    return replace(allowed, carry_writes=chosen == "carry", discard_writes=chosen == "discard")


def pending_writes(work: Session, observed: Observed, plan: Plan) -> int:
    """Writes that the switch of this plan would hide: none while the primary index stays."""
    from idxopt.deploy.lowering import compile_plan
    from idxopt.deploy.writes import writes_since_switch

    live = observed.live
    if live is None or not plan.switches:
        return 0
    served = live.views[live.primary].index
    if plan.target:
        target = observed.builds[plan.target]
        then = target.views[target.primary].index
    else:
        lowered = compile_plan(observed, plan)
        then = lowered.compiled.views[lowered.program.primary].index
    if then == served or served not in observed.indices:
        return 0
    work.engine.refresh(served)  # a write of this moment counts too
    return writes_since_switch(work.engine, live).total


def missing_after(work: Session, observed: Observed, plan: Plan) -> tuple[int, list[str]]:
    """Writes that stay because build and target share the primary index, and the returning views that lack them."""
    from idxopt.deploy.writes import writes_since_switch

    live, target = observed.live, observed.builds.get(plan.target)
    if live is None or target is None or not plan.switches:
        return 0, []
    served = live.views[live.primary].index
    serving = {view.index for view in live.views.values()}
    returning = [name for name, view in target.views.items() if view.index not in serving]
    if served != target.views[target.primary].index or served not in observed.indices or not returning:
        return 0, []
    return writes_since_switch(work.engine, live).total, returning


def run_plan(work: Session, plan: Plan, source: Source | None, allowed: Allowed) -> Applied:
    """Applies; the first Ctrl-C stops between steps, with the lock released and the old build serving."""
    from idxopt.deploy.apply import apply_plan

    return with_options(
        work,
        plan,
        allowed,
        lambda options, progress: apply_plan(work.engine, plan, options, source=source, progress=progress),
    )


def with_options(work: Session, plan: Plan, allowed: Allowed, act: Callable[[ApplyOptions, Progress], T]) -> T:
    """Does it with the options of an apply, its models open, stoppable as `run_plan` says."""
    from idxopt.builds.clock import SystemClock, timestamp
    from idxopt.config.load import cache_dir
    from idxopt.deploy.embedding import check_searchable
    from idxopt.deploy.options import ApplyOptions
    from idxopt.operators.heap import map_large_blocks
    from idxopt.program.validate import program_from

    map_large_blocks()
    profile = work.profile
    started, others = timestamp(SystemClock()), set[str]()
    program = program_from(plan.intent.program, "the plan's program")
    with stoppable(work.settings) as progress, open_priced(program, work.config, allowed.budget) as models:
        if plan.switches and not plan.target:  # the way back is open without models too
            check_searchable(models, program)
        options = ApplyOptions(
            cache=cache_dir(),
            lock=lock_settings(work, allowed.lock_timeout),
            workers=profile.workers,
            keep=profile.keep if allowed.keep is None else allowed.keep,
            grace_s=profile.grace_s,
            message=allowed.message,
            allow_rejected=allowed.allow_rejected,
            carry_writes=allowed.carry_writes,
            discard_writes=allowed.discard_writes,
            quality=allowed.quality,
            on_wait=waiting(work, progress, others),
            models=models,
            texts=text_options(work, plan, program, allowed, progress),
        )
        try:
            return act(options, progress)
        except KeyboardInterrupt as interrupt:
            serves = f"build {plan.live} still serves" if plan.live else "nothing went live"
            kept, remedy = left_behind(work, plan.name, started, others)
            raise Stopped(
                stopped_by(interrupt), f"{serves}, unless `idxopt status {plan.name}` says otherwise{kept}", remedy
            ) from None


def text_options(
    work: Session, plan: Plan, program: Program, allowed: Allowed, progress: ConsoleProgress
) -> TextOptions:
    """Consent: `--yes`, or a plan that was confirmed and showed at least as much (it samples; a quarter more is let
    pass), or a yes at the terminal.
    """
    from idxopt.deploy.options import TextOptions

    shown = {one.model: one for one in plan.estimate.generated} if plan.estimate is not None else {}

    def agreed(estimates: Sequence[TextsEstimate]) -> bool:
        return allowed.yes or all(_covered(one, shown.get(one.model)) for one in estimates)

    settings = [work.config.models.get(spec.id) for spec in program.models.values()]
    concurrency = max((one.concurrency for one in settings if one is not None), default=TextOptions().concurrency)
    return TextOptions(
        budget=allowed.budget,
        concurrency=concurrency,
        consent=consent(work.settings, progress, agreed),
        for_writes=allowed.yes or allowed.budget is not None,
    )


def _covered(found: TextsEstimate, shown: TextsEstimate | None) -> bool:
    return shown is not None and found.money <= shown.money * _SLACK and found.tokens_in <= shown.tokens_in * _SLACK


def left_behind(work: Session, name: str, started: str, others: Collection[str]) -> tuple[str, str]:
    """The lock that this run could not release any more, and how to go on. Locks of `others`, by id, are not ours."""
    from idxopt.builds.lock import whoami
    from idxopt.builds.lockrecord import read_lock

    again = "run the command again to go on"
    try:
        held = read_lock(work.engine, name)
    except EngineError:
        return "; its lock may still be there", f"`idxopt status {name}` shows the lock; {again}"
    if held is None or held[0].who != whoami() or held[0].created < started or held[0].id in others:
        return "", again
    return (
        f"; lock {held[0].id} stays until it expires ({held[0].ttl_s:g} s after its last heartbeat)",
        f"idxopt unlock {held[0].id} --force; then {again}",
    )


def lock_settings(work: Session, timeout: str) -> LockSettings:
    """Of the profile, with the option's waiting time."""
    from idxopt.builds.lock import LockSettings

    return LockSettings(
        heartbeat_s=work.profile.heartbeat_s,
        ttl_s=work.profile.ttl_s,
        timeout_s=parse_seconds(timeout, "--lock-timeout"),
    )


def waiting(work: Session, progress: ConsoleProgress, others: set[str]) -> Callable[[LockRecord, float], None]:
    """Tells who holds the lock, and counts down to the takeover of a dead one. `others` collects the ids seen."""
    told = [-_TELL_EVERY_S]

    def tell(record: LockRecord, left: float) -> None:
        others.add(record.id)
        progress.check()
        if time.monotonic() - told[0] >= _TELL_EVERY_S:
            told[0] = time.monotonic()
            say(
                work.settings,
                f"waiting: {record.who} runs `{record.operation}` (lock {record.id}, since {record.created}, last "
                f"heartbeat {record.heartbeat}); without another heartbeat it is taken over in {left:.0f} s",
            )

    return tell
