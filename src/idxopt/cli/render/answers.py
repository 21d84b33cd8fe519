"""Search results and explanations as tables and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from idxopt.cli.render.excerpts import excerpt_of, section_excerpt, title_of
from idxopt.cli.units import counted

if TYPE_CHECKING:
    from idxopt.program.schema import Program
    from idxopt.search import LegRank, SearchResult, SectionHit
    from idxopt.search.explain import Explanation


def result_table(result: SearchResult, legs: Sequence[str], program: Program, query: str, offset: int) -> Table:
    """A line a document: rank, id, score, its rank and score in every leg, its title, and the text that matches: its
    best section where the answer was reranked.
    """
    table = Table()
    table.add_column("rank", justify="right")
    table.add_column("document", overflow="fold")
    table.add_column("rrf score" if program.fusion.method == "rrf" else "score", justify="right")
    if result.reranked:
        table.add_column("reranked", justify="right")
    for leg in legs:
        table.add_column(f"{leg}\nrank (score)", justify="right")
    titled = "title" in program.source.fields
    for heading in ("title", "best section" if result.reranked else "excerpt")[not titled :]:
        table.add_column(heading, overflow="fold")
    for number, hit in enumerate(result.hits, start=offset + 1):
        cells = [f"{hit.legs[leg].rank} ({hit.legs[leg].score:.3f})" if leg in hit.legs else "-" for leg in legs]
        source = hit.source or {}
        texts = [title_of(source, program) or ""] if titled else []
        texts.append(_section(hit.sections[0], program, query) if hit.sections else excerpt_of(source, program, query))
        scores = [f"{hit.score:.5f}"]
        if result.reranked:
            scores.append("-" if hit.reranked is None else f"{hit.reranked:.4f}")
        table.add_row(str(number), escape(hit.doc_id), *scores, *cells, *map(escape, texts))
    return table


def result_lines(result: SearchResult) -> Iterator[str]:
    """What is said below the table."""
    total = f"{counted(result.total, 'document')}" if result.total_exact else f"at least {result.total:,} documents"
    arm = f" ({result.arm} of a canary)" if result.arm is not None else ""
    yield f"{total} found in build {result.build}{arm}"
    if result.fallback is not None:
        yield f"! the canary's candidate failed, so the live build answered: {result.fallback}"
    if result.cut:
        yield "! the query had too many terms and was cut to its rarest ones"
    for part, error in result.degraded.items():
        what = "reranking was left out" if part == "rerank" else f"leg {part} failed and is missing"
        yield f"! {what}: {error}"


def result_json(result: SearchResult, query: str) -> dict[str, Any]:
    """The result as one document."""
    return {
        "query": query,
        "build": result.build,
        "total": result.total,
        "total_exact": result.total_exact,
        "degraded": dict(result.degraded),
        "cut": result.cut,
        "reranked": result.reranked,
        "arm": result.arm,
        "fallback": result.fallback,
        "hits": [
            {
                "id": hit.doc_id,
                "score": hit.score,
                "legs": _ranks(hit.legs),
                "views": _ranks(hit.views),
                "reranked": hit.reranked,
                "sections": [_section_json(section) for section in hit.sections],
                "source": hit.source,
            }
            for hit in result.hits
        ],
        "sections": [_section_json(section) for section in result.sections],
    }


def _ranks(places: Mapping[str, LegRank]) -> dict[str, dict[str, float]]:
    return {key: {"rank": place.rank, "score": place.score} for key, place in places.items()}


def _section_json(section: SectionHit) -> dict[str, Any]:
    return {
        "id": section.doc_id,
        "field": section.field,
        "path": list(section.path),
        "start": section.start,
        "end": section.end,
        "score": section.score,
        "text": section.text,
    }


def _section(section: SectionHit, program: Program, query: str) -> str:
    """Heading path, and the words around what matches."""
    text = section_excerpt(section.text, program, query)
    return f"{' > '.join(section.path)}: {text}" if section.path else text


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    """Where the document stands after fusion, and after reranking where that moved it."""
    if explanation.rank is None:
        yield f"{explanation.doc_id}: no leg has it within its window (build {explanation.build})"
    else:
        yield (
            f"{explanation.doc_id}: rank {explanation.fused_rank}, score {explanation.score:.6f} after "
            f"{explanation.fusion} (build {explanation.build})"
        )
    for view, place in explanation.views.items():
        yield f"  {view}: rank {place.rank}, score {place.score:.6f} of its legs combined"
    if explanation.reranked is not None:
        yield f"  reranked: rank {explanation.rank}, score {explanation.reranked:.4f} of its best section"
    for section in explanation.sections:
        yield f"    {section.score:.4f}  {' > '.join(section.path) or '(before the first heading)'}"


def explanation_table(explanation: Explanation) -> Table:
    """A line a leg, with the terms that matched, by field."""
    table = Table()
    for heading in ("leg", "weight", "rank", "score", "best row", "terms that matched (times here / documents)"):
        table.add_column(heading, overflow="fold")
    for leg in explanation.legs:
        row = leg.row or "-"
        table.add_row(
            leg.key if leg.k is None else f"{leg.key} (k {leg.k})",
            f"{leg.weight:g}",
            "-" if leg.rank is None else str(leg.rank),
            "no match" if leg.score is None else f"{leg.score:.5f}",
            escape(f"{row} ({' > '.join(leg.path)})" if leg.path else row),
            escape("\n".join(_terms(leg.terms)) or "-"),
        )
    return table


def explanation_json(explanation: Explanation, query: str) -> dict[str, Any]:
    """The explanation as one document."""
    return {
        "query": query,
        "id": explanation.doc_id,
        "build": explanation.build,
        "fusion": explanation.fusion,
        "rank": explanation.rank,
        "score": explanation.score,
        "fused_rank": explanation.fused_rank,
        "views": _ranks(explanation.views),
        "reranked": explanation.reranked,
        "sections": [_section_json(section) for section in explanation.sections],
        "legs": [
            {
                "leg": leg.key,
                "k": leg.k,
                "weight": leg.weight,
                "rank": leg.rank,
                "score": leg.score,
                "row": leg.row,
                "path": list(leg.path),
                "terms": {
                    field: [
                        {"term": match.term, "occurrences": match.occurrences, "documents": match.documents}
                        for match in matches
                    ]
                    for field, matches in leg.terms.items()
                },
            }
            for leg in explanation.legs
        ],
    }


def _terms(terms: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    for field, matches in terms.items():
        listed = ", ".join(f"{match.term} {match.occurrences} / {match.documents}" for match in matches)
        yield f"{field}: {listed}"
