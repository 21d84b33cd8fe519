"""Presets without models: BM25 over fields, identifiers, sections."""

from __future__ import annotations

from idxopt.program.presets.parts import Parts, Plain, Preset, PresetOptions, needs_body, searched
from idxopt.program.schema import Source

_TITLE_WEIGHT = 2.0
_FREE = "nothing"


def _full_text(source: Source, _: PresetOptions) -> Parts:
    return Parts({"content": {"lexical": searched(source)}})


def _fields(source: Source, _: PresetOptions) -> Parts:
    return Parts({"content": {"lexical": searched(source, _TITLE_WEIGHT)}})


def _identifiers(source: Source, _: PresetOptions) -> Parts:
    split: Plain = {
        "op": "normalize",
        "field": sorted(source.fields),
        "scheme": "split_identifiers",
        "keep_original": True,
    }
    return Parts({"content": {"steps": [split], "lexical": searched(source, _TITLE_WEIGHT)}})


def _sections(source: Source, _: PresetOptions) -> Parts:
    needs_body("sections", source)
    names = [name for name in ("title", "path", "body") if name in {"path", *source.fields}]
    cut: Plain = {"op": "reorganize", "to": "sections", "field": "body"}
    return Parts(
        {
            "content": {"lexical": searched(source, _TITLE_WEIGHT)},
            "sections": {"steps": [cut], "lexical": {"fields": {name: {} for name in names}}},
        }
    )


PLAIN_PRESETS = (
    Preset(
        "full-text",
        "BM25, every field searched alike",
        "the baseline: compare everything else with it",
        _FREE,
        _full_text,
    ),
    Preset("fields", "BM25, a match in the title counts twice", "documents with good titles", _FREE, _fields),
    Preset(
        "identifiers",
        "BM25, identifiers are found by their words too",
        "code and API documentation",
        "some index size",
        _identifiers,
    ),
    Preset(
        "sections",
        "BM25 of sections beside whole documents",
        "long documents with headings",
        "a second index",
        _sections,
    ),
)
