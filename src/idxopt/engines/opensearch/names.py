"""Which names may be sent to the cluster, and which of its settings are its own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from idxopt.errors import Rejected

ENGINE_MADE = frozenset({"index.uuid", "index.creation_date", "index.provided_name", "index.history.uuid"})
ENGINE_MADE_PREFIXES = ("index.version.", "index.routing.allocation.initial_recovery.")
_FORBIDDEN = re.compile(r'[\s,"*\\/<>|?#:]')


def concrete(name: str, kind: str = "index") -> str:
    """The name itself when it can mean only one thing. Raises Rejected for wildcards, lists, `_all` and the empty name.

    A delete or a switch must never reach more than what it names.
    """
    if not name or name in {"_all", ".", ".."} or name[0] in "_-+" or _FORBIDDEN.search(name):
        raise Rejected(
            f"{name!r} is not the name of one {kind}",
            remedy="give one real name: no wildcard, comma, space or slash, not _all, not empty",
        )
    return name


def pattern_of(pattern: str) -> str:
    """A pattern for reading: one name with any number of `*`. Raises Rejected for lists and exclusions."""
    if not pattern or pattern[0] in "_-+" or _FORBIDDEN.search(pattern.replace("*", "")):
        raise Rejected(f"{pattern!r} is not a pattern", remedy="write one name, with * for any characters")
    return pattern


def matcher(pattern: str) -> re.Pattern[str]:
    """The pattern as the engine reads it: only `*` is special."""
    return re.compile(".*".join(re.escape(part) for part in pattern.split("*")) + r"\Z", re.DOTALL)


def own_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Flat settings without those that the engine makes itself for every index.

    `index.replication.type` is written by the engine into each new index; it is kept only where it is not the default.
    """
    return {
        key: value
        for key, value in settings.items()
        if key not in ENGINE_MADE
        and not key.startswith(ENGINE_MADE_PREFIXES)
        and (key, value) != ("index.replication.type", "DOCUMENT")
    }
