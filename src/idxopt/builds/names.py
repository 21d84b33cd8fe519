"""Names of aliases, locks and state indices, and the test of what is ours (contracts 4, 5 and 7).

Physical indices, templates and pipelines get their names from the compiler (`{name}--{view}--{hash8}`,
`{name}--{view}`); everything else that idxopt puts into an engine is named here. A name holds no double hyphen, so that
`--` separates.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from idxopt.engines.port import IndexState

OWNER = "idxopt"
BUILDS_INDEX = ".idxopt-builds"
"""Manifests and corpus tables; readers of a build may read it."""
STATE_INDEX = ".idxopt-state"
"""Locks and history."""
LIVE = "live"
"""Part of the marker alias; no view may have this name."""

_TOKEN = re.compile(r"[0-9a-f]{16}")


def view_alias(name: str, view: str) -> str:
    """`{name}--{view}`: a view other than the primary one, which has alias `{name}`."""
    return f"{name}--{view}"


def marker_alias(name: str, build: str) -> str:
    """`{name}--live--{build8}`: on every index of the live build. With an empty build: the prefix of all markers."""
    return f"{name}--{LIVE}--{build}"


def marked_build(name: str, alias: str) -> str | None:
    """The build that a marker alias of this name stands for, or None for any other alias."""
    prefix = marker_alias(name, "")
    return alias.removeprefix(prefix) if alias.startswith(prefix) and len(alias) > len(prefix) else None


def lock_alias(name: str, token: str) -> str:
    """`.idxopt-lock-{name}-{token}`: the fence of a lock; a commit removes it or fails."""
    return f".idxopt-lock-{name}-{token}"


def lock_token(name: str, alias: str) -> str | None:
    """The token of a fence of exactly this name (`a` must not match the fences of `a-b`)."""
    prefix = lock_alias(name, "")
    rest = alias.removeprefix(prefix)
    return rest if alias.startswith(prefix) and _TOKEN.fullmatch(rest) else None


def ours(meta: Mapping[str, Any] | None) -> bool:
    """True for a `_meta` that carries our mark (of an index, a template)."""
    mark = (meta or {}).get("idxopt")
    return isinstance(mark, Mapping) and mark.get("owner") == OWNER


def our_pipeline(body: Mapping[str, Any]) -> bool:
    """True for an ingest pipeline whose description carries our mark."""
    try:
        mark = json.loads(str(body.get("description", "")))
    except ValueError:
        return False
    return isinstance(mark, dict) and mark.get("owner") == OWNER


def owned(state: IndexState, name: str | None = None) -> bool:
    """True when the index is ours: marked, and `_meta.idxopt.index` is its real name (a clone copies `_meta`).

    With `name`: and made for that program name.
    """
    meta = state.mappings.get("_meta")
    if not ours(meta):
        return False
    mark = state.mappings["_meta"]["idxopt"]
    return mark.get("index") == state.name and (name is None or mark.get("name") == name)


def view_hash(state: IndexState) -> str | None:
    """The full view hash that an index of ours carries."""
    if not owned(state):
        return None
    found = state.mappings["_meta"]["idxopt"].get("view_hash")
    return found if isinstance(found, str) else None
