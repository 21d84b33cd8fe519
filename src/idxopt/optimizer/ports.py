"""What the parts of a search agree on: proposals, scores, evaluators, proposers (ask and tell)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from idxopt.evaluation.judgments import Query, Run
from idxopt.evaluation.metrics import Metric
from idxopt.optimizer.diagnosis.findings import Diagnosis
from idxopt.optimizer.edits import Edit
from idxopt.program.canonical import program_hash
from idxopt.program.schema import Program

Values = npt.NDArray[np.float64]
NDCG, RECALL, JUDGED = Metric("nDCG", 10), Metric("Recall", 100), Metric("Judged", 10)
METRICS = (NDCG, RECALL, JUDGED)
"""What every evaluation of a candidate computes."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """One change to the current program. `kind` is a short stable word for tables (`field title`, `slice words`);
    `why` one sentence that names the evidence; `proposer` who made it.

    A kind may say what it decides and how: `title: weight 0.5`.
    """

    edits: tuple[Edit, ...]
    kind: str
    why: str
    proposer: str

    @property
    def aspect(self) -> str:
        """What it decides."""
        return self.kind.partition(":")[0]

    def is_alternative_to(self, other: Proposal) -> bool:
        """Whether both decide the same, so that only one of them can be wanted."""
        return ":" in self.kind and self.aspect == other.aspect


@dataclass(frozen=True, slots=True)
class Candidate:
    """A proposal as a whole, valid program. Two candidates with one `hash` are the same program."""

    program: Program
    proposal: Proposal | None
    hash: str

    @classmethod
    def of(cls, program: Program, proposal: Proposal | None = None) -> Candidate:
        return cls(program, proposal, program_hash(program))


@dataclass(frozen=True, slots=True)
class Size:
    """What a program costs to keep: `rows` over all views, `bytes` of stored text, postings and vectors (an
    estimate, equal on every run and engine), `views`.
    """

    rows: int
    bytes: int
    views: int


@dataclass(frozen=True, slots=True)
class Scores:
    """The figures of one program: an array a metric of METRICS, in the order of the evaluator's queries."""

    values: Mapping[Metric, Values]
    size: Size

    def at(self, metric: Metric, places: npt.NDArray[np.int64]) -> Values:
        """The values of some queries, by their places."""
        return self.values[metric][places]


class Evaluator(Protocol):
    """Scores programs over one corpus and a fixed list of judged queries. Equal programs give equal bits.

    Implementations: `scoring.evaluator.IncrementalEvaluator` (embedded), `trials.evaluator.ClusterEvaluator`.
    """

    @property
    def queries(self) -> Sequence[Query]:
        """The order of all arrays of scores."""
        ...

    def scores(self, program: Program) -> Scores:
        """Raises ProgramError for a program that cannot be built, BuildError and EngineError where building fails."""
        ...

    def rankings(self, program: Program, query_ids: Sequence[str], depth: int) -> Run:
        """The best `depth` (at most the fusion's window) documents of some queries."""
        ...


LegRanks = Mapping[str, Mapping[str, Mapping[str, int]]]
"""By query and document: the document's rank in each leg that found it."""


@runtime_checkable
class LegRanking(Protocol):
    """An evaluator that can say which legs found a document."""

    def leg_ranks(self, program: Program, query_ids: Sequence[str], depth: int) -> LegRanks:
        """Of the documents that `Evaluator.rankings` gives for the same arguments."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a candidate. `refused`: why it was not kept (None: kept). `gain`: mean over all dev queries of
    `metric` against the program that it would replace; `confidence`: share of bootstrap means above 0. `metric`: the
    one that it passed on; where it is refused, the one of the objective that speaks most for it.
    """

    candidate: Candidate
    round: int
    status: Literal["kept", "refused", "invalid", "failed"]
    gain: float | None = None
    confidence: float | None = None
    refused: str | None = None
    metric: Metric | None = None


@dataclass(frozen=True, slots=True)
class SearchState:
    """What a proposer may look at: never held-out queries. `diagnosis` is of the current program over dev queries.

    `seen`: hashes of all programs that were evaluated or refused.
    """

    round: int
    baseline: Program
    current: Program
    diagnosis: Diagnosis
    outcomes: Sequence[Outcome] = ()
    seen: frozenset[str] = field(default_factory=frozenset)


class Proposer(Protocol):
    """Ask and tell, without I/O of its own (the language-model one asks through a `Generator` that records answers).

    Equal states give equal proposals: a resumed study asks again and must hear the same.
    """

    @property
    def name(self) -> str: ...

    def ask(self, state: SearchState, n: int) -> Sequence[Proposal]:
        """At most `n` proposals, best first; none when it has nothing more to say. Invalid and seen programs are
        dropped by the caller, which asks again while proposals come.
        """
        ...

    def tell(self, outcomes: Sequence[Outcome]) -> None:
        """The outcomes of one round."""
        ...
