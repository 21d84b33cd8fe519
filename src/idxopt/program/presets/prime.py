"""PRIME's representations of a document for the dense leg, its baselines and controls, each as a program.

All share one pipeline (hierarchical retrieval): BM25 over the whole document beside one kNN leg, RRF with k 60 over 100
documents a leg, and the top 30 reranked by their best section. Only what is embedded differs; the two whose text is
rewritten (`sr-text`, `full`) also search and rerank the rewritten text D*, as the paper does.

A representation of one vector a document lives in the primary view; one of several has a view of its own, whose best
row counts. `raw` and the other windows embed the body alone. Where the paper is silent the decisions are ours: windows
of `sr-text` are those of `raw`; the terms of `full` are scored over D* with the document frequencies of D.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from idxopt.program.presets.parts import (
    ENCODER,
    GENERATOR,
    RERANKER,
    Parts,
    Plain,
    Preset,
    PresetOptions,
    needs_body,
    searched,
)
from idxopt.program.schema import Source

WINDOW = 256
"""Tokens of a raw window, where the encoder reads as many."""
SPECIAL = 2
"""Tokens that an encoder puts around a text."""
CANDIDATES, SECTIONS = 30, 5
_HNSW: Plain = {"m": 32, "ef_construction": 200}
_CHARACTERS_A_TOKEN = 3
_TERMS_ROOM = 24
_SUMMARY_ROOM = 100

_PRIMARY = "content"
REWRITTEN = "rewritten"


@dataclass(frozen=True, slots=True)
class _Embedded:
    """One dense view: its name, steps, and the fields that are embedded. In the primary view where it is named so."""

    view: str
    text: tuple[str, ...]
    steps: tuple[Plain, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class _Shape:
    """A representation: dense views, steps of the primary view, and whether a generator is needed."""

    dense: tuple[_Embedded, ...]
    primary: tuple[Plain, ...] = ()
    generates: bool = False
    context: str | None = None


def room(options: PresetOptions) -> int:
    """Tokens of a text that the encoder reads, without special ones and the prefix (counted by its length)."""
    return max(1, options.max_tokens - SPECIAL - len(options.passage_prefix) // _CHARACTERS_A_TOKEN)


def _window(size: int, *, cut: str = "anywhere") -> Plain:
    return {"op": "slice", "unit": ENCODER, "field": "body", "window": max(1, size), "cut": cut}


def _raw(options: PresetOptions) -> Plain:
    return _window(min(WINDOW, room(options)))


_SECTION: Plain = {"op": "slice", "unit": "headings", "field": "body"}
_TREE: Plain = {"op": "enrich", "with": "heading_tree", "field": "body", "into": "headings"}
_RESTRUCTURE: Plain = {
    "op": "enrich",
    "with": "restructure",
    "field": "body",
    "into": REWRITTEN,
    "generator": GENERATOR,
}
_IN_PLACE: tuple[Plain, ...] = (
    _RESTRUCTURE,
    {"op": "discard", "span": {"fields": ["body"]}},
    {"op": "reorganize", "to": "rename", "field": REWRITTEN, "into": "body"},
)
"""D* in the place of D."""


def _terms(options: PresetOptions) -> Plain:
    return {"op": "enrich", "with": "prime_terms", "field": "body", "into": "terms", "stopwords": options.stopwords}


def _metadata(options: PresetOptions) -> _Embedded:
    return _Embedded(_PRIMARY, ("title", "terms", "headings"), (_terms(options), _TREE))


def _raw_shape(options: PresetOptions) -> _Shape:
    return _Shape((_Embedded("windows", ("body",), (_raw(options),)),))


def _chunks(options: PresetOptions) -> _Shape:
    return _Shape((_Embedded("chunks", ("body",), (_SECTION, _window(room(options), cut="sentences"))),))


def _offline(options: PresetOptions) -> _Shape:
    return _Shape((_metadata(options),))


def _sr_text(options: PresetOptions) -> _Shape:
    dense = _Embedded("rewritten-windows", ("body",), (*_IN_PLACE, _raw(options)))
    return _Shape((dense,), _IN_PLACE, generates=True)


def _full(options: PresetOptions) -> _Shape:
    return _Shape((_metadata(options),), _IN_PLACE, generates=True)


def _sr_context(options: PresetOptions) -> _Shape:
    return _Shape((_metadata(options),), (_RESTRUCTURE,), generates=True, context=REWRITTEN)


def _terms_beside(options: PresetOptions) -> _Shape:
    steps = (_terms(options), _window(min(WINDOW, room(options)) - _TERMS_ROOM))
    return _Shape((_Embedded("terms-windows", ("terms", "body"), steps),))


def _summaries(options: PresetOptions) -> _Shape:
    summary: Plain = {"op": "enrich", "with": "summary", "field": "body", "into": "summary", "generator": GENERATOR}
    steps = (_SECTION, summary, _window(room(options) - _SUMMARY_ROOM, cut="sentences"))
    return _Shape((_Embedded("summary-chunks", ("summary", "body"), steps),), generates=True)


def _raptor(options: PresetOptions) -> _Shape:
    return _Shape(
        (
            _Embedded("whole-sections", ("body",), (_SECTION,), weight=0.5),
            _Embedded("windows", ("body",), (_raw(options),), weight=0.5),
        )
    )


def _title(_: PresetOptions) -> _Shape:
    return _Shape((_Embedded(_PRIMARY, ("title",)),))


def _title_headings(_: PresetOptions) -> _Shape:
    return _Shape((_Embedded(_PRIMARY, ("title", "headings"), (_TREE,)),))


def _made(name: str, shape: Callable[[PresetOptions], _Shape]) -> Callable[[Source, PresetOptions], Parts]:
    def make(source: Source, options: PresetOptions) -> Parts:
        needs_body(name, source)
        return _parts(shape(options), source, options)

    return make


def _parts(shape: _Shape, source: Source, options: PresetOptions) -> Parts:
    primary: Plain = {"steps": list(shape.primary), "lexical": searched(source)}
    views: dict[str, Plain] = {_PRIMARY: primary}
    for one in shape.dense:
        if one.view == _PRIMARY:
            primary["steps"] = [*primary["steps"], *one.steps]
            primary["dense"] = _dense(one.text, one.steps, source)
        else:
            views[one.view] = {"steps": list(one.steps), "dense": _dense(one.text, one.steps, source)}
            if one.weight != 1:
                views[one.view]["weight"] = one.weight
    rerank: Plain | None = None
    if options.reranker is not None:
        rerank = {"model": RERANKER, "candidates": CANDIDATES, "sections": SECTIONS, "context": shape.context}
    return Parts(views, _models(options, generator=shape.generates), {"method": "rrf", "k": 60, "window": 100}, rerank)


def _dense(text: Sequence[str], steps: Sequence[Plain], source: Source) -> Plain:
    """`text` without a title that the source does not have; the body where nothing is left."""
    known = {*source.fields, *(step["into"] for step in steps if "into" in step)}
    return {"model": ENCODER, "text": [name for name in text if name in known] or ["body"], "hnsw": _HNSW}


def _models(options: PresetOptions, *, generator: bool) -> Mapping[str, Plain]:
    models: dict[str, Plain] = {
        ENCODER: {
            "kind": "embedder",
            "id": options.model,
            "dimension": options.dimension,
            "similarity": options.similarity,
            "max_tokens": options.max_tokens,
            "query_prefix": options.query_prefix,
            "passage_prefix": options.passage_prefix,
        }
    }
    if options.reranker is not None:
        models[RERANKER] = {"kind": "reranker", "id": options.reranker, "max_tokens": options.reranker_tokens}
    if generator:
        models[GENERATOR] = {"kind": "generator", "id": options.generator, "max_tokens": options.generator_tokens}
    return models


def _preset(name: str, what: str, when: str, cost: str, shape: Callable[[PresetOptions], _Shape]) -> Preset:
    return Preset(name, what, when, cost, _made(name, shape))


_ONE = "one short vector a document"
PRIME_PRESETS = (
    _preset(
        "raw",
        "windows of 256 tokens of the body, best window",
        "the dense baseline; text without headings",
        "every token of the body, a vector a window",
        _raw_shape,
    ),
    _preset(
        "structure-chunks",
        "H2 sections, long ones split at sentence ends, best chunk",
        "documents with headings, where cost does not matter",
        "every token of the body, a vector a chunk",
        _chunks,
    ),
    _preset(
        "offline",
        "PRIME offline: title, five terms and heading tree as one text",
        "titles and headings that say what a document is about, at the least cost",
        _ONE,
        _offline,
    ),
    _preset(
        "sr-text",
        "SR: the rewritten text D* in windows; D* is searched and reranked too",
        "an ablation: it lowers document retrieval",
        "a rewriting of every section, then as raw over less text",
        _sr_text,
    ),
    _preset(
        "full",
        "PRIME full: metadata of the rewritten text D*; D* is searched and reranked too",
        "an ablation: it lowers document retrieval",
        f"a rewriting of every section; {_ONE}",
        _full,
    ),
    _preset(
        "sr-context",
        "retrieval as offline, over D; the sections handed over are those of D*",
        "denser context for a generator, without a loss in retrieval: the default use of SR",
        f"a rewriting of every section; {_ONE}",
        _sr_context,
    ),
    _preset(
        "terms-beside-text",
        "PRIME (Full-Text): five terms before every window",
        "never better than raw on text without headings; limits the harm of offline there",
        "as raw, with shorter windows",
        _terms_beside,
    ),
    _preset(
        "summary-augmented",
        "a summary of the section before every chunk of it",
        "a baseline: long sections whose chunks do not name their subject",
        "a summary a section; as structure-chunks, with shorter chunks",
        _summaries,
    ),
    _preset(
        "raptor-lite",
        "whole sections (cut at the encoder's window) and raw windows, fused by rank",
        "a baseline: no model beside the encoder",
        "raw and the sections: about twice as much",
        _raptor,
    ),
    _preset("title", "the title alone", "a control: does metadata do more than its title?", _ONE, _title),
    _preset(
        "title-headings",
        "title and heading tree, without terms",
        "a control: do the terms add anything?",
        _ONE,
        _title_headings,
    ),
)
