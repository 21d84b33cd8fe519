"""What a diagnosis finds, as data: failing queries, failure kinds, facts of the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from idxopt.program.schema import Markup

FailureKind = Literal[
    "vocabulary_gap",
    "diluted_by_length",
    "wrong_field_wins",
    "boilerplate_match",
    "split_answer",
    "missing_identifier_form",
    "unjudged_above",
    "other",
]


@dataclass(frozen=True, slots=True)
class FieldFacts:
    """One source field over a sample of the documents; shares are of the documents that have the field."""

    present: float
    distinct: float
    mean_words: float
    median_words: float
    p90_words: float


@dataclass(frozen=True, slots=True)
class CorpusFacts:
    """What the texts are like. Shares from 0 to 1, of sampled documents.

    `headings`, `html`, `code_blocks`, `tables`, `lists`, `acronyms` (with their expansion): documents that have any;
    `identifiers`: documents with three or more. `repeated_characters`: of the body, in lines that stand in at least
    max(20, 1%) of the sampled documents (`discard repeated_lines` would see them). `title_in_body`: documents whose
    body begins with their title. `title`, `body`: the fields that were read as such. `markup`: what the bodies look
    like, whatever the source says.
    """

    documents: int
    sampled: int
    fields: Mapping[str, FieldFacts]
    headings: float
    html: float
    code_blocks: float
    tables: float
    lists: float
    identifiers: float
    acronyms: float
    repeated_characters: float
    title_in_body: float
    title: str | None = None
    body: str = ""
    markup: Markup = "text"


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document as a query met it. `rank` from 1, None where it was not found; `grade` None where nobody judged it.

    `words`: its length; `matched`: query terms by searched field; `missing`: query terms that no searched field has.
    Terms are the content words of the query in lower case. `in_source`: those that the source fields have, whether
    searched or not. `row_words`: length of its best row, over its searched fields. `other_forms`: missing terms that it
    has within an identifier, joined with a neighbour, or in parts.
    """

    doc_id: str
    rank: int | None
    grade: int | None
    words: int
    matched: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...]
    in_source: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    row_words: int = 0
    other_forms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FailingQuery:
    """A query below what it could reach: `value` is its nDCG@10.

    `relevant`: its relevant documents, best grade and rank first, at most 20. `above`: at most 5 of what is worse and
    stands before the best relevant document that is not where it could be.
    """

    query_id: str
    text: str
    value: float
    relevant: tuple[Ranked, ...]
    above: tuple[Ranked, ...]
    kinds: tuple[FailureKind, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`n` queries were looked at, and `failed` of them fail; `failing` lists the worst, at most 200. `kinds` counts
    failing queries by kind, over all of them (`classified`: over a sample of so many where more than 1,000 fail).

    `by_query_kind`: (n, mean nDCG@10) by kind of query (`short`, `long`, `question`, `identifier`, `other`).
    """

    n: int
    failing: tuple[FailingQuery, ...]
    kinds: Mapping[FailureKind, int]
    facts: CorpusFacts
    by_query_kind: Mapping[str, tuple[int, float]]
    failed: int = 0
    classified: int = 0

    def to_json(self) -> dict[str, Any]:
        """All of it as a JSON object."""
        plain = asdict(self)
        plain["by_query_kind"] = {kind: {"n": n, "ndcg_10": value} for kind, (n, value) in self.by_query_kind.items()}
        return plain
