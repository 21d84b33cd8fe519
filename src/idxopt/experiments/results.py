"""What an experiment found on one collection, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from idxopt.evaluation.bootstrap import Interval
from idxopt.evaluation.costs import EmbeddingCost
from idxopt.evaluation.metrics import PAPER_METRICS, Metric
from idxopt.experiments.methods import Column

MAIN = Metric("nDCG", 5)
METRICS: tuple[Metric, ...] = (*PAPER_METRICS, Metric("Judged", 5))

Finding = Literal["better", "worse", "no clear difference"]


FEWEST = 6
"""Queries that must differ before a difference counts as clear: with five of one sign an exact sign test says p = .06,
where the bootstrap's interval already leaves out 0.
"""


def finding(difference: Interval | None, differing: int) -> Finding | None:
    """Better or worse only where the interval leaves out 0 and enough queries differ."""
    if difference is None:
        return None
    if differing < FEWEST:
        return "no clear difference"
    if difference.low is not None and difference.low > 0:
        return "better"
    return "worse" if difference.high is not None and difference.high < 0 else "no clear difference"


@dataclass(frozen=True, slots=True)
class Cell:
    """One method under one pipeline. `means` by metric; `main`: nDCG@5 with its interval; `difference`: of nDCG@5 to
    raw windows under the same pipeline, paired by query (None: it is raw itself); `differing`: queries where the two
    are not equal. `empty`: queries that found nothing.
    """

    method: str
    column: Column
    means: Mapping[str, float]
    main: Interval
    difference: Interval | None
    per_query: Mapping[str, float]
    differing: int = 0
    empty: int = 0

    @property
    def finding(self) -> Finding | None:
        return finding(self.difference, self.differing)


@dataclass(frozen=True, slots=True)
class Shape:
    """What the cost of representations depends on: means a document. `headed`: share with a section heading."""

    sections: float
    body_tokens: float
    metadata_tokens: float
    headed: float


@dataclass(frozen=True, slots=True)
class Compared:
    """One figure of the raw corpus and of the rewritten one, over the same queries or documents."""

    name: str
    raw: float
    rewritten: float
    difference: Interval | None = None


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the corpus profile said before anything was indexed. `sign` of offline - raw, dense only."""

    regime: str
    sign: str
    recommended: str


@dataclass(frozen=True)
class CollectionResult:
    """Everything about one collection. `left_out`: what was not run, and why, a sentence each."""

    name: str
    statement: str
    digest: str
    markup: str
    queries: int
    cells: tuple[Cell, ...]
    costs: Mapping[str, EmbeddingCost]
    shape: Shape | None
    prediction: Prediction
    density: tuple[Compared, ...] = ()
    fidelity: Mapping[str, Any] = field(default_factory=dict)
    evidence: tuple[Compared, ...] = ()
    evidence_note: str = ""
    answers: Mapping[str, Interval] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()
    seconds: float = 0.0

    def cell(self, method: str, column: Column) -> Cell | None:
        return next((one for one in self.cells if one.method == method and one.column == column), None)

    @property
    def methods(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(cell.method for cell in self.cells))

    def to_json(self) -> dict[str, Any]:
        """JSON values; findings are spelled out."""
        plain = asdict(self)
        plain["cells"] = [{**asdict(cell), "finding": cell.finding} for cell in self.cells]
        return plain


@dataclass(frozen=True)
class Setting:
    """What all collections of one run share. `models` by role; `resamples` of every interval."""

    models: Mapping[str, str]
    engine: str
    idxopt: str
    resamples: int
    notes: tuple[str, ...] = ()
