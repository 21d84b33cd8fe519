"""The lock document: what it says, reading it, and removing it by hand."""

from __future__ import annotations

import contextlib
import datetime as dt
from dataclasses import asdict, dataclass
from typing import Any

from idxopt.builds import names
from idxopt.builds.clock import Clock, SystemClock
from idxopt.builds.state import state_document
from idxopt.engines.port import AliasAction, Engine, Reader, Version
from idxopt.errors import BuildError, Conflict, LockedError


@dataclass(frozen=True, slots=True)
class LockRecord:
    """Who holds a lock. `created` and `heartbeat` are the holder's own time, for people; nobody decides by them."""

    name: str
    id: str
    token: str
    who: str
    operation: str
    version: str
    created: str
    heartbeat: str
    heartbeat_s: float
    ttl_s: float

    @property
    def document_id(self) -> str:
        return f"lock:{self.name}"

    def source(self) -> dict[str, Any]:
        return {"kind": "lock", **asdict(self)}

    def age_s(self, clock: Clock | None = None) -> float:
        """Seconds since the last heartbeat, as far as two clocks agree."""
        then = dt.datetime.fromisoformat(self.heartbeat)
        return ((clock or SystemClock()).now() - then).total_seconds()


def read_lock(engine: Reader, name: str) -> tuple[LockRecord, Version] | None:
    """The lock of a name and its compare-and-swap token, or None when nobody holds it."""
    found = state_document(engine, names.STATE_INDEX, f"lock:{name}")
    if found is None:
        return None
    fields = {key: value for key, value in found.source.items() if key != "kind"}
    try:
        return LockRecord(**fields), found.version
    except TypeError as error:
        raise BuildError(
            f"the lock of {name} cannot be read ({error})",
            place=names.STATE_INDEX,
            remedy="it was written by another version of idxopt; use that one",
        ) from error


def unlock(engine: Engine, name: str, lock_id: str, *, force: bool = False, clock: Clock | None = None) -> LockRecord:
    """Removes a lock and its fence, so that its holder can no longer commit. Returns what was removed.

    Raises LockedError when another lock is held, or without `force` when the last heartbeat is younger than one
    interval.
    """
    held = read_lock(engine, name)
    if held is None:
        raise BuildError("is not locked", place=name, remedy="there is nothing to unlock")
    record, version = held
    if record.id != lock_id:
        raise LockedError(
            f"the lock is {record.id}, not {lock_id}",
            place=name,
            remedy=f"check who holds it, then: idxopt unlock {record.id}",
        )
    age = record.age_s(clock)
    if age < record.heartbeat_s and not force:
        raise LockedError(
            f"{record.who} is alive: its last heartbeat was {max(age, 0):.0f} s ago",
            place=name,
            remedy="wait for it, or stop that run first; --force removes the lock all the same",
        )
    try:
        engine.delete_document(names.STATE_INDEX, record.document_id, expect=version)
    except Conflict as error:
        raise LockedError(
            f"{record.who} is alive: the lock moved just now", place=name, remedy="wait for it"
        ) from error
    remove_fences(engine, name)
    return record


def remove_fences(engine: Engine, name: str, keep: str | None = None) -> None:
    """Removes the fences of earlier holders of this name, but for the token `keep`."""
    for alias in engine.aliases(f"{names.lock_alias(name, '')}*"):
        token = names.lock_token(name, alias)
        if token is not None and token != keep:
            # Conflict: its holder has just committed or released.
            with contextlib.suppress(Conflict):
                engine.update_aliases([AliasAction("remove", names.STATE_INDEX, alias)])
