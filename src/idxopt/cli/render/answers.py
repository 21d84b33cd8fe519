"""Search results and explanations as tables and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from idxopt.cli.render.excerpts import excerpt_of, title_of
from idxopt.cli.units import counted

if TYPE_CHECKING:
    from idxopt.program.schema import Program
    from idxopt.search import SearchResult
    from idxopt.search.explain import Explanation


def result_table(result: SearchResult, legs: Sequence[str], program: Program, query: str, offset: int) -> Table:
    """A line a document: rank, id, score, its rank and score in every leg, its title, and the text that matches."""
    table = Table()
    table.add_column("rank", justify="right")
    table.add_column("document", overflow="fold")
    table.add_column("rrf score" if program.fusion.method == "rrf" else "score", justify="right")
    for leg in legs:
        table.add_column(f"{leg}\nrank (score)", justify="right")
    titled = "title" in program.source.fields
    for heading in ("title", "excerpt")[not titled :]:
        table.add_column(heading, overflow="fold")
    for number, hit in enumerate(result.hits, start=offset + 1):
        cells = [f"{hit.legs[leg].rank} ({hit.legs[leg].score:.3f})" if leg in hit.legs else "-" for leg in legs]
        source = hit.source or {}
        texts = [title_of(source, program) or ""] if titled else []
        texts.append(excerpt_of(source, program, query))
        table.add_row(str(number), escape(hit.doc_id), f"{hit.score:.5f}", *cells, *map(escape, texts))
    return table


def result_lines(result: SearchResult) -> Iterator[str]:
    """What is said below the table."""
    total = f"{counted(result.total, 'document')}" if result.total_exact else f"at least {result.total:,} documents"
    yield f"{total} found in build {result.build}"
    if result.cut:
        yield "! the query had too many terms and was cut to its rarest ones"
    for leg, error in result.degraded.items():
        yield f"! leg {leg} failed and is missing: {error}"


def result_json(result: SearchResult, query: str) -> dict[str, Any]:
    """The result as one document."""
    return {
        "query": query,
        "build": result.build,
        "total": result.total,
        "total_exact": result.total_exact,
        "degraded": dict(result.degraded),
        "cut": result.cut,
        "hits": [
            {
                "id": hit.doc_id,
                "score": hit.score,
                "legs": {leg: {"rank": found.rank, "score": found.score} for leg, found in hit.legs.items()},
                "source": hit.source,
            }
            for hit in result.hits
        ],
    }


def explanation_lines(explanation: Explanation) -> Iterator[str]:
    """Where the document stands after fusion."""
    if explanation.rank is None:
        yield f"{explanation.doc_id}: no leg has it within its window (build {explanation.build})"
    else:
        yield (
            f"{explanation.doc_id}: rank {explanation.rank}, score {explanation.score:.6f} after {explanation.fusion} "
            f"(build {explanation.build})"
        )


def explanation_table(explanation: Explanation) -> Table:
    """A line a leg, with the terms that matched, by field."""
    table = Table()
    for heading in ("leg", "weight", "rank", "score", "best row", "terms that matched (times here / documents)"):
        table.add_column(heading, overflow="fold")
    for leg in explanation.legs:
        row = leg.row or "-"
        table.add_row(
            leg.key,
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
        "legs": [
            {
                "leg": leg.key,
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
