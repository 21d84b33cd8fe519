"""What a study leaves behind, as data: everything that its report shows, JSON in and out.

Nothing here computes; the study fills it, the report reads it. Metrics are named as they print (`nDCG@10`). Every mean
is an `Interval`, which carries n. Programs are canonical JSON objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal

import pydantic

from idxopt.errors import EvaluationError
from idxopt.evaluation.bootstrap import Interval
from idxopt.optimizer.ports import Size

VERSION = 1
_REMEDY = "run the `idxopt optimize` of the study again: it writes the record at its end"
MOST_RANKINGS = 60
"""Queries whose rankings a record holds: those that moved most."""
BASELINE, WINNER = "baseline", "winner"
"""The labels of the first and the last column; steps in between are labelled by `step N`."""

Role = Literal["dev", "held_out", "test"]
TrialStatus = Literal["kept", "refused", "invalid", "failed", "merged", "cut", "running", "waiting"]


@dataclass(frozen=True, slots=True)
class QuerySet:
    """One set of judged queries. `synthetic`: the judgments were made by `idxopt queries make`."""

    name: str
    role: Role
    n: int
    synthetic: bool = False


@dataclass(frozen=True, slots=True)
class Objective:
    """The metric that is raised, the one that may not fall, and why it is this one."""

    metric: str
    why: str
    constraint: str | None = None


@dataclass(frozen=True, slots=True)
class Trial:
    """One program that was proposed.

    `status` `waiting`: its round was not finished when the run ended; the next run decides about it.
    `values`: means over all dev queries; `gain`: paired difference of the objective to the program it would replace;
    `difference`: to the baseline; `held_out`: mean of the objective over the held-out queries, where it was read.
    `reason`: why it was not kept. `p95_ms`: of queries, where it was measured. `seconds`: of this trial; `money`: what
    proposing it cost. `cached`: its scores were in the store. `plan`: the command that would put it live.
    """

    number: int
    round: int
    kind: str
    why: str
    proposer: str
    status: TrialStatus
    hash: str
    reason: str | None = None
    values: Mapping[str, Interval] = field(default_factory=dict)
    gain: Interval | None = None
    difference: Interval | None = None
    confidence: float | None = None
    held_out: Interval | None = None
    size: Size | None = None
    p95_ms: float | None = None
    seconds: float = 0.0
    money: float = 0.0
    cached: bool = False
    plan: str = ""


@dataclass(frozen=True, slots=True)
class PathStep:
    """One accepted change. `gain`: of `metric`, the one that it passed on, paired, over all dev queries, to the program
    before (None in records that did not keep it yet); `held_out`: difference of the
    objective to the baseline over the held-out queries; `cut`: the held-out queries cut it off the end of the path.
    """

    trial: int
    kind: str
    why: str
    gain: Interval
    confidence: float
    hash: str
    held_out: Interval | None = None
    cut: bool = False
    metric: str | None = None


@dataclass(frozen=True, slots=True)
class Final:
    """Winner against baseline: one metric over one set. `difference` is paired: winner - baseline, BCa."""

    set: str
    role: Role
    metric: str
    baseline: Interval
    winner: Interval
    difference: Interval
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class Column:
    """A program that per-query values are kept of: the baseline, the steps of the path, the winner.

    `p95_ms`: of its queries, one after the other, where it was measured: on the embedded engine, or on that of the
    study where its search has a limit of latency. It differs from run to run.
    """

    label: str
    hash: str
    size: Size | None = None
    p95_ms: float | None = None


@dataclass(frozen=True, slots=True)
class QueryValues:
    """One query: a value for each of the record's columns, by metric; None where it was not computed.

    `kind`: `short`, `long`, `question`, `identifier`. `slices`: names of the slices that it is part of.
    """

    id: str
    text: str
    set: str
    role: Role
    kind: str
    values: Mapping[str, tuple[float | None, ...]]
    slices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shown:
    """A document in a ranking, its place given by the order. `grade` None: nobody judged it. `legs`: its rank in each
    leg that found it. `excerpt`: a short piece of its text; `matches`: (start, end) in characters of the excerpt.
    """

    doc_id: str
    grade: int | None
    title: str = ""
    excerpt: str = ""
    matches: tuple[tuple[int, int], ...] = ()
    legs: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rankings:
    """The best ten of one query, by column label (`baseline`, `winner`, at most two more)."""

    query_id: str
    lists: Mapping[str, tuple[Shown, ...]]


@dataclass(frozen=True, slots=True)
class Unjudged:
    """A document without a grade. `ranks`: its place by column label. `weight`: what a grade of 1 would move at most
    in the difference of nDCG@10 for this query.
    """

    query_id: str
    doc_id: str
    ranks: Mapping[str, int]
    weight: float
    title: str = ""


@dataclass(frozen=True, slots=True)
class Coverage:
    """Judged@10 of one program and the objective both ways: unjudged documents count as irrelevant, or are left out."""

    label: str
    set: str
    judged: Interval
    as_irrelevant: Interval
    left_out: Interval | None = None


@dataclass(frozen=True, slots=True)
class SliceRow:
    """Gain of the objective over some queries; `n` is in the intervals. `collapsed`: a clear loss."""

    name: str
    set: str
    metric: str
    baseline: Interval
    winner: Interval
    difference: Interval
    collapsed: bool = False


@dataclass(frozen=True, slots=True)
class Attribution:
    """The winner without one step. `loss`: winner minus that; `rows`, `bytes`, `p95_ms`: what the step adds."""

    step: str
    loss: Interval
    rows: int
    bytes: int
    p95_ms: float | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """What a kind of change did over all trials of it: the mean of its gains with an interval over `n` trials."""

    kind: str
    gain: Interval
    kept: int


@dataclass(frozen=True, slots=True)
class Stage:
    """Winner against baseline behind one pipeline (`BM25`, `dense`, `reranked`)."""

    name: str
    metric: str
    baseline: Interval
    winner: Interval
    difference: Interval
    note: str = ""


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Failing dev queries of one kind under the baseline and under the winner."""

    kind: str
    before: int
    after: int


@dataclass(frozen=True, slots=True)
class Control:
    """A program that was not searched for, drawn beside the trials: the best of a random search, a known program."""

    label: str
    value: Interval
    size: Size
    evaluations: int | None = None


@dataclass(frozen=True, slots=True)
class SampleRow:
    """The paired difference winner - baseline on the sample that was searched on, and on all documents."""

    metric: str
    sample: Interval
    full: Interval


@dataclass(frozen=True, slots=True)
class Sampled:
    """Search on a sample, measured again on everything."""

    sample_documents: int
    documents: int
    rows: tuple[SampleRow, ...]


@dataclass(frozen=True, slots=True)
class ModelCost:
    """What one model was asked. `money` None: no price is known."""

    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    money: float | None = None
    priced_on: str = ""


@dataclass(frozen=True, slots=True)
class Cost:
    """What the study took. `evaluations`: programs that were scored; `cache_hits`: programs found in the store."""

    seconds: float
    evaluations: int
    cache_hits: int
    money: float = 0.0
    currency: str = "USD"
    models: tuple[ModelCost, ...] = ()


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, `seconds` after the start: a resume, a retry, a failure, a budget that ran out."""

    seconds: float
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something to know before the figures are believed: near-duplicates, queries copied from text, a warning."""

    kind: str
    text: str
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyRecord:
    """A whole study. `created`: ISO 8601, UTC. `digests`: of corpus, queries, qrels. `synthetic`: a sentence where
    judgments were generated. `plan`: the command that puts the winner live. `queries`: a value for each of `columns`.
    """

    study: str
    created: str
    engine: str
    objective: Objective
    sets: tuple[QuerySet, ...]
    baseline: Mapping[str, Any]
    winner: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    documents: int = 0
    finished: bool = True
    trials: tuple[Trial, ...] = ()
    path: tuple[PathStep, ...] = ()
    finals: tuple[Final, ...] = ()
    columns: tuple[Column, ...] = ()
    queries: tuple[QueryValues, ...] = ()
    rankings: tuple[Rankings, ...] = ()
    unjudged: tuple[Unjudged, ...] = ()
    coverage: tuple[Coverage, ...] = ()
    slices: tuple[SliceRow, ...] = ()
    attribution: tuple[Attribution, ...] = ()
    effects: tuple[Effect, ...] = ()
    staged: tuple[Stage, ...] = ()
    failures: tuple[FailureCount, ...] = ()
    controls: tuple[Control, ...] = ()
    sampled: Sampled | None = None
    cost: Cost | None = None
    events: tuple[Event, ...] = ()
    notes: tuple[Note, ...] = ()
    synthetic: str | None = None
    plan: str = ""
    version: int = VERSION

    @property
    def tried(self) -> tuple[Trial, ...]:
        """The trials that were decided: without those that wait for the next run."""
        return tuple(trial for trial in self.trials if trial.status not in ("running", "waiting"))

    @property
    def without_change(self) -> str:
        """Why the winner is the baseline, for a study that kept no change."""
        if self.finished:
            return "no change passed: the baseline stays"
        waiting = {trial.round for trial in self.trials if trial.status in ("running", "waiting")}
        if not {trial.round for trial in self.trials} - waiting:
            return "stopped before a round was finished: nothing is decided yet"
        return "stopped early: no change has passed so far"

    def to_json(self) -> str:
        """One JSON object, indented. What `from_json` reads gives an equal record."""
        return _adapter().dump_json(self, indent=1).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> StudyRecord:
        """Read a record. Raises EvaluationError naming the first place that is wrong."""
        try:
            record = _adapter().validate_json(text)
        except pydantic.ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, first["loc"])) or "the record"
            raise EvaluationError(
                f"{place} of the study's record is wrong: {first['msg']}",
                remedy=_REMEDY,
            ) from error
        if record.version != VERSION:
            raise EvaluationError(
                f"the study's record has version {record.version}, this release reads {VERSION}",
                remedy=_REMEDY,
            )
        return record


@cache
def _adapter() -> pydantic.TypeAdapter[StudyRecord]:
    return pydantic.TypeAdapter(StudyRecord)
