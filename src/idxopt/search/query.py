"""What is asked and what is answered, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """One query. `k` documents from `offset` on. `filter`: a clause of the DSL subset, put inside every leg.

    `source`: True to fetch the source documents of the answer (a second round to the same build).
    """

    text: str
    k: int = 10
    offset: int = 0
    filter: Mapping[str, Any] | None = None
    source: bool = False


@dataclass(frozen=True, slots=True)
class LegRank:
    """Where one leg had a document: rank from 1 after collapse, and its score (sum of weight * BM25)."""

    rank: int
    score: float


@dataclass(frozen=True, slots=True)
class DocumentHit:
    """One document of the answer. `legs` by leg key; a leg that did not return it is absent."""

    doc_id: str
    score: float
    legs: Mapping[str, LegRank]
    source: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The answer. `total` counts the documents that pages can reach; `total_exact` is False when a leg had more than
    it returned.

    `degraded` names legs that failed (only with `on_leg_failure: degrade`). `cut` is True when the query had too many
    terms for the engine's clause limit and was cut to its rarest ones.
    """

    hits: tuple[DocumentHit, ...]
    total: int
    total_exact: bool
    build: str
    degraded: Mapping[str, str] = field(default_factory=dict)
    cut: bool = False
