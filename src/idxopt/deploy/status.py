"""Status of a name: what is live, how it drifted, how old its data is, and what applications wrote. Read-only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePath

from idxopt.builds.canary import Canary
from idxopt.builds.lockrecord import LockRecord, read_lock
from idxopt.builds.manifest import Manifest
from idxopt.deploy.beside import damage_text
from idxopt.deploy.intent import Intent, Lag, Plan
from idxopt.deploy.ledger import NO_WRITES, Writes
from idxopt.deploy.observed import Observed, observe
from idxopt.deploy.plan import make_plan
from idxopt.deploy.rollback import layout_of, whole
from idxopt.deploy.writes import writes_since_switch
from idxopt.engines.port import Reader
from idxopt.errors import BuildError
from idxopt.sources.source import Source


@dataclass(frozen=True, slots=True)
class ViewStatus:
    """One view: rows now and as built, the share of deleted ones (they shift BM25), bytes, health."""

    view: str
    index: str
    rows: int
    built_rows: int
    deleted_share: float
    bytes: int
    health: str


@dataclass(frozen=True, slots=True)
class Status:
    """`drift` is the plan that would bring the live build back; empty when nothing was changed by others, None where
    something foreign stands in the way of any plan (the notes say what).
    """

    name: str
    live: Manifest | None
    views: tuple[ViewStatus, ...] = ()
    drift: Plan | None = None
    lag: tuple[Lag, ...] = ()
    writes: Writes = NO_WRITES
    lost_on_write: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    lock: LockRecord | None = None
    notes: tuple[str, ...] = ()
    canary: Canary | None = None

    @property
    def drifted(self) -> bool:
        return self.live is not None and (self.drift is None or not self.drift.empty)


def read_status(reader: Reader, name: str, *, cluster: str, source: Source | None = None) -> Status:
    """Reads the status. `source`: compared with what the live build was made from."""
    observed = observe(reader, name)
    held = read_lock(reader, name)
    lock = held[0] if held else None
    live = observed.live
    if live is None:
        damaged = (damage_text(observed),) if observed.damaged_canary else ()
        return Status(name=name, live=None, lock=lock, notes=damaged)
    notes: list[str] = []
    drift = None
    try:
        drift = drift_plan(observed, live, cluster)
        notes += (note.removeprefix("! ") for note in drift.notes)
    except BuildError as error:  # something foreign stands in the way of any plan: to be told, not to hide the rest
        notes.append(str(error))
        if observed.damaged_canary:
            notes.append(damage_text(observed))
    writes = NO_WRITES
    if live.views[live.primary].index in observed.indices:
        try:
            writes = writes_since_switch(reader, live)
        except BuildError as error:
            notes.append(error.message)
    return Status(
        name=name,
        live=live,
        views=tuple(_view(reader, observed, view, built.index, built.rows) for view, built in live.views.items()),
        drift=drift,
        lag=data_lag(live, source),
        writes=writes,
        lost_on_write=drift.lost_on_write if drift is not None else {},
        kept=tuple(id for id, build in observed.builds.items() if id != live.build and whole(observed, build)),
        lock=lock,
        notes=tuple(notes),
        canary=observed.canary,
    )


def drift_plan(observed: Observed, live: Manifest, cluster: str) -> Plan:
    """The plan for the program that is live already: it holds exactly what others changed."""
    index = live.views[live.primary].index
    layout = layout_of(observed, live) if index in observed.indices else Intent(program={}).layout
    return make_plan(observed, Intent(program=live.program, layout=layout), cluster=cluster)


def data_lag(live: Manifest | None, source: Source | None) -> tuple[Lag, ...]:
    """Whether the source has moved since the live build read it. Shown, never a change (contract 6)."""
    if live is None or source is None:
        return ()
    if source.marks() == live.source.marks:
        return ()
    if PurePath(source.place) != PurePath(live.source.place):
        what = f"build {live.build} was made from {live.source.place}, this is {source.place}"
    else:
        what = f"{source.place} has changed since build {live.build} read it"
    return (Lag(what=f"{what}; `idxopt apply --rebuild` indexes what is there now"),)


def _view(reader: Reader, observed: Observed, view: str, index: str, rows: int) -> ViewStatus:
    state = observed.indices.get(index)
    if state is None:
        return ViewStatus(view, index, 0, rows, 0.0, 0, "missing")
    stats = reader.stats(index)
    total = stats.documents + stats.deleted
    return ViewStatus(
        view, index, stats.documents, rows, stats.deleted / total if total else 0.0, stats.bytes, state.health
    )
