"""What a running canary means for plans and applies.

An apply of the candidate's program promotes it and ends the canary; a rollback ends it too, for the way back must
never be blocked. Any other apply that would move readers is refused until `idxopt canary stop`. Repairs that leave the
live build where it is go on as always.
"""

from __future__ import annotations

from idxopt.builds.canary import ENDED, Canary, delete_canary, has_canary
from idxopt.builds.state import Event, StateWriter
from idxopt.deploy.intent import Plan
from idxopt.deploy.observed import Observed
from idxopt.deploy.steps import Switch
from idxopt.engines.port import Engine
from idxopt.errors import GateRefused


def share_text(share: float) -> str:
    """`5%`, `0.25%`."""
    return f"{share * 100:.6g}%"


def with_canary_note(plan: Plan, observed: Observed) -> Plan:
    """The plan, which says what it means for the canary that runs."""
    canary = observed.canary
    if canary is None:
        return plan
    runs = f"canary: build {canary.candidate} answers {share_text(canary.share)} of the queries since {canary.started}"
    if not moves_readers(plan):
        note = runs
    elif plan.target:
        note = f"! {runs}; this rollback ends it"
    elif promotes(observed, plan):
        note = f"{runs}; this apply puts its program live and ends it"
    else:
        note = f"! {runs}; apply is refused until `idxopt canary stop {observed.name}`"
    return plan.model_copy(update={"notes": (*plan.notes, note)})


def moves_readers(plan: Plan) -> bool:
    """True when the live build would be another one afterwards."""
    return any(isinstance(step, Switch) and step.build != plan.live for step in plan.steps)


def promotes(observed: Observed, plan: Plan) -> bool:
    """True for a plan of the program that the candidate was built from."""
    candidate = observed.builds.get(observed.canary.candidate) if observed.canary is not None else None
    return candidate is not None and candidate.program_hash == plan.program_hash


def refuse_beside(observed: Observed, plan: Plan) -> None:
    """Before the first write of an apply. Raises GateRefused where a canary of another program runs."""
    canary = observed.canary
    if canary is None or not moves_readers(plan) or plan.target or promotes(observed, plan):
        return
    raise GateRefused(
        f"a canary of another program runs since {canary.started} (build {canary.candidate}, by {canary.who})",
        place=plan.name,
        remedy=f"`idxopt canary stop {plan.name}` first, or apply the candidate's program to put that live",
    )


def drop_stale(engine: Engine, observed: Observed) -> None:
    """Removes the record of a canary whose incumbent is not live any more: a run was killed right after its switch."""
    if observed.canary is None and has_canary(engine, observed.name):
        delete_canary(engine, observed.name)


def end_canary(engine: Engine, store: StateWriter, canary: Canary, who: str, why: str) -> None:
    """After readers moved: the record goes, the history tells it."""
    delete_canary(engine, canary.name)
    store.append(canary_event(canary, ENDED, store.now(), who, why))


def canary_event(canary: Canary, what: str, at: str, who: str, message: str) -> Event:
    """An entry of the history. `build` is the candidate; no build is `previous`, for no reader left one for good."""
    return Event(
        name=canary.name,
        what=what,
        at=at,
        who=who,
        build=canary.candidate,
        message=message,
        details={"incumbent": canary.incumbent, "share": canary.share},
    )
