"""What is asked and what is answered, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from idxopt.builds.canary import Arm

OnLegFailure = Literal["fail", "degrade"]
OnModelFailure = Literal["fail", "lexical"]


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """One query. `k` documents from `offset` on. `filter`: a clause of the DSL subset, put inside every leg.

    `source`: True to fetch the source documents of the answer (a second round to the same build). `rerank`: False to
    leave out the program's second stage.

    `session_key`: whose query it is (a session, a user): while a canary runs all queries of one key go to the same
    build; without it the text decides. `arm`: that build and no other, whatever the share.
    """

    text: str
    k: int = 10
    offset: int = 0
    filter: Mapping[str, Any] | None = None
    source: bool = False
    rerank: bool = True
    session_key: str | None = None
    arm: Arm | None = None


@dataclass(frozen=True, slots=True)
class LegRank:
    """Where one leg had a document: rank from 1 after collapse, and its score (sum of weight * BM25, or the nearness
    of vectors).
    """

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class SectionHit:
    """A section that the reranker scored. `path`: its headings, outermost first (empty before the first heading).

    `text` is `field`'s text from code point `start` to `end`. With `rerank.context` it is the section of that field,
    where it has one under the same headings; the score is that of the section scored.
    """

    doc_id: str
    field: str
    path: tuple[str, ...]
    text: str
    start: int
    end: int
    score: float


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """One document of the answer. `legs` by leg key; a leg that did not return it is absent. `views`: its place in the
    ranking of a view that combines its legs.

    `score` is that of the fusion. `reranked`: the score of its best section, None beyond the candidates. `sections`:
    its best ones, best first.
    """

    doc_id: str
    score: float
    legs: Mapping[str, LegRank]
    source: Mapping[str, Any] | None = None
    views: Mapping[str, LegRank] = field(default_factory=dict)
    reranked: float | None = None
    sections: tuple[SectionHit, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer. `total` counts the documents that pages can reach; `total_exact` is False when a leg had more than
    it returned.

    `degraded` says what is missing and why: legs by key (with `on_leg_failure: degrade`, or where their model failed
    under `on_model_failure: lexical`) and `rerank`. `cut` is True when the query had too many terms for the engine's
    clause limit and was cut to its rarest ones. `sections`: the best of all candidates, best first. `reranked`: whether
    the second stage decided the order of the candidates.

    `arm`: which build of a running canary answered, None where none runs. `fallback`: why the candidate, whose turn it
    was, did not.
    """

    hits: tuple[DocumentHit, ...]
    total: int
    total_exact: bool
    build: str
    degraded: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
    sections: tuple[SectionHit, ...] = ()
    reranked: bool = False
    arm: Arm | None = None
    fallback: str | None = None
