"""The lock of a name: one writer at a time, and a fence that stops a superseded one (contract 7).

The lock is one state document, changed only by compare-and-swap. Its holder bumps it every heartbeat; a waiter calls it
dead when it has not moved for the time to live, measured by the waiter's own clock. The holder also owns the alias
`.idxopt-lock-{name}-{token}`; whoever takes over removes it, and every commit must remove it too, so that a holder
which wakes up late cannot commit whatever it believes.
"""

from __future__ import annotations

import contextlib
import getpass
import os
import secrets
import socket
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import TracebackType

from idxopt import __version__
from idxopt.builds import names
from idxopt.builds.clock import Clock, SystemClock, timestamp
from idxopt.builds.lockrecord import LockRecord, read_lock, remove_fences
from idxopt.builds.state import ensure_index
from idxopt.engines.port import AliasAction, Engine, Version
from idxopt.errors import Conflict, EngineError, LockedError, NotFound, Unreachable

HEARTBEAT_S = 10.0
TTL_S = 60.0
_POLL_S = 1.0

OnWait = Callable[[LockRecord, float], None]
"""Called while waiting with the lock as seen and the seconds until it is taken over."""


def whoami() -> str:
    """`user@host`, for people."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"


@dataclass(frozen=True, slots=True)
class LockSettings:
    """Of the profile, all in seconds. `timeout_s`: how long to wait for a living holder (0: not at all)."""

    heartbeat_s: float = HEARTBEAT_S
    ttl_s: float = TTL_S
    timeout_s: float = 0.0


class Lock:
    """A lock that is held between `__enter__` and `__exit__`. Raises LockedError when somebody else holds it."""

    def __init__(
        self,
        engine: Engine,
        name: str,
        operation: str,
        *,
        settings: LockSettings | None = None,
        who: str | None = None,
        clock: Clock | None = None,
        on_wait: OnWait | None = None,
    ) -> None:
        self._engine = engine
        self._settings = settings or LockSettings()
        self._clock = clock or SystemClock()
        self._on_wait = on_wait
        created = timestamp(self._clock)
        self.record = LockRecord(
            name=name,
            id=secrets.token_hex(4),
            token=secrets.token_hex(8),
            who=who or whoami(),
            operation=operation,
            version=__version__,
            created=created,
            heartbeat=created,
            heartbeat_s=self._settings.heartbeat_s,
            ttl_s=self._settings.ttl_s,
        )
        self._guard = threading.Lock()
        self._version: Version | None = None
        self._beaten = 0.0
        self._lost: str | None = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def id(self) -> str:
        return self.record.id

    @property
    def alias(self) -> str:
        """The fence. It is there until the commit, or until somebody else took over."""
        return names.lock_alias(self.record.name, self.record.token)

    def __enter__(self) -> Lock:
        self.acquire()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def acquire(self) -> None:
        """Takes the lock, waiting and taking over as contract 7 says, raises the fence, and starts the heartbeat."""
        ensure_index(self._engine, names.STATE_INDEX)
        self._take()
        try:
            self._raise_fence()
        except BaseException:
            self._drop()
            raise
        self._thread = threading.Thread(target=self._beat_until_stopped, name=f"lock-{self.record.name}", daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Stops the heartbeat and removes fence and document, where they are still ours. Never raises EngineError."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        self._drop()

    def check(self) -> None:
        """Raises LockedError when the lock is lost, or when no heartbeat got through for the time to live. Cheap: call
        it often.
        """
        with self._guard:
            if self._lost is None and self._stale():
                self._beat()
            if self._lost is None and self._stale():
                self._lost = "no heartbeat got through for longer than its time to live"
            if self._lost is not None:
                raise self._lost_error()

    def confirm(self) -> None:
        """Like `check`, after asking the engine: to be called right before the commit."""
        with self._guard:
            if self._lost is None:
                self._beat(strict=True)
            if self._lost is not None:
                raise self._lost_error()

    def fence_removal(self) -> AliasAction:
        """The action that must be part of the commit: it fails when somebody took over."""
        return AliasAction("remove", names.STATE_INDEX, self.alias)

    def raise_fence_again(self) -> None:
        """After a commit, for a second one under the same lock."""
        self.confirm()
        self._raise_fence()

    def _stale(self) -> bool:
        return self._clock.monotonic() - self._beaten > self.record.ttl_s

    def _lost_error(self) -> LockedError:
        return LockedError(
            f"the lock {self.id} is lost: {self._lost}",
            place=self.record.name,
            remedy="nothing was switched by this run; see `idxopt status`, then run the command again",
        )

    # Taking.

    def _take(self) -> None:
        deadline = self._clock.monotonic() + self._settings.timeout_s
        seen: tuple[LockRecord, Version] | None = None
        since = self._clock.monotonic()
        while True:
            held = read_lock(self._engine, self.record.name)
            if held is None:
                if self._store(expect=None):
                    return
                self._clock.sleep(min(_POLL_S, self.record.heartbeat_s / 2))
                continue
            record, version = held
            if seen is None or seen[1] != version:
                if seen is not None and self._clock.monotonic() >= deadline:
                    raise locked_error(record)
                seen, since = held, self._clock.monotonic()
            ttl = max(self.record.ttl_s, record.ttl_s)
            left = since + ttl - self._clock.monotonic()
            if left <= 0:
                if self._store(expect=version):
                    return
                continue
            if self._on_wait is not None:
                self._on_wait(record, left)
            self._clock.sleep(min(_POLL_S, self.record.heartbeat_s / 2, left))

    def _store(self, expect: Version | None) -> bool:
        """One compare-and-swap; False when somebody else was faster."""
        self.record = replace(self.record, heartbeat=timestamp(self._clock))
        try:
            self._version = self._engine.put_document(
                names.STATE_INDEX, self.record.document_id, self.record.source(), create=expect is None, expect=expect
            )
        except (Conflict, Unreachable):
            # A reply that was lost on the way may have been an acknowledgement: look whose lock it is.
            held = read_lock(self._engine, self.record.name)
            if held is None or held[0].id != self.id:
                return False
            self._version = held[1]
        self._beaten = self._clock.monotonic()
        return True

    def _raise_fence(self) -> None:
        """Adds our alias and removes those of earlier holders, then makes sure that the lock is still ours.

        Whichever way two holders interleave: either the later one sees and removes the fence of the earlier, or the
        earlier sees here that the document is no longer its own.
        """
        with contextlib.suppress(Unreachable):
            self._engine.update_aliases([AliasAction("add", names.STATE_INDEX, self.alias, {"is_hidden": True})])
        remove_fences(self._engine, self.record.name, keep=self.record.token)
        if self.alias not in self._engine.aliases(self.alias):
            raise Unreachable(
                "the lock's alias could not be set", place=names.STATE_INDEX, remedy="run the command again"
            )
        self.confirm()

    # Keeping.

    def _beat_until_stopped(self) -> None:
        while not self._clock.wait(self._stop, self.record.heartbeat_s):
            with self._guard:
                if self._lost is not None:
                    return
                self._beat()

    def _beat(self, *, strict: bool = False) -> None:
        """Bumps the document. Sets `_lost` when it is no longer ours; other errors are for the next beat, or raised if
        `strict`.
        """
        self.record = replace(self.record, heartbeat=timestamp(self._clock))
        try:
            self._version = self._engine.put_document(
                names.STATE_INDEX, self.record.document_id, self.record.source(), expect=self._version
            )
            self._beaten = self._clock.monotonic()
        except (Conflict, NotFound):
            self._look(strict=strict)
        except EngineError:
            if strict:
                raise

    def _look(self, *, strict: bool) -> None:
        """After a refused heartbeat: ours after all (its first reply was lost), or somebody else's."""
        try:
            held = read_lock(self._engine, self.record.name)
        except EngineError:
            if strict:
                raise
            return
        if held is not None and held[0].id == self.id:
            self._version = held[1]
            self._beaten = self._clock.monotonic()
        elif held is None:
            self._lost = "it was removed (`idxopt unlock`)"
        else:
            self._lost = f"{held[0].who} took it over for `{held[0].operation}`"

    # Leaving.

    def _drop(self) -> None:
        with self._guard:
            self._lost = self._lost or "it was released"
            with contextlib.suppress(EngineError):
                if self.alias in self._engine.aliases(self.alias):
                    self._engine.update_aliases([self.fence_removal()])
            with contextlib.suppress(EngineError):
                held = read_lock(self._engine, self.record.name)
                if held is not None and held[0].id == self.id:
                    self._engine.delete_document(names.STATE_INDEX, self.record.document_id, expect=held[1])


def locked_error(record: LockRecord) -> LockedError:
    """Who holds it, since when, and what to do."""
    return LockedError(
        f"{record.who} runs `{record.operation}` since {record.created} (lock {record.id}, idxopt {record.version}, "
        f"last heartbeat {record.heartbeat}, expires {record.ttl_s:g} s after its last)",
        place=record.name,
        remedy=f"wait with --lock-timeout, or if that run is dead: idxopt unlock {record.id}",
    )
