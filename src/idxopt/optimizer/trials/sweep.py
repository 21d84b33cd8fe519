"""Trial indices that were left behind: found by their mark, deleted one by one by exact name and uuid."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

from idxopt.engines.port import Engine, IndexState, Reader
from idxopt.errors import Conflict, EngineError
from idxopt.optimizer.trials.marks import PREFIX, Mark, mark_of


@dataclass(frozen=True, slots=True)
class Found:
    """One trial index to delete."""

    index: str
    uuid: str
    study: str
    expires: dt.datetime


@dataclass(frozen=True, slots=True)
class Left:
    """An index under a name of trials that stays, and why."""

    index: str
    reason: str


@dataclass(frozen=True, slots=True)
class Sweep:
    """What a sweep would delete and leave, or what it did. `failed`: the engine did not let it go."""

    delete: tuple[Found, ...] = ()
    left: tuple[Left, ...] = ()
    failed: tuple[Left, ...] = ()


def plan_sweep(reader: Reader, now: dt.datetime, *, study: str | None = None, every: bool = False) -> Sweep:
    """Trials whose time to live is over; with `study` all of that study, with `every` all of every study."""
    return decide(reader.list_indices(f"{PREFIX}*"), now, study=study, every=every)


def decide(states: Iterable[IndexState], now: dt.datetime, *, study: str | None = None, every: bool = False) -> Sweep:
    """Pure half of `plan_sweep`. Only an index that carries our mark under its own name and has no alias goes."""
    delete: list[Found] = []
    left: list[Left] = []
    for state in states:
        mark = mark_of(state)
        if mark is None:
            left.append(Left(state.name, "it carries no mark of a trial, or one copied from another index"))
        elif state.aliases:
            left.append(Left(state.name, f"somebody uses it by the alias {min(state.aliases)}"))
        elif every or mark.study == study or (study is None and mark.expires <= now):
            delete.append(Found(state.name, state.uuid, mark.study, mark.expires))
        else:
            left.append(Left(state.name, _why_not(mark, study)))
    return Sweep(tuple(delete), tuple(left))


def carry_out(engine: Engine, sweep: Sweep) -> Sweep:
    """Deletes what the plan names while it is still the same index; what was made anew meanwhile is left. Where the
    engine refuses one (`failed`), the others are deleted all the same.
    """
    deleted: list[Found] = []
    left, failed = list(sweep.left), []
    for one in sweep.delete:
        try:
            engine.delete_index(one.index, one.uuid)
        except Conflict:
            left.append(Left(one.index, "it was made anew meanwhile"))
        except EngineError as error:
            failed.append(Left(one.index, error.message))
        else:
            deleted.append(one)
    return Sweep(tuple(deleted), tuple(left), tuple(failed))


def _why_not(mark: Mark, study: str | None) -> str:
    if study is not None:
        return f"it is of study {mark.study}"
    return f"study {mark.study} may still use it, until {mark.expires.astimezone(dt.UTC):%Y-%m-%d %H:%M} UTC"
