"""What a diagnosis finds, as data: failing queries, failure kinds, facts of the corpus."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

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
    """

    doc_id: str
    rank: int | None
    grade: int | None
    words: int
    matched: Mapping[str, tuple[str, ...]]
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FailingQuery:
    """A query below what it could reach: `value` is its nDCG@10. `above`: what stands before the best relevant one."""

    query_id: str
    text: str
    value: float
    relevant: tuple[Ranked, ...]
    above: tuple[Ranked, ...]
    kinds: tuple[FailureKind, ...]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`n` queries were looked at; `failing` lists the worst first; `kinds` counts failing queries by kind.

    `by_query_kind`: (n, mean nDCG@10) by kind of query (`short`, `long`, `question`, `identifier`).
    """

    n: int
    failing: tuple[FailingQuery, ...]
    kinds: Mapping[FailureKind, int]
    facts: CorpusFacts
    by_query_kind: Mapping[str, tuple[int, float]]
