"""Presets: programs to start from, each for a kind of collection. `idxopt preset NAME` writes one out.

| preset | when to use it |
|---|---|
| `full-text` | the baseline: every field searched alike; compare everything else with it |
| `fields` | documents with good titles: a match in the title counts twice |
| `identifiers` | code and API documentation: `getUserName` and `max_result_window` are found by their words too |
| `sections` | long documents with headings: sections compete beside whole documents, fused by rank |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from idxopt.errors import ProgramError, UsageError
from idxopt.program.problems import nearest
from idxopt.program.schema import SCHEMA, Lexical, LexicalField, Program, Source, View
from idxopt.program.steps import Normalize, Reorganize
from idxopt.program.validate import program_from

BEIR_SOURCE = Source(fields={"title": "title", "body": "text"}, markup="markdown")
"""Documents as BEIR collections have them: `_id`, `title`, `text`."""

_TITLE_WEIGHT = 2.0


@dataclass(frozen=True, slots=True)
class Preset:
    """A named way to make a program from a source. `when` is one sentence on when to use it."""

    name: str
    when: str
    views: Callable[[Source], dict[str, View]]


def preset(name: str, *, program_name: str, source: Source = BEIR_SOURCE) -> Program:
    """The program of a preset over the fields of `source` (`title` and `body` have a meaning, others weigh 1).

    Raises UsageError for an unknown preset and ProgramError where it needs a `body` that the source lacks.
    """
    found = PRESETS.get(name)
    if found is None:
        raise UsageError(f'unknown preset "{name}"', remedy=nearest(name, PRESETS))
    views = found.views(source)
    plain = {
        "schema": SCHEMA,
        "name": program_name,
        "source": source.model_dump(by_alias=True),
        "views": {view: made.model_dump(by_alias=True, exclude_defaults=True) for view, made in views.items()},
    }
    return program_from(plain, f"preset {name}")


def _searched(source: Source, title_weight: float = 1.0) -> Lexical:
    return Lexical(
        fields={name: LexicalField(weight=title_weight if name == "title" else 1.0) for name in source.fields}
    )


def _full_text(source: Source) -> dict[str, View]:
    return {"content": View(lexical=_searched(source))}


def _fields(source: Source) -> dict[str, View]:
    return {"content": View(lexical=_searched(source, _TITLE_WEIGHT))}


def _identifiers(source: Source) -> dict[str, View]:
    split = Normalize(op="normalize", field=sorted(source.fields), scheme="split_identifiers", keep_original=True)
    return {"content": View(steps=[split], lexical=_searched(source, _TITLE_WEIGHT))}


def _sections(source: Source) -> dict[str, View]:
    if "body" not in source.fields:
        raise ProgramError(
            'the preset "sections" cuts the field "body", and the source has none',
            remedy='map it: "fields": {"body": "PATH", ...}',
            place="source.fields",
        )
    searched: dict[str, LexicalField] = {
        name: LexicalField() for name in ("title", "path", "body") if name in {"path", *source.fields}
    }
    return {
        "content": View(lexical=_searched(source, _TITLE_WEIGHT)),
        "sections": View(
            steps=[Reorganize(op="reorganize", to="sections", field="body")], lexical=Lexical(fields=searched)
        ),
    }


PRESETS: Mapping[str, Preset] = {
    made.name: made
    for made in (
        Preset("full-text", "the baseline: every field searched alike", _full_text),
        Preset("fields", "documents with good titles: a match in the title counts twice", _fields),
        Preset("identifiers", "code and API documentation: identifiers are found by their words too", _identifiers),
        Preset("sections", "long documents with headings: sections compete beside whole documents", _sections),
    )
}
