"""The commit: one `_aliases` request moves all readers, or none (contract 5)."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from idxopt.builds import names
from idxopt.builds.lock import Lock
from idxopt.deploy import aliases
from idxopt.deploy.aliases import AliasKey
from idxopt.deploy.observed import Observed
from idxopt.engines.port import AliasAction, Engine
from idxopt.errors import BuildError, Conflict, EngineError, LockedError, Overloaded, StalePlanError, Unreachable

_TRIES = 5


def present_in_namespace(observed: Observed) -> dict[AliasKey, dict[str, Any]]:
    """The aliases that the commit is about: `{name}` and `{name}--*`, wherever they are."""
    return aliases.present(observed.aliases)


def switch(
    engine: Engine,
    name: str,
    now: Mapping[AliasKey, Mapping[str, Any]],
    then: Mapping[AliasKey, Mapping[str, Any]],
    lock: Lock,
    *,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """Moves all aliases from `now` to `then`, together with the removal of the lock's fence, in one request.

    A reply that never came is looked into: the aliases say whether it happened. Raises LockedError when another run
    took over, StalePlanError when an alias moved meanwhile; in both cases nothing has moved.
    """
    actions = [*aliases.switch_actions(now, then), lock.fence_removal()]
    for attempt in range(_TRIES):
        lock.confirm()
        try:
            engine.update_aliases(actions)
        except Conflict:
            if not committed(engine, name, then):
                raise _refused(engine, name, lock) from None
        except (Unreachable, Overloaded):
            if not committed(engine, name, then):
                sleep(min(2.0**attempt, 10.0))
                continue
        else:
            if _acknowledged(engine, name, then):
                return
            raise _not_as_asked(name)
        return
    raise Unreachable(
        "no answer to the switch of the aliases", place=name, remedy="the old build still serves; run apply again"
    )


def _acknowledged(engine: Engine, name: str, then: Mapping[AliasKey, Mapping[str, Any]]) -> bool:
    """Reading back proves that an acknowledged switch did all of it; where that fails, the acknowledgement counts."""
    try:
        return committed(engine, name, then)
    except EngineError:
        return True


def _not_as_asked(name: str) -> BuildError:
    return BuildError(
        "the switch was acknowledged, but the aliases are not as asked for",
        place=name,
        remedy="somebody changed them at the same moment: look at `idxopt plan`",
    )


def committed(engine: Engine, name: str, then: Mapping[AliasKey, Mapping[str, Any]]) -> bool:
    """True when the aliases are as wanted."""
    found = {**engine.aliases(name), **engine.aliases(f"{name}--*")}
    return not aliases.differences(aliases.present(found), then)


def _refused(engine: Engine, name: str, lock: Lock) -> Exception:
    try:
        fenced = lock.alias in engine.aliases(lock.alias)
    except EngineError:
        fenced = True
    if not fenced:
        return LockedError(
            "another run took the lock over before this one could commit",
            place=name,
            remedy="nothing was switched by this run; see `idxopt status`",
        )
    return StalePlanError(
        "an alias moved between the last check and the switch", place=name, remedy="nothing was switched; plan again"
    )


def removal(observed: Observed) -> list[AliasAction]:
    """Removes every alias of ours from our indices, and our marker from wherever somebody put it (destroy)."""
    return [
        AliasAction("remove", index, alias)
        for (alias, index) in sorted(present_in_namespace(observed))
        if names.marked_build(observed.name, alias) is not None or observed.owned(index)
    ]
