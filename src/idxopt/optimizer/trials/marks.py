"""Names and marks of trial indices.

A trial's owner is not that of builds: nothing that plans, applies, collects or destroys builds takes one for its own.
An index is a trial only while its mark names that very index (a clone copies `_meta`).
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from idxopt.engines.port import IndexState
from idxopt.errors import UsageError

OWNER = "idxopt-trial"
PREFIX = ".idxopt-trial-"
KEY_DIGITS = 8
MAX_STUDY = 40
_STUDY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a finished load left in a trial index. `checkpoint`: of its one shard; another one means later writes."""

    rows: int
    checkpoint: int


@dataclass(frozen=True, slots=True)
class Mark:
    """What a trial index says of itself. `key`: 64 hex digits over everything that decides its rows. `view_hash`: the
    compiler's. `loaded`: None until its rows were verified. Times are UTC.
    """

    study: str
    key: str
    view_hash: str
    created: dt.datetime
    expires: dt.datetime
    loaded: Loaded | None = None

    @property
    def index(self) -> str:
        return trial_index(self.study, self.key)

    def renewed(self, expires: dt.datetime) -> Mark:
        return replace(self, expires=expires)

    def meta(self) -> dict[str, Any]:
        """`_meta` of the index."""
        loaded = self.loaded
        return {
            "idxopt": {
                "owner": OWNER,
                "index": self.index,
                "view_hash": self.view_hash,
                "trial": {
                    "study": self.study,
                    "key": self.key,
                    "created": self.created.isoformat(timespec="seconds"),
                    "expires": self.expires.isoformat(timespec="seconds"),
                    **({"rows": loaded.rows, "checkpoint": loaded.checkpoint} if loaded else {}),
                },
            }
        }


def check_study(study: str) -> str:
    """The id of a study as names of indices carry it. Raises UsageError."""
    if len(study) > MAX_STUDY or _STUDY.fullmatch(study) is None:
        raise UsageError(
            f"{study!r} is no id of a study",
            place="study",
            remedy=f"use at most {MAX_STUDY} small letters and digits, parted by single hyphens",
        )
    return study


def trial_index(study: str, key: str) -> str:
    """`.idxopt-trial-{study}-{hash8}`."""
    return f"{PREFIX}{study}-{key[:KEY_DIGITS]}"


def mark_of(state: IndexState) -> Mark | None:
    """The mark of a trial index; None where it is missing, damaged, or copied from another index."""
    own = (state.mappings.get("_meta") or {}).get("idxopt")
    if not isinstance(own, Mapping) or own.get("owner") != OWNER or own.get("index") != state.name:
        return None
    try:
        mark = _read(own)
    except (KeyError, TypeError, ValueError):
        return None
    return mark if mark.index == state.name else None


def _read(own: Mapping[str, Any]) -> Mark:
    trial = own["trial"]
    loaded = None
    if "rows" in trial:
        loaded = Loaded(int(trial["rows"]), int(trial["checkpoint"]))
    created, expires = (dt.datetime.fromisoformat(trial[name]) for name in ("created", "expires"))
    if created.tzinfo is None or expires.tzinfo is None:
        raise ValueError("a time without a zone")
    return Mark(str(trial["study"]), str(trial["key"]), str(own["view_hash"]), created, expires, loaded)
