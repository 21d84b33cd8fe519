"""What a running canary means for plans and applies.

An apply of the candidate's program promotes it and ends the canary; a rollback ends it too, for the way back must
never be blocked. Any other apply that would move readers is refused until `idxopt canary stop`. Repairs that leave the
live build where it is go on as always.

A record that cannot be read splits no query, but any build may be its candidate, also while nothing is live: until
`idxopt canary stop` removes it (or `destroy` everything), nothing else goes live and nothing is collected; plans,
repairs and rollbacks go on and leave it where it is.
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


def damage_text(observed: Observed) -> str:
    """Why the record cannot be read and what that means, with the remedy."""
    means = "" if observed.live is None else ", so the live build answers every query"
    return f"{observed.damaged_canary}{means}; `idxopt canary stop {observed.name}` removes it"


def with_canary_note(plan: Plan, observed: Observed) -> Plan:
    """The plan, which says what it means for the canary that runs."""
    note = _damaged_note(plan, observed) if observed.damaged_canary else _running_note(plan, observed)
    return plan if note is None else plan.model_copy(update={"notes": (*plan.notes, note)})


def _damaged_note(plan: Plan, observed: Observed) -> str:
    refused = moves_readers(plan) and not plan.target
    return f"! {damage_text(observed)}" + ("; apply is refused until then" if refused else "")


def _running_note(plan: Plan, observed: Observed) -> str | None:
    canary = observed.canary
    if canary is None:
        return None
    runs = f"canary: build {canary.candidate} answers {share_text(canary.share)} of the queries since {canary.started}"
    if not moves_readers(plan):
        return runs
    if plan.target:
        return f"! {runs}; this rollback ends it"
    if promotes(observed, plan):
        return f"{runs}; this apply puts its program live and ends it"
    return f"! {runs}; apply is refused until `idxopt canary stop {observed.name}`"


def moves_readers(plan: Plan) -> bool:
    """True when the live build would be another one afterwards."""
    return any(isinstance(step, Switch) and (not plan.live or step.build != plan.live) for step in plan.steps)


def promotes(observed: Observed, plan: Plan) -> bool:
    """True for a plan of the program that the candidate was built from."""
    candidate = observed.builds.get(observed.canary.candidate) if observed.canary is not None else None
    return candidate is not None and candidate.program_hash == plan.program_hash


def refuse_beside(observed: Observed, plan: Plan) -> None:
    """Before the first write of an apply. Raises GateRefused where a canary of another program runs, or its record
    cannot be read.
    """
    if not moves_readers(plan) or plan.target:
        return
    if observed.damaged_canary:
        raise GateRefused(
            f"{observed.damaged_canary}: another build may be its candidate",
            place=plan.name,
            remedy=f"`idxopt canary stop {plan.name}` removes it, then apply; indices that are built already are"
            " used again",
        )
    canary = observed.canary
    if canary is None or promotes(observed, plan):
        return
    raise GateRefused(
        f"a canary of another program runs since {canary.started} (build {canary.candidate}, by {canary.who})",
        place=plan.name,
        remedy=f"`idxopt canary stop {plan.name}` first, or apply the candidate's program to put that live",
    )


def drop_stale(engine: Engine, observed: Observed) -> None:
    """Removes the record of a canary whose incumbent is not live any more: a run was killed right after its switch.

    One that cannot be read stays.
    """
    if observed.canary is None and not observed.damaged_canary and has_canary(engine, observed.name):
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
