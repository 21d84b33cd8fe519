"""Rollback is a plan too: the aliases go back to a kept build (contract 8)."""

from __future__ import annotations

from collections.abc import Sequence

from idxopt.builds.canary import ENDED, STARTED, STOPPED
from idxopt.builds.manifest import Manifest
from idxopt.builds.state import Event
from idxopt.deploy.beside import with_canary_note
from idxopt.deploy.changes import Change, Cost, diff_programs
from idxopt.deploy.intent import Intent, Layout, Plan
from idxopt.deploy.observed import BUILT, Observed, fingerprint
from idxopt.deploy.plan import Draft, place_again
from idxopt.deploy.steps import Switch
from idxopt.errors import BuildError

_NEVER_LIVE = frozenset({BUILT, STARTED, STOPPED, ENDED})
"""Events of builds that were not live by them."""


def previous_build(observed: Observed, live: Manifest) -> str | None:
    """The build that was live before the live one and is still whole."""
    for build in once_live(observed.history):
        if build != live.build and build in observed.builds and whole(observed, observed.builds[build]):
            return build
    return None


def once_live(history: Sequence[Event]) -> list[str]:
    """Builds that were live, the latest first."""
    order: list[str] = []
    for event in reversed(history):
        for build in (event.build, event.previous) if event.what not in _NEVER_LIVE else ():
            if build and build not in order:
                order.append(build)
    return order


def whole(observed: Observed, build: Manifest) -> bool:
    """True when the build has all views of its program, and every index of it is still the one that was recorded."""
    return build.views.keys() == build.program["views"].keys() and all(
        (state := observed.indices.get(view.index)) is not None and state.uuid == view.uuid
        for view in build.views.values()
    )


def rollback_plan(observed: Observed, *, to: str | None = None, cluster: str) -> Plan:
    """The plan that makes an earlier build live again.

    Raises BuildError when there is none, or it is no longer whole.
    """
    live = observed.live
    if live is None:
        raise BuildError("there is no live build to go back from", place=observed.name, remedy="see `idxopt status`")
    chosen = to or previous_build(observed, live)
    if chosen is None:
        raise BuildError(
            "no earlier build is kept",
            place=observed.name,
            remedy="apply the earlier program again; --keep sets how many stay",
        )
    target = observed.builds.get(chosen)
    if target is None or not whole(observed, target):
        kept = ", ".join(id for id, build in observed.builds.items() if whole(observed, build)) or "none"
        reason = "is not recorded" if target is None else "is not whole: an index of it is missing"
        raise BuildError(f"build {chosen} {reason}", place=observed.name, remedy=f"kept builds: {kept}")
    moves = chosen != live.build
    intent = Intent(program=target.program, layout=layout_of(observed, target))
    draft = place_again(observed, intent, target) if moves else Draft()
    change = Change(
        symbol="~",
        kind="build",
        subject=observed.name,
        what=f"switch from build {live.build} back to {chosen}",
        cost=Cost.QUERY_ONLY,
        why="rollback",
    )
    plan = Plan(
        schema="idxopt-plan/1",
        name=observed.name,
        cluster=cluster,
        cluster_uuid=observed.capabilities.cluster_uuid,
        intent=intent,
        program_hash=target.program_hash,
        live=live.build,
        target=chosen,
        generations=target.generations,
        program_changes=diff_programs(live.program, target.program, frozenset()),
        changes=(*draft.changes, change) if moves else (),
        steps=(*draft.steps, Switch(build=chosen)) if moves else (),
        marks=fingerprint(observed),
        notes=tuple(draft.notes),
    )
    return with_canary_note(plan, observed)


def layout_of(observed: Observed, build: Manifest) -> Layout:
    """Shards and replicas as the build's primary index has them."""
    settings = observed.indices[build.views[build.primary].index].settings
    return Layout(
        shards=int(settings.get("index.number_of_shards", 1)), replicas=int(settings.get("index.number_of_replicas", 0))
    )
