"""What a study is made from: documents, judged queries, settings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from idxopt.errors import SourceError, UsageError
from idxopt.evaluation.judgments import JudgedQueries, Qrels, Query
from idxopt.models.ports import Generator
from idxopt.operators.row import Document
from idxopt.optimizer.autoindex.settings import SearchSettings
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import Evaluator, Proposer
from idxopt.optimizer.record import Stage
from idxopt.optimizer.splits import HELD_OUT
from idxopt.optimizer.study.replies import RecordedGenerator
from idxopt.program.schema import Program
from idxopt.sources import Rejects, Source

EMBEDDED = "embedded"
INCREMENTAL = "idxopt.optimizer.scoring.evaluator:IncrementalEvaluator"
MOST_WORKERS = 2
Staged = Callable[[Corpus, Sequence[Query], Qrels, Program, Program], tuple[Stage, ...]]


class Progress(Protocol):
    """Told about long work; raises where the work must stop. `total` is 0 where it is not known."""

    def stage(self, text: str) -> None: ...

    def advance(self, what: str, done: int, total: int) -> None: ...

    def check(self) -> None: ...


class Quiet:
    """Tells nothing, and never stops the work."""

    def stage(self, text: str) -> None:
        """Ignored."""

    def advance(self, what: str, done: int, total: int) -> None:
        """Ignored."""

    def check(self) -> None:
        """Ignored."""


@dataclass(frozen=True, slots=True)
class JudgedSet:
    """Judged queries with a name. `place`: where they were read. `test`: the search never sees any of them."""

    name: str
    place: str
    judged: JudgedQueries
    test: bool = False


@dataclass(frozen=True, slots=True)
class EngineChoice:
    """Where programs are scored.

    `label` stands in the manifest and in the keys of scores: equal labels, equal figures. `opened` makes an evaluator
    for the time of a study; None: `maker` (`module:name`, a function of corpus, queries and qrels) makes one here and,
    where there are several workers, one in each of them.
    """

    label: str = EMBEDDED
    maker: str = INCREMENTAL
    opened: Callable[[Corpus, Sequence[Query], Qrels], AbstractContextManager[Evaluator]] | None = None


@dataclass(frozen=True, slots=True)
class ProposerTools:
    """What a proposer is made with. `generator`: where a language model is asked; `note` writes down an event, once."""

    corpus: Corpus
    baseline: Program
    generator: RecordedGenerator | None
    note: Callable[[str, str], None]


@dataclass(frozen=True, slots=True)
class ProposerChoice:
    """Who proposes.

    `generator` is that model, unwrapped: a study keeps its answers and reserves its money. `identity`: what else
    decides the proposals (the model and the version of its prompt); it stands in the manifest.
    """

    name: str
    made: Callable[[ProposerTools], Proposer]
    generator: Generator | None = None
    identity: str = ""
    currency: str = "USD"

    @property
    def label(self) -> str:
        return f"{self.name} {self.identity}".strip()


@dataclass(frozen=True, slots=True)
class StudySettings:
    """What decides the result of a study, beside documents, queries and the baseline. Raises UsageError.

    `held_out`, `test`: shares of the queries. `sample`: documents to search with (None: all). `max_p95_ms`: a slower
    program is refused; a measured time, so such a study is repeatable only from its own store of scores.
    `allow_missing`: judged documents that are not in the corpus are a note instead of an error.
    """

    search: SearchSettings = field(default_factory=SearchSettings)
    held_out: float = HELD_OUT
    test: float = 0.0
    sample: int | None = None
    max_p95_ms: float | None = None
    allow_missing: bool = False

    def __post_init__(self) -> None:
        if self.sample is not None and self.sample < 2:
            raise UsageError(f"a sample of {self.sample} documents is too small", place="--sample", remedy="use 100")
        if self.max_p95_ms is not None and not self.max_p95_ms > 0:
            raise UsageError("the limit of the latency must be above 0", place="--max-p95", remedy="write it like 50ms")

    @property
    def seed(self) -> int:
        return self.search.seed

    def plain(self) -> dict[str, Any]:
        """JSON for the manifest."""
        return {**asdict(self.search), "held_out": self.held_out, "test": self.test, **self._further()}

    def _further(self) -> dict[str, Any]:
        return {"sample": self.sample, "max_p95_ms": self.max_p95_ms, "allow_missing": self.allow_missing}


@dataclass(frozen=True, slots=True)
class RunLimits:
    """What may differ from run to run of one study: seconds, worker processes, money, the file of scores, and what
    is measured beside the search. `controls`: random programs to score for comparison. `retry_failed_answers`: what a
    language model did not answer in earlier runs is asked again, and the search goes another way from there.
    `latency_s`: the time for measuring how long queries take under baseline, winner and the steps (0: not measured).
    """

    time_s: float | None = None
    workers: int = 1
    budget: float | None = None
    scores: Path | None = None
    controls: int = 0
    retry_failed_answers: bool = False
    latency_s: float = 0.0

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= MOST_WORKERS:
            raise UsageError(
                f"{self.workers} workers are not possible", place="--workers", remedy=f"use 1 to {MOST_WORKERS}"
            )


@dataclass(frozen=True, slots=True)
class StudyInputs:
    """Everything that a study is run with. `baseline` is the program that is to be improved.

    `plan_options` stand behind the program in the printed `idxopt plan`. `staged`: makes the table of baseline and
    winner behind other pipelines, where there are models for it.
    """

    name: str
    source: Source
    baseline: Program
    sets: Sequence[JudgedSet]
    proposer: ProposerChoice
    engine: EngineChoice = field(default_factory=EngineChoice)
    settings: StudySettings = field(default_factory=StudySettings)
    limits: RunLimits = field(default_factory=RunLimits)
    plan_options: str = ""
    staged: Staged | None = None


def read_corpus(source: Source, rejects: Rejects, progress: Progress) -> Corpus:
    """All documents that can be indexed; the others are in `rejects`. Raises SourceError for an id that comes twice."""
    progress.stage("read documents")
    expected = source.estimate().documents or 0
    found: dict[str, Document] = {}
    for number, (place, document) in enumerate(source.located(rejects), 1):
        if document.id in found:
            raise SourceError(
                f"the id {document.id!r} comes twice", place=place, remedy="give every document an id of its own"
            )
        found[document.id] = document
        if number % 256 == 0:
            progress.advance("read documents", number, max(expected, number))
    if not found:
        raise SourceError("has no document that can be indexed", place=source.place, remedy="see rejects.jsonl")
    return Corpus.of(found.values())
