"""The 40 candidates of the speed benchmark: ten of each kind of change that a search makes, each to the baseline."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.autoindex.singles import Plain, made, searched, whole
from idxopt.program.schema import Program

KINDS = ("weights", "one added field", "normalisation of the body", "slicing")
_WEIGHTS = (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0)
_FIELDS: tuple[Plain, ...] = (
    {"with": "lead", "sentences": 1},
    {"with": "lead", "sentences": 3},
    {"with": "lead", "words": 50},
    {"with": "keywords", "top": 10},
    {"with": "keywords", "top": 30},
    {"with": "prime_terms", "top": 10},
    {"with": "heading_tree", "depth": 3},
    {"with": "acronyms"},
    {"with": "entities", "top": 20},
    {"with": "neighbours", "field": "title"},
)
_SCHEMES: tuple[Plain, ...] = (
    {"scheme": "lowercase"},
    {"scheme": "nfkc"},
    {"scheme": "strip_accents"},
    {"scheme": "whitespace"},
    {"scheme": "html_strip"},
    {"scheme": "markdown_strip"},
    {"scheme": "split_identifiers", "keep_original": True},
    {"scheme": "numbers", "keep_original": True},
    {"scheme": "units", "keep_original": True},
    {"scheme": "dates", "keep_original": True},
)
_SLICES: tuple[Plain, ...] = (
    {"unit": "words", "window": 50, "overlap": 25},
    {"unit": "words", "window": 100, "overlap": 50},
    {"unit": "words", "window": 100},
    {"unit": "words", "window": 150, "overlap": 50},
    {"unit": "words", "window": 200, "overlap": 100},
    {"unit": "words", "window": 128, "overlap": 32, "cut": "sentences"},
    {"unit": "sentences", "window": 3, "overlap": 1},
    {"unit": "sentences", "window": 5, "overlap": 2},
    {"unit": "sentences", "window": 8},
    {"unit": "paragraphs", "window": 1},
)


@dataclass(frozen=True, slots=True)
class Timed:
    """One candidate. `number`: its place among those of its kind."""

    kind: str
    number: int
    name: str
    program: Program


def candidates(each: int = 10) -> list[Timed]:
    """The first `each` of every kind, the kinds in turn."""
    by_kind = dict(zip(KINDS, (_weights(), _fields(), _normalised(), _sliced()), strict=True))
    named = {kind: list(of) for kind, of in by_kind.items()}
    return [Timed(kind, number, *named[kind][number]) for number in range(each) for kind in KINDS]


def _weights() -> Iterator[tuple[str, Program]]:
    for weight in _WEIGHTS:
        yield f"title {weight:g}", made({"content": whole(title=weight)})


def _fields() -> Iterator[tuple[str, Program]]:
    for step in _FIELDS:
        detail = ", ".join(f"{key} {value}" for key, value in step.items() if key != "with")
        enriched = {"op": "enrich", "into": "more", **step}
        yield f"{step['with']} {detail}".strip(), made({"content": whole(enriched, more=0.5)})


def _normalised() -> Iterator[tuple[str, Program]]:
    for step in _SCHEMES:
        yield step["scheme"], made({"content": whole({"op": "normalize", "field": "body", **step})})


def _sliced() -> Iterator[tuple[str, Program]]:
    """In turn the rows alone, and beside the whole documents."""
    for number, step in enumerate(_SLICES):
        rows = {"steps": [{"op": "slice", "field": "body", **step}], "lexical": searched(body=1, title=0.5)}
        beside = number % 2 == 1
        name = f"{step['unit']} {step['window']}, overlap {step.get('overlap', 0)}"
        yield f"{name}{' beside' if beside else ''}", made({"content": whole() if beside else {}, "rows": rows})
