"""Collecting old builds:

by reference count over the kept ones, after a grace time, and only what is ours (contract 5).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from idxopt.builds import names
from idxopt.builds.canary import ENDED, STOPPED
from idxopt.builds.manifest import Manifest
from idxopt.builds.state import Event, StateWriter
from idxopt.builds.switches import delete_switch, read_switch
from idxopt.deploy.observed import Observed
from idxopt.deploy.rollback import once_live
from idxopt.engines.port import Engine, Reader
from idxopt.errors import Forbidden


@dataclass(frozen=True, slots=True)
class Garbage:
    """What can go: builds by id, indices as (name, uuid), pipelines and templates by name."""

    builds: tuple[str, ...]
    indices: tuple[tuple[str, str], ...]
    pipelines: tuple[str, ...]
    templates: tuple[str, ...]


def kept_builds(history: Sequence[Event], live: str, keep: int) -> list[str]:
    """The live build and the `keep` builds that were live before it, newest first."""
    return [live, *(build for build in once_live(history) if build != live)][: keep + 1]


def retired_at(history: Sequence[Event], build: str) -> dt.datetime | None:
    """When readers last left a build, as the live one or as a canary's candidate; None when they never used it."""
    times = [
        event.at
        for event in history
        if (event.previous == build and event.build != build)
        or (event.build == build and event.what in (STOPPED, ENDED))
    ]
    return max((dt.datetime.fromisoformat(at) for at in times), default=None)


def find_garbage(
    observed: Observed, *, keep: int, grace_s: float, now: dt.datetime, wanted: Iterable[str] = ()
) -> Garbage:
    """Everything of this name that no kept build, canary, alias or current program (`wanted` indices) needs.

    Nothing while the record of a canary cannot be read: any build may be its candidate.
    """
    assert observed.live is not None
    if observed.damaged_canary:
        return Garbage((), (), (), ())
    kept = set(kept_builds(observed.history, observed.live.build, keep))
    if observed.canary is not None:
        kept.add(observed.canary.candidate)
    old = {
        id: build
        for id, build in observed.builds.items()
        if id not in kept and _past_grace(observed, build, grace_s, now)
    }
    referenced = set(wanted) | {
        view.index for id, build in observed.builds.items() if id not in old for view in build.views.values()
    }
    indices = tuple(
        (name, state.uuid)
        for name, state in observed.indices.items()
        if name not in referenced and observed.owned(name) and not state.aliases
    )
    gone = {name for name, _ in indices}
    still_used = {name for name in observed.indices if name not in gone}
    pipelines = tuple(
        name
        for name, body in observed.pipelines.items()
        if name not in still_used and name not in referenced and names.our_pipeline(body)
    )
    views = {view for id, build in observed.builds.items() if id not in old for view in build.views}
    templates = tuple(
        template.name
        for template in observed.templates.values()
        if names.ours(template.body.get("_meta"))
        and template.name.startswith(names.view_alias(observed.name, ""))
        and template.name.removeprefix(names.view_alias(observed.name, "")) not in views
    )
    return Garbage(tuple(old), indices, pipelines, templates)


def collect(
    engine: Engine, store: StateWriter, name: str, garbage: Garbage, kept: Mapping[str, Manifest]
) -> tuple[str, ...]:
    """Deletes it: indices before the pipelines that they name, records last, so that a killed run can be repeated."""
    for index, uuid in garbage.indices:
        engine.delete_index(index, uuid)
    for pipeline in unused(engine, garbage.pipelines):
        engine.delete_pipeline(pipeline)
    for template in garbage.templates:
        engine.delete_template(template)
    tables = {build.tables.digest for build in kept.values() if build.tables is not None}
    ledgers = {record.ledger for id in kept if (record := read_switch(engine, name, id)) is not None}
    for build in garbage.builds:
        _forget(engine, store, name, build, tables | ledgers)
    return tuple(index for index, _ in garbage.indices)


def _forget(engine: Engine, store: StateWriter, name: str, build: str, needed: set[str]) -> None:
    manifest = store.manifest(name, build)
    if manifest is not None and manifest.tables is not None and manifest.tables.digest not in needed:
        store.delete_tables(name, manifest.tables.digest)
    record = read_switch(engine, name, build)
    if record is not None:
        if record.ledger not in needed:
            store.delete_tables(name, record.ledger)
        delete_switch(engine, name, build)
    store.delete_manifest(name, build)


def _past_grace(observed: Observed, build: Manifest, grace_s: float, now: dt.datetime) -> bool:
    """A run that was killed right after its switch told no event: then readers left when the next build was made."""
    later = [one for one in observed.builds.values() if one.build == build.build or one.previous == build.build]
    left = retired_at(observed.history, build.build) or max(dt.datetime.fromisoformat(one.created) for one in later)
    return (now - left).total_seconds() >= grace_s


def unused(reader: Reader, pipelines: Iterable[str]) -> list[str]:
    """Those that no index of the cluster names: deleting one that is in use makes every write to that index fail."""
    wanted = sorted(pipelines)
    if not wanted:
        return []
    try:
        indices = reader.list_indices("*")
    except Forbidden:  # a user of this name's indices alone; those are gone by now
        return wanted
    used = {state.settings.get(f"index.{kind}_pipeline") for state in indices for kind in ("default", "final")}
    return [pipeline for pipeline in wanted if pipeline not in used]
