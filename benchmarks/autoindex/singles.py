"""A fixed list of single changes to the baseline, as somebody would try them by hand: the search has to beat the best
of them, picked on the queries that the search was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from idxopt.program.presets import BEIR_SOURCE
from idxopt.program.schema import Program
from idxopt.program.validate import program_from

Plain = dict[str, Any]
JOIN: Plain = {"op": "reorganize", "to": "join", "field": ["title", "body"], "into": "text"}
TITLE_WEIGHTS = (0.25, 0.5, 1.0, 2.0, 3.0)
WINDOWS = (50, 100, 200)
SUM: Plain = {"method": "weighted_sum"}
_ENRICHMENTS: dict[str, Plain] = {
    "lead 3": {"with": "lead", "sentences": 3},
    "lead 100 words": {"with": "lead", "words": 100},
    "headings": {"with": "heading_tree", "depth": 3},
    "keywords": {"with": "keywords", "top": 10},
    "terms": {"with": "prime_terms", "top": 10},
    "acronyms": {"with": "acronyms"},
    "entities": {"with": "entities", "top": 20},
    "neighbours": {"with": "neighbours", "field": "title"},
}
_BESIDE = ("split_identifiers", "numbers", "units", "dates")
"""Normalisations whose result stands beside the original."""
_INSTEAD = ("strip_accents", "nfkc", "markdown_strip", "html_strip")
_SPANS: dict[str, Plain] = {
    "references": {"references": True},
    "navigation": {"navigation": {}},
    "footers": {"footers": True},
    "repeated lines": {"repeated_lines": {"min_docs": 20}},
}


def made(views: Plain, fusion: Plain | None = None) -> Program:
    """A program over the source that all collections share."""
    plain: Plain = {
        "schema": "idxopt/1",
        "name": "autoindex",
        "source": BEIR_SOURCE.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        "views": views,
    }
    if fusion is not None:
        plain["fusion"] = fusion
    return program_from(plain, "a single change")


def searched(**weights: float) -> Plain:
    """The fields of a lexical leg with their weights."""
    return {"fields": {name: {} if weight == 1 else {"weight": weight} for name, weight in weights.items()}}


def sliced(words: int) -> Plain:
    """Rows of so many words, half of them shared with the next."""
    return {"op": "slice", "field": "body", "unit": "words", "window": words, "overlap": words // 2}


def whole(*steps: Plain, **weights: float) -> Plain:
    """The view of whole documents: the joined field, and what else it searches."""
    return {"steps": [*steps, JOIN], "lexical": searched(text=1, **weights)}


def singles() -> dict[str, Program]:
    """Every change by its name."""
    return dict([*_titles(), *_rows(), *_sections(), *_enriched(), *_rewritten()])


def _titles() -> Iterator[tuple[str, Program]]:
    for weight in TITLE_WEIGHTS:
        yield f"title {weight:g} beside both", made({"content": whole(title=weight)})
        yield f"title {weight:g} beside body", made({"content": {"lexical": searched(body=1, title=weight)}})


def _rows() -> Iterator[tuple[str, Program]]:
    for words in WINDOWS:
        rows = {"steps": [sliced(words)], "lexical": searched(body=1)}
        titled = {"steps": [sliced(words)], "lexical": searched(body=1, title=0.5)}
        yield f"rows {words} alone", made({"content": {}, "rows": rows})
        yield f"rows {words} with title alone", made({"content": {}, "rows": titled})
        for name, fusion in (("rrf", None), ("sum", SUM)):
            yield f"rows {words} {name}", made({"content": whole(), "rows": rows}, fusion)
            half = {**titled, "weight": 0.5}
            yield f"rows {words} with title {name} 0.5", made({"content": whole(), "rows": half}, fusion)


def _sections() -> Iterator[tuple[str, Program]]:
    lexical = searched(body=1, path=1, title=0.5)
    for weight in (0.5, 1.0):
        rows = {"steps": [{"op": "reorganize", "to": "sections"}], "lexical": lexical, "weight": weight}
        for name, fusion in (("rrf", None), ("sum", SUM)):
            yield f"sections {name} {weight:g}", made({"content": whole(), "rows": rows}, fusion)


def _enriched() -> Iterator[tuple[str, Program]]:
    for name, step in _ENRICHMENTS.items():
        for weight in (0.25, 0.5):
            steps = {"op": "enrich", "into": "more", **step}
            yield f"{name} {weight:g}", made({"content": whole(steps, more=weight)})


def _rewritten() -> Iterator[tuple[str, Program]]:
    for scheme in _BESIDE:
        step: Plain = {"op": "normalize", "field": ["title", "body"], "scheme": scheme, "keep_original": True}
        yield f"normalize {scheme}", made({"content": whole(step)})
    for scheme in _INSTEAD:
        step = {"op": "normalize", "field": ["title", "body"], "scheme": scheme}
        yield f"normalize {scheme}", made({"content": whole(step)})
    for name, span in _SPANS.items():
        yield f"discard {name}", made({"content": whole({"op": "discard", "field": "body", "span": span})})
    code = {"op": "reorganize", "to": "code_blocks", "field": "body", "into": "code"}
    yield "code out", made({"content": whole(code)})
