"""Documents as a report shows them: title, a piece of text around what the query asks for, where its words match."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from idxopt.evaluation.judgments import Query, Ranking
from idxopt.operators.paths import value_at
from idxopt.operators.row import Document, text_of
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.record import Shown
from idxopt.program.schema import Source
from idxopt.text.analysis import analyzer, standard_spans

EXCERPT = 240
"""Characters of an excerpt."""
_TITLE = "title"
_LOOKED_AT = 20_000
_TITLE_LENGTH = 120


def shown(
    ranking: Ranking,
    query: Query,
    graded: Mapping[str, int],
    corpus: Corpus,
    source: Source,
    legs: Mapping[str, Mapping[str, int]] | None = None,
) -> tuple[Shown, ...]:
    """A ranking with its texts. `legs`: by document, its rank in each leg that found it."""
    terms = frozenset(analyzer("english")(query.text))
    found = legs or {}
    return tuple(
        _document(corpus.by_id[doc_id], terms, graded.get(doc_id), source, found.get(doc_id, {}))
        for doc_id, _ in ranking
    )


def _document(
    document: Document, terms: frozenset[str], grade: int | None, source: Source, legs: Mapping[str, int]
) -> Shown:
    texts = {name: _line(text_of(value_at(document.source, path))) for name, path in source.fields.items()}
    title = texts.get(_TITLE, "")
    bodies = [text for name, text in texts.items() if name != _TITLE and text]
    body = bodies[0] if bodies else ""
    hits = _hits(body, terms)
    start = _start(body, hits)
    end = min(len(body), start + EXCERPT)
    matches = tuple((first - start, last - start) for first, last in hits if first >= start and last <= end)
    return Shown(document.id, grade, title[:_TITLE_LENGTH], body[start:end], matches, legs)


def _line(text: str) -> str:
    return " ".join(text[:_LOOKED_AT].split())


def _hits(text: str, terms: frozenset[str]) -> list[tuple[int, int]]:
    """Where tokens stand that the index knows as a term of the query."""
    analyze = analyzer("english")
    return [(first, last) for first, last in standard_spans(text) if not terms.isdisjoint(analyze(text[first:last]))]


def _start(text: str, hits: Sequence[tuple[int, int]]) -> int:
    """The beginning of the piece with most matches, at a word; the first such piece."""
    best, most = 0, 0
    for place, (first, _) in enumerate(hits):
        inside = sum(1 for _, last in hits[place:] if last <= first + EXCERPT - EXCERPT // 8)
        if inside > most:
            best, most = first, inside
    if best <= EXCERPT // 8:
        return 0
    return text.rfind(" ", 0, best - EXCERPT // 8) + 1
