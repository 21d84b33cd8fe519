"""Fusion of legs into one ranking by document. Pure; summed in leg order, so that equal input gives equal bits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from idxopt.program.schema import Fusion, Program
from idxopt.search.query import LegRank

Found = Mapping[str, tuple[int, float]]
"""Rank and score by leg key."""


@dataclass(frozen=True, slots=True)
class LegList:
    """One leg's distinct documents, best first, with scores."""

    key: str
    weight: float
    documents: Sequence[tuple[str, float]]


@dataclass(frozen=True, slots=True)
class Fused:
    """One document after fusion. `found`: its rank and score by leg key; `combined`: by view that combines its legs."""

    doc_id: str
    score: float
    found: Found
    combined: Found | None = None

    @property
    def legs(self) -> dict[str, LegRank]:
        """Made when asked for: a page shows few of the documents that were fused."""
        return {key: LegRank(rank, score) for key, (rank, score) in self.found.items()}

    @property
    def views(self) -> dict[str, LegRank]:
        return {key: LegRank(rank, score) for key, (rank, score) in (self.combined or {}).items()}


def fuse_views(legs: Sequence[LegList], program: Program) -> list[Fused]:
    """One ranking of a program: the legs of a view with `combine` become one list first, which takes their place.

    Within a view legs are weighted by `fusion.weights`; the view's own weight counts in the fusion of views.
    """
    combining = {name: view.combine for name, view in program.views.items() if view.combine is not None}
    if not combining:
        return fuse(legs, program.fusion)
    lists: list[LegList] = []
    inside: dict[str, list[LegList]] = {}
    for leg in legs:
        view = leg.key.rpartition(".")[0]
        if view not in combining:
            lists.append(leg)
            continue
        if view not in inside:
            inside[view] = []
            lists.append(LegList(view, program.views[view].weight, []))
        inside[view].append(LegList(leg.key, program.fusion.weights.get(leg.key, 1.0), leg.documents))
    single: dict[str, dict[str, tuple[int, float]]] = {}
    for place, made in enumerate(lists):
        if made.key in inside:
            ranking = _combined(inside[made.key], combining[made.key], program.fusion.k)
            lists[place] = LegList(made.key, made.weight, [(item.doc_id, item.score) for item in ranking])
            for item in ranking:
                single.setdefault(item.doc_id, {}).update(item.found)
    return [_with_legs(item, inside, single.get(item.doc_id, {})) for item in fuse(lists, program.fusion)]


def _combined(legs: Sequence[LegList], method: str | None, k: int) -> list[Fused]:
    """RRF of the legs, or the mean of their scores, stretched to 0..1 in each leg, weighted; a lacking leg counts 0."""
    if method == "rrf":
        return fuse(legs, Fusion(method="rrf", k=k))
    total = sum(leg.weight for leg in legs)
    shares = [LegList(leg.key, leg.weight / total, leg.documents) for leg in legs]
    return fuse(shares, Fusion(method="weighted_sum", normalize="min_max"))


def _with_legs(item: Fused, inside: Mapping[str, object], legs: Found) -> Fused:
    combined = {key: place for key, place in item.found.items() if key in inside}
    found = {key: place for key, place in item.found.items() if key not in inside}
    return Fused(item.doc_id, item.score, {**found, **legs}, combined)


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
