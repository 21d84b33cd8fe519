"""Fusion of legs into one ranking by document. Pure; summed in leg order, so that equal input gives equal bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from idxopt.program.schema import Fusion
from idxopt.search.query import LegRank


@dataclass(frozen=True, slots=True)
class LegList:
    """One leg's distinct documents, best first, with scores."""

    key: str
    weight: float
    documents: Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Fused:
    """One document after fusion. `found`: its rank and score by leg key."""

    doc_id: str
    score: float
    found: Mapping[str, tuple[int, float]]

    @property
    def legs(self) -> dict[str, LegRank]:
        """Made when asked for: a page shows few of the documents that were fused."""
        return {key: LegRank(rank, score) for key, (rank, score) in self.found.items()}


def fuse(legs: Sequence[LegList], fusion: Fusion) -> list[Fused]:
    """One ranking: score descending, then document id.

    RRF: sum of weight / (k + rank), rank from 1 (Cormack et al. 2009); a document that a leg lacks gets nothing from
    it. weighted_sum: sum of weight * score, with each leg's scores stretched to 0..1 first under `min_max`.
    """
    found: dict[str, dict[str, tuple[int, float]]] = {}
    scores: dict[str, float] = {}
    for leg in legs:
        gains = _rrf(leg, fusion.k) if fusion.method == "rrf" else _weighted(leg, fusion.normalize)
        for rank, ((doc_id, score), gain) in enumerate(zip(leg.documents, gains, strict=True), start=1):
            if doc_id in scores:
                scores[doc_id] += gain
                found[doc_id][leg.key] = (rank, score)
            else:
                scores[doc_id] = gain
                found[doc_id] = {leg.key: (rank, score)}
    order = sorted(scores, key=lambda doc_id: (-scores[doc_id], doc_id))
    return [Fused(doc_id, scores[doc_id], found[doc_id]) for doc_id in order]


def _rrf(leg: LegList, k: int) -> list[float]:
    return [leg.weight / (k + rank) for rank in range(1, len(leg.documents) + 1)]


def _weighted(leg: LegList, normalize: str) -> list[float]:
    scores = [score for _, score in leg.documents]
    if normalize == "none" or not scores:
        return [leg.weight * score for score in scores]
    low, high = min(scores), max(scores)
    if high == low:
        return [leg.weight for _ in scores]
    return [leg.weight * (score - low) / (high - low) for score in scores]
