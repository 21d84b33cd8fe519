"""What a language model answered, read as changes: every size is bounded before it is read, every refusal has a reason.

An answer is JSON: `{"changes": [{"kind": "...", "why": "...", "edits": [...]}]}` with edits as in `optimizer.edits`.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from idxopt.errors import IdxoptError
from idxopt.optimizer.autoindex.bounds import beyond_bounds
from idxopt.optimizer.edits import EDITS, MAX_EDITS, Edit, edited
from idxopt.program.canonical import program_hash
from idxopt.program.schema import Program

MOST_CHARACTERS = 200_000
"""A longer answer is not read."""
MOST_CHANGES = 10
MOST_DEPTH = 24
_MOST_DIGITS = 15
_MOST_KIND, _MOST_WHY, _MOST_REASON = 60, 400, 400
_FENCED = re.compile(r"\A\s*```(?:json)?[ \t]*\n(.*?)\n?```\s*\Z", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Change:
    """A usable change: it gives a valid program within the bounds, whose hash this is."""

    edits: tuple[Edit, ...]
    kind: str
    why: str
    hash: str


@dataclass(frozen=True, slots=True)
class Reading:
    """What an answer held: usable changes in its order, and why the others were refused."""

    changes: tuple[Change, ...]
    refused: tuple[str, ...]


def read_changes(text: str, current: Program) -> Reading:
    """The changes of an answer to `current`. Never raises, whatever the text is."""
    if len(text) > MOST_CHARACTERS:
        return Reading((), (f"the answer has {len(text):,} characters, and at most {MOST_CHARACTERS:,} are read",))
    try:
        value = _parsed(text)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return Reading((), (f"the answer is no usable JSON: {reason[:_MOST_REASON]}",))
    given = value.get("changes") if isinstance(value, dict) else None
    if not isinstance(given, list):
        return Reading((), ('the answer is no object {"changes": [...]}',))
    refused = [] if given else ["the answer proposes nothing"]
    if len(given) > MOST_CHANGES:
        refused.append(f"{len(given):,} changes; only the first {MOST_CHANGES} are looked at")
    changes: list[Change] = []
    for number, one in enumerate(given[:MOST_CHANGES]):
        found = _change(one, current)
        if isinstance(found, Change):
            changes.append(found)
        else:
            refused.append(f"changes[{number}]: {found[:_MOST_REASON]}")
    return Reading(tuple(changes), tuple(refused))


def _change(value: Any, current: Program) -> Change | str:
    """The change, or why it is none."""
    if not isinstance(value, dict) or not isinstance(value.get("edits"), list) or not value["edits"]:
        return 'it is no object {"kind": ..., "why": ..., "edits": [...]} with an edit'
    if len(value["edits"]) > MAX_EDITS:
        return f"{len(value['edits']):,} edits, and at most {MAX_EDITS} are allowed"
    try:
        edits = EDITS.validate_python(value["edits"])
        program = edited(current, edits)
    except ValidationError as error:
        return _shown(error)
    except (IdxoptError, RecursionError) as error:
        return str(error)
    breach = beyond_bounds(program, current)
    if breach is not None:
        return breach
    return Change(
        tuple(edits), _words(value, "kind", _MOST_KIND), _words(value, "why", _MOST_WHY), program_hash(program)
    )


def _words(value: dict[str, Any], name: str, most: int) -> str:
    given = value.get(name)
    text = " ".join(given.split()) if isinstance(given, str) else ""
    return "".join(sign for sign in text if sign.isprintable())[:most] or "not said"


def _shown(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"edits.{place}: {first['msg']}"


def _parsed(text: str) -> Any:
    fenced = _FENCED.match(text)
    value = json.loads(
        fenced.group(1) if fenced else text,
        object_pairs_hook=_object,
        parse_constant=_no_constant,
        parse_int=_whole,
        parse_float=_finite,
    )
    _check(value, MOST_DEPTH)
    return value


def _object(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f"the key {name[:40]!r} stands twice in one object")
        found[name] = value
    return found


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")


def _whole(digits: str) -> int:
    if len(digits) > _MOST_DIGITS:
        raise ValueError(f"a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:40]} is too large")
    return value


def _check(value: Any, depth: int) -> None:
    """Depth and characters of everything in a value."""
    if depth == 0:
        raise ValueError("it is nested too deeply")
    if isinstance(value, str):
        if "\0" in value or any("\ud800" <= sign <= "\udfff" for sign in value):
            raise ValueError("a text holds a NUL character or half of a surrogate pair")
    elif isinstance(value, dict):
        for key, inner in value.items():
            _check(key, depth - 1)
            _check(inner, depth - 1)
    elif isinstance(value, list):
        for inner in value:
            _check(inner, depth - 1)
