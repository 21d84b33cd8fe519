"""The second stage (PRIME, hierarchical retrieval): candidates of the fusion, ordered anew by their best section.

A document's score is that of its best section; a section longer than the model's window has that of its best window
(ours). Documents beyond the candidates, and candidates without text, follow in the order of the fusion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from idxopt.errors import ConfigError
from idxopt.models.checks import usable_scores
from idxopt.models.ports import Tokenizer
from idxopt.program.schema import Program, Rerank
from idxopt.search.fusion import Fused
from idxopt.search.models import QueryModels
from idxopt.search.query import SectionHit
from idxopt.search.sections import Cutter, Piece, Places, Unit, matching, places, text_at, units


@dataclass(frozen=True, slots=True)
class Reranking:
    """`order`: all fused documents. `scores` and `sections` (best first) of the candidates, by document id."""

    order: Sequence[Fused]
    scores: Mapping[str, float] = field(default_factory=dict)
    sections: Mapping[str, tuple[SectionHit, ...]] = field(default_factory=dict)

    def best(self, count: int) -> tuple[SectionHit, ...]:
        """The best sections of all candidates."""
        every = [section for sections in self.sections.values() for section in sections]
        return tuple(sorted(every, key=lambda section: (-section.score, section.doc_id, section.start))[:count])


@dataclass(frozen=True, slots=True)
class _Scored:
    """A section with the pieces of it that are scored."""

    doc_id: str
    number: int
    pieces: Sequence[Piece]


def rerank(
    query: str, fused: Sequence[Fused], sources: Mapping[str, Mapping[str, Any]], program: Program, models: QueryModels
) -> Reranking:
    """Scores the sections of the candidates, all in one call. `sources`: stored rows of the primary view by id.

    Raises ModelError and ConfigError.
    """
    spec = program.rerank
    assert spec is not None
    model = models.reranker(spec.model)
    where = places(program, spec)
    cutter = Cutter(query, model.max_tokens, _tokenizer(models, spec.model, model.max_tokens), where.markup)
    texts = {item.doc_id: text_at(sources.get(item.doc_id, {}), where.field) for item in fused[: spec.candidates]}
    cut = {doc_id: units(text, where.markup, spec.unit, spec.level) for doc_id, text in texts.items()}
    scored = [
        _Scored(doc_id, number, cutter.pieces(texts[doc_id], unit))
        for doc_id, sections in cut.items()
        for number, unit in enumerate(sections)
    ]
    pieces = [piece.text for one in scored for piece in one.pieces]
    if not pieces:
        return Reranking(fused)
    scores = usable_scores(model.score(query, pieces), texts=len(pieces), place=f"models.{spec.model}")
    found: dict[str, list[SectionHit]] = {}
    at = 0
    for one in scored:
        own = scores[at : at + len(one.pieces)]
        at += len(one.pieces)
        best = max(range(len(own)), key=lambda n: own[n])
        context = text_at(sources[one.doc_id], where.context) if where.context is not None else ""
        hit = _hit(one, one.pieces[best], own[best], cut[one.doc_id], texts[one.doc_id], context, spec, where)
        found.setdefault(one.doc_id, []).append(hit)
    return _ordered(fused, found)


def _tokenizer(models: QueryModels, name: str, max_tokens: int | None) -> Tokenizer | None:
    if max_tokens is None:
        return None
    try:
        return models.tokenizer(name)
    except ConfigError:
        return None


def _hit(
    one: _Scored,
    best: Piece,
    score: float,
    sections: Sequence[Unit],
    text: str,
    context: str,
    spec: Rerank,
    where: Places,
) -> SectionHit:
    unit = sections[one.number]
    if spec.context is not None:
        others = units(context, where.markup, spec.unit, spec.level)
        other = matching(sections, one.number, others)
        if other is not None:
            handed = context[other.start : other.end]
            return SectionHit(one.doc_id, spec.context, other.path, handed, other.start, other.end, score)
    start, end = (unit.start, unit.end) if spec.unit == "section" else (best.start, best.end)
    return SectionHit(one.doc_id, spec.field, unit.path, text[start:end], start, end, score)


def _ordered(fused: Sequence[Fused], found: Mapping[str, Sequence[SectionHit]]) -> Reranking:
    sections = {doc_id: tuple(sorted(hits, key=lambda hit: (-hit.score, hit.start))) for doc_id, hits in found.items()}
    scores = {doc_id: hits[0].score for doc_id, hits in sections.items()}
    first = [item for item in fused if item.doc_id in scores]
    first.sort(key=lambda item: -scores[item.doc_id])  # stable: equal scores stay in the order of the fusion
    return Reranking([*first, *(item for item in fused if item.doc_id not in scores)], scores, sections)
