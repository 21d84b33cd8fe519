"""What an apply is allowed to do, and what it tells while it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from idxopt.builds.lock import LockSettings, OnWait
from idxopt.deploy.ledger import NO_WRITES, Writes
from idxopt.evaluation.comparison import DEFAULT_MARGIN, Requirement
from idxopt.evaluation.judgments import JudgedQueries


@dataclass(frozen=True, slots=True)
class QualityGate:
    """Judged queries that the new build must answer well enough before readers move.

    `requirements`: minimum means (`nDCG@10>=.4`). `metric`, `margin`: non-inferiority to the live build: passed when
    the one-sided 95% lower bound of new - live is at least -margin. `accept_undecided`: go on when the interval allows
    both.
    """

    judged: JudgedQueries
    requirements: tuple[Requirement, ...] = ()
    metric: str = "nDCG@10"
    margin: float = DEFAULT_MARGIN
    accept_undecided: bool = False


class Progress(Protocol):
    """Told about long work. `total` is 0 where it is not known."""

    def stage(self, text: str) -> None: ...

    def advance(self, what: str, done: int, total: int) -> None: ...


class Quiet:
    """Tells nothing."""

    def stage(self, text: str) -> None:
        """Ignored."""

    def advance(self, what: str, done: int, total: int) -> None:
        """Ignored."""


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """Settings of one apply; times in seconds. `cache`: folder for journals and snapshots."""

    cache: Path
    lock: LockSettings = field(default_factory=LockSettings)
    workers: int = 2
    keep: int = 1
    grace_s: float = 600.0
    message: str = ""
    allow_rejected: int = 0
    carry_writes: bool = False
    discard_writes: bool = False
    quality: QualityGate | None = None
    on_wait: OnWait | None = None


@dataclass(frozen=True, slots=True)
class Applied:
    """What an apply or rollback did. `rows` by view that was built; `collected`: old indices that were deleted."""

    build: str
    previous: str | None
    rows: Mapping[str, int] = field(default_factory=dict)
    writes: Writes = NO_WRITES
    collected: tuple[str, ...] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
