"""What an apply is allowed to do, and what it tells while it works."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from idxopt.builds.lock import LockSettings, OnWait
from idxopt.deploy.intent import TextsEstimate
from idxopt.deploy.ledger import NO_WRITES, Writes
from idxopt.evaluation.comparison import DEFAULT_MARGIN, Requirement
from idxopt.evaluation.judgments import JudgedQueries
from idxopt.models.opening import Models
from idxopt.operators.fidelity import Entailment


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


def agree(estimates: Sequence[TextsEstimate]) -> None:
    """Consent given beforehand."""


@dataclass(frozen=True, slots=True)
class TextOptions:
    """What may be spent on generated texts. `budget`: money over all runs for the same program and documents (None: no
    limit). `consent` sees the count of what is missing before anything is sent, and raises to refuse. `for_writes`:
    whether texts of carried writes may be made too, whose number nobody was shown. `concurrency`: requests under way at
    once. `entailment`: judges restructured sections, where there is such a model.
    """

    budget: float | None = None
    concurrency: int = 4
    consent: Callable[[Sequence[TextsEstimate]], None] = agree
    for_writes: bool = True
    entailment: Entailment | None = None


@dataclass(frozen=True, slots=True)
class TextsMade:
    """What was generated. `failed`: answers that could not be used, twice; the text stays as it was there."""

    texts: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    money: float = 0.0

    def __add__(self, other: TextsMade) -> TextsMade:
        return TextsMade(
            self.texts + other.texts,
            self.failed + other.failed,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.money + other.money,
        )


@dataclass(frozen=True, slots=True)
class ApplyOptions:
    """Settings of one apply; times in seconds. `cache`: folder for journals, snapshots and generated texts. `models`:
    those of the program, open; None where it needs none.
    """

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
    models: Models | None = None
    texts: TextOptions = field(default_factory=TextOptions)


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
    generated: TextsMade = field(default_factory=TextsMade)
