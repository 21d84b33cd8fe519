"""Why a document is where it is: its rank and score in every leg, and the terms that matched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from idxopt.builds.resolver import LiveBuild
from idxopt.compiler.fields import OWN
from idxopt.compiler.lowered import Leg
from idxopt.compiler.queries import knn_body, leg_body
from idxopt.engines.port import Hit, Reader, SearchRequest, SearchResponse
from idxopt.errors import LegFailed
from idxopt.operators.paths import value_at
from idxopt.operators.row import text_of
from idxopt.search.legs import Prepared
from idxopt.search.models import QueryModels
from idxopt.search.query import LegRank, SearchQuery, SectionHit
from idxopt.search.searcher import Searcher
from idxopt.text.analysis import analyzer


@dataclass(frozen=True, slots=True)
class TermMatch:
    """One analysed query term in one field of the document: occurrences there, and documents that have it."""

    term: str
    occurrences: int
    documents: int


@dataclass(frozen=True, slots=True)
class LegExplanation:
    """One leg. `rank` is None beyond the window, `score` is None when nothing matched. `row`: id of the best row.

    `k`: rows that a dense leg asked for until it had `window` documents.
    """

    key: str
    weight: float
    rank: int | None
    score: float | None
    row: str | None
    path: tuple[str, ...]
    terms: Mapping[str, tuple[TermMatch, ...]]
    k: int | None = None


@dataclass(frozen=True, slots=True)
class Explanation:
    """`rank` in the answer; `fused_rank` and `score` after fusion. None when no leg returned the document within its
    window.

    `views`: its place in views that combine their legs. `reranked`: the score of its best section, `sections` all that
    were scored, best first; None and empty where the document is no candidate or nothing is reranked.
    """

    doc_id: str
    build: str
    fusion: str
    rank: int | None
    score: float | None
    legs: tuple[LegExplanation, ...]
    fused_rank: int | None = None
    views: Mapping[str, LegRank] = field(default_factory=dict)
    reranked: float | None = None
    sections: tuple[SectionHit, ...] = ()


def explain(
    reader: Reader,
    build: LiveBuild,
    text: str,
    doc_id: str,
    *,
    models: QueryModels | None = None,
    rerank: bool = True,
) -> Explanation:
    """Explains one document for one query on one build. Raises LegFailed, ModelError, ConfigError as a search does."""
    searcher = Searcher(reader, build, models=models)
    ranked = searcher.ranked(SearchQuery(text, rerank=rerank), build)
    final = ranked.final
    place = next((n for n, item in enumerate(ranked.fused) if item.doc_id == doc_id), None)
    last = next((n for n, item in enumerate(final.order) if item.doc_id == doc_id), None)
    prepared = ranked.prepared
    answers = [_good(build, response) for response in reader.search(_alone(prepared, text, doc_id))]
    found = {} if place is None else ranked.fused[place].legs
    legs = tuple(
        _leg(reader, leg, prepared.texts.get(leg.key, text), found.get(leg.key), answer.hits, prepared.ks.get(leg.key))
        for leg, answer in zip(prepared.legs, answers, strict=True)
    )
    return Explanation(
        doc_id=doc_id,
        build=build.manifest.build,
        fusion=build.program.fusion.method,
        rank=None if last is None else last + 1,
        score=None if place is None else ranked.fused[place].score,
        legs=legs,
        fused_rank=None if place is None else place + 1,
        views={} if place is None else ranked.fused[place].views,
        reranked=final.scores.get(doc_id),
        sections=final.sections.get(doc_id, ()),
    )


def _alone(prepared: Prepared, text: str, doc_id: str) -> list[SearchRequest]:
    """Every leg again, for this document alone: its score, also beyond the window, and its best row."""
    only = {"ids": {"values": [doc_id]}}
    requests = []
    for leg in prepared.legs:
        if leg.dense is not None:
            vector = prepared.encoded.vectors[leg.dense.model]
            body = knn_body(leg, vector, k=1, size=1, filter=only, source=[f"{OWN}.path"])
        else:
            body = leg_body(leg, prepared.texts.get(leg.key, text), size=1, filter=only, source=True)
        requests.append(SearchRequest(leg.index, body))
    return requests


def _good(build: LiveBuild, response: SearchResponse) -> SearchResponse:
    if response.error is not None:
        raise LegFailed(response.error, place=build.manifest.name, remedy="look at the cluster's health, then repeat")
    return response


def _leg(
    reader: Reader, leg: Leg, text: str, found: LegRank | None, hits: tuple[Hit, ...], k: int | None
) -> LegExplanation:
    if not hits:
        return LegExplanation(leg.key, leg.weight, None, None, None, (), {}, k)
    hit = hits[0]
    own = hit.source.get("idxopt", {})
    return LegExplanation(
        key=leg.key,
        weight=leg.weight,
        rank=found.rank if found else None,
        score=hit.score * leg.scale,
        row=hit.id,
        path=tuple(own.get("path") or ()),
        terms=_matches(reader, leg, text, hit.source),
        k=k,
    )


def _matches(reader: Reader, leg: Leg, text: str, source: Mapping[str, Any]) -> dict[str, tuple[TermMatch, ...]]:
    matches = {}
    for path, searched in leg.fields.items():
        analyse = analyzer(searched.analyzer)
        held = Counter(analyse(text_of(value_at(source, path))))
        terms = [term for term in dict.fromkeys(analyse(text)) if held[term]]
        if terms:
            frequencies = reader.document_frequencies(leg.index, path, text)
            matches[path] = tuple(TermMatch(term, held[term], frequencies.get(term, 0)) for term in terms)
    return matches
