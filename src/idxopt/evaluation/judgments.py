"""Queries, judgments and rankings: the data that every evaluation is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from idxopt.errors import EvaluationError


@dataclass(frozen=True, slots=True)
class Query:
    """One information need, as a user would type it."""

    id: str
    text: str


Qrels: TypeAlias = Mapping[str, Mapping[str, int]]
"""query id -> document id -> grade (0 or less: judged and not relevant)."""

Ranking: TypeAlias = Sequence[tuple[str, float]]
"""(document id, score), best first. The order is what counts; scores may tie."""

Run: TypeAlias = Mapping[str, Ranking]
"""query id -> ranking. A query that is missing found nothing."""


@dataclass(frozen=True)
class JudgedQueries:
    """The queries that have judgments, and what was left out (contract 10).

    `unjudged` holds the ids of queries without any judgment, `unknown` the query ids that the judgments name but
    the queries do not hold. Neither takes part in a figure; both are counted wherever one is printed.
    `synthetic`: how judgments that nobody gave were made (`known-item from headings`), None for real ones; said
    wherever a figure is printed.
    """

    queries: tuple[Query, ...]
    qrels: Qrels
    unjudged: frozenset[str] = frozenset()
    unknown: frozenset[str] = frozenset()
    synthetic: str | None = None

    @property
    def synthetic_note(self) -> str | None:
        """The sentence that every report of figures over synthetic judgments must show."""
        return None if self.synthetic is None else f"synthetic judgments ({self.synthetic})"


def pair_with_judgments(queries: Sequence[Query], qrels: Qrels, synthetic: str | None = None) -> JudgedQueries:
    """Keep the queries that are judged, in their order. Raises EvaluationError where no query is."""
    judged = tuple(query for query in queries if qrels.get(query.id))
    known = {query.id for query in queries}
    if not judged:
        example = (
            f"; for example query {queries[0].id!r} and judgment for {next(iter(qrels))!r}" if queries and qrels else ""
        )
        raise EvaluationError(
            f"none of the {len(queries)} queries has a judgment ({len(qrels)} judged query ids){example}",
            remedy="check that both files use the same query ids",
        )
    return JudgedQueries(
        queries=judged,
        qrels={query.id: qrels[query.id] for query in judged},
        unjudged=frozenset(known - {query.id for query in judged}),
        unknown=frozenset(qrels.keys() - known),
        synthetic=synthetic,
    )


def judged_without_texts(qrels: Qrels, synthetic: str | None = None) -> JudgedQueries:
    """All judged queries, their id standing in for the text: enough to evaluate a run file."""
    return pair_with_judgments([Query(id=query_id, text=query_id) for query_id in qrels], qrels, synthetic)
