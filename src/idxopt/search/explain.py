"""Why a document is where it is: its rank and score in every leg, and the terms that matched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idxopt.builds.resolver import LiveBuild
from idxopt.compiler.lowered import Leg
from idxopt.compiler.queries import leg_body
from idxopt.engines.port import Hit, Reader, SearchRequest, SearchResponse
from idxopt.errors import LegFailed
from idxopt.operators.row import text_of
from idxopt.search.fusion import LegList, fuse
from idxopt.search.query import LegRank
from idxopt.search.searcher import documents
from idxopt.text.analysis import analyzer


@dataclass(frozen=True, slots=True)
class TermMatch:
    """One analysed query term in one field of the document: occurrences there, and documents that have it."""

    term: str
    occurrences: int
    documents: int


@dataclass(frozen=True, slots=True)
class LegExplanation:
    """One leg. `rank` is None beyond the window, `score` is None when nothing matched. `row`: id of the best row."""

    key: str
    weight: float
    rank: int | None
    score: float | None
    row: str | None
    path: tuple[str, ...]
    terms: Mapping[str, tuple[TermMatch, ...]]


@dataclass(frozen=True, slots=True)
class Explanation:
    """`rank` and `score` after fusion; None when no leg returned the document within its window."""

    doc_id: str
    build: str
    fusion: str
    rank: int | None
    score: float | None
    legs: tuple[LegExplanation, ...]


def explain(reader: Reader, build: LiveBuild, text: str, doc_id: str) -> Explanation:
    """Explains one document for one query on one build. Raises LegFailed when the engine could not answer a leg."""
    window = build.program.fusion.window
    only = {"ids": {"values": [doc_id]}}
    requests = [SearchRequest(leg.index, leg_body(leg, text, size=window)) for leg in build.legs]
    requests += [SearchRequest(leg.index, leg_body(leg, text, size=1, filter=only, source=True)) for leg in build.legs]
    answers = [_good(build, response) for response in reader.search(requests)]
    lists = [
        LegList(leg.key, leg.weight, documents(leg, answer.hits))
        for leg, answer in zip(build.legs, answers[: len(build.legs)], strict=True)
    ]
    fused = fuse(lists, build.program.fusion)
    place = next((n for n, item in enumerate(fused) if item.doc_id == doc_id), None)
    legs = tuple(
        _leg(reader, leg, text, fused[place].legs.get(leg.key) if place is not None else None, answer.hits)
        for leg, answer in zip(build.legs, answers[len(build.legs) :], strict=True)
    )
    return Explanation(
        doc_id=doc_id,
        build=build.manifest.build,
        fusion=build.program.fusion.method,
        rank=None if place is None else place + 1,
        score=None if place is None else fused[place].score,
        legs=legs,
    )


def _good(build: LiveBuild, response: SearchResponse) -> SearchResponse:
    if response.error is not None:
        raise LegFailed(response.error, place=build.manifest.name, remedy="look at the cluster's health, then repeat")
    return response


def _leg(reader: Reader, leg: Leg, text: str, found: LegRank | None, hits: tuple[Hit, ...]) -> LegExplanation:
    if not hits:
        return LegExplanation(leg.key, leg.weight, None, None, None, (), {})
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
    )


def _matches(reader: Reader, leg: Leg, text: str, source: Mapping[str, Any]) -> dict[str, tuple[TermMatch, ...]]:
    matches = {}
    for path, field in leg.fields.items():
        analyse = analyzer(field.analyzer)
        held = Counter(analyse(text_of(_at(source, path))))
        terms = [term for term in dict.fromkeys(analyse(text)) if held[term]]
        if terms:
            frequencies = reader.document_frequencies(leg.index, path, text)
            matches[path] = tuple(TermMatch(term, held[term], frequencies.get(term, 0)) for term in terms)
    return matches


def _at(source: Mapping[str, Any], path: str) -> Any:
    value: Any = source
    for part in path.split("."):
        if not isinstance(value, Mapping):
            return None
        value = value.get(part)
    return value
