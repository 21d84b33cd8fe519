"""One thing that is wrong with a program, and the nearest valid name."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from dataclasses import dataclass

Location = tuple[str | int, ...]
_LISTED = 20


@dataclass(frozen=True, slots=True)
class Problem:
    """`location` is the path as keys and list positions; `message` and `remedy` are one sentence each."""

    location: Location
    message: str
    remedy: str


def nearest(given: str, known: Collection[str]) -> str:
    """A remedy that names the valid name most like `given`, or else the valid names."""
    if not known:
        return "remove it"
    close = difflib.get_close_matches(given.lower(), sorted(known), n=1, cutoff=0.6)
    if close:
        return f'did you mean "{close[0]}"?'
    names = sorted(known)
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return f"use one of {', '.join(names[:_LISTED])}{more}"
