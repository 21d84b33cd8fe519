"""Changes as data: what a plan shows, with what each costs. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from idxopt.hashing import canonical_json

Symbol = Literal["+", "~", "+/-", "=", "-", "!"]
_QUERY_ONLY_KEYS = frozenset({"weight", "weights", "fusion", "rerank", "alpha", "combine"})


class Data(BaseModel):
    """Base of what goes into a plan file."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Cost(StrEnum):
    """What a change costs, most expensive first."""

    REINDEX = "REINDEX"
    UPDATE_IN_PLACE = "UPDATE_IN_PLACE"
    QUERY_ONLY = "QUERY_ONLY"
    METADATA = "METADATA"


class ProgramChange(Data):
    """One difference of two programs: a JSON path, old and new value (None: absent)."""

    path: str
    old: Any = None
    new: Any = None
    cost: Cost
    why: str


class Change(Data):
    """One thing on the engine that an apply would make, change or replace.

    `kind` says what `subject` names: index, alias, template, pipeline, setting, meta, build. `foreign`: somebody else
    caused it.
    """

    symbol: Symbol
    kind: str
    subject: str
    view: str | None = None
    what: str
    cost: Cost
    why: str
    foreign: bool = False


def diff_programs(
    old: Mapping[str, Any] | None, new: Mapping[str, Any], rebuilt: frozenset[str]
) -> tuple[ProgramChange, ...]:
    """Differences of two canonical programs by JSON path; `rebuilt` names the views whose stored rows change."""
    if old is None:
        return ()
    return tuple(_classified(path, before, after, rebuilt) for path, before, after in _differences((), old, new))


def _classified(path: tuple[str | int, ...], old: Any, new: Any, rebuilt: frozenset[str]) -> ProgramChange:
    cost, why = Cost.REINDEX, "decides what is stored"
    view = path[1] if len(path) > 1 and path[0] == "views" else None
    if _query_only(path, old, new):
        cost, why = Cost.QUERY_ONLY, "read at query time"
    elif view is not None and view not in rebuilt:
        cost, why = Cost.QUERY_ONLY, "stored rows stay the same"
    elif view is None and not rebuilt:
        cost, why = Cost.METADATA, "no stored row depends on it"
    return ProgramChange(path=json_path(path), old=old, new=new, cost=cost, why=why)


def _query_only(path: tuple[str | int, ...], old: Any, new: Any) -> bool:
    if any(part in _QUERY_ONLY_KEYS for part in path):
        return True
    steps = [value for value in (old, new) if isinstance(value, dict)]
    return bool(steps) and "steps" in path and all(step.get("op") == "reweight" for step in steps)


def json_path(path: tuple[str | int, ...]) -> str:
    """`views.content.steps[2].field`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _differences(path: tuple[str | int, ...], old: Any, new: Any) -> Iterator[tuple[tuple[str | int, ...], Any, Any]]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            if key not in old or key not in new:
                yield (*path, key), old.get(key), new.get(key)
            else:
                yield from _differences((*path, key), old[key], new[key])
    elif isinstance(old, list) and isinstance(new, list):
        yield from _list_differences(path, old, new)
    elif old != new:
        yield path, old, new


def _list_differences(
    path: tuple[str | int, ...], old: list[Any], new: list[Any]
) -> Iterator[tuple[tuple[str | int, ...], Any, Any]]:
    before = [canonical_json(item) for item in old]
    after = [canonical_json(item) for item in new]
    for tag, i1, i2, j1, j2 in difflib.SequenceMatcher(a=before, b=after, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        paired = min(i2 - i1, j2 - j1)
        for n in range(paired):
            yield from _differences((*path, j1 + n), old[i1 + n], new[j1 + n])
        for n in range(i1 + paired, i2):
            yield (*path, n), old[n], None
        for n in range(j1 + paired, j2):
            yield (*path, n), None, new[n]
