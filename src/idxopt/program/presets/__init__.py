"""Presets: programs to start from, each for a kind of collection. `idxopt preset list` names them.

Those without models search with BM25; PRIME's representations, baselines and controls add a dense leg and a reranker
(`docs/prime.md`). A program may mix: `beside` takes the dense views of other presets along.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from idxopt.errors import UsageError
from idxopt.program.presets.parts import PAPER, PROFILES, Parts, Plain, Preset, PresetOptions
from idxopt.program.presets.plain import PLAIN_PRESETS
from idxopt.program.presets.prime import PRIME_PRESETS
from idxopt.program.problems import nearest
from idxopt.program.schema import SCHEMA, Program, Source
from idxopt.program.validate import program_from

__all__ = ["BEIR_SOURCE", "PAPER", "PRESETS", "PRIME_NAMES", "PROFILES", "Preset", "PresetOptions", "preset"]

BEIR_SOURCE = Source(fields={"title": "title", "body": "text"}, markup="markdown")
"""Documents as BEIR collections have them: `_id`, `title`, `text`."""

PRESETS: Mapping[str, Preset] = {made.name: made for made in (*PLAIN_PRESETS, *PRIME_PRESETS)}
PRIME_NAMES: tuple[str, ...] = tuple(made.name for made in PRIME_PRESETS)


def preset(
    name: str,
    *,
    program_name: str,
    source: Source = BEIR_SOURCE,
    options: PresetOptions | None = None,
    beside: Sequence[str] = (),
) -> Program:
    """The program of a preset over the fields of `source` (`title` and `body` have a meaning, others weigh 1).

    `beside`: presets whose dense views are added, each fused as one more leg. Raises UsageError for an unknown preset
    and ProgramError where it needs a `body` that the source lacks.
    """
    chosen = options or PresetOptions()
    parts = _found(name).make(source, chosen)
    views = dict(parts.views)
    models = dict(parts.models)
    for other in beside:
        added = _found(other).make(source, chosen)
        views.update(_dense_views(other, added, views))
        models.update(added.models)
    plain: Plain = {
        "schema": SCHEMA,
        "name": program_name,
        "source": source.model_dump(by_alias=True),
        "models": models,
        "views": views,
        "fusion": parts.fusion,
        "rerank": parts.rerank,
    }
    return program_from(plain, f"preset {name}")


def _found(name: str) -> Preset:
    if name not in PRESETS:
        raise UsageError(f'unknown preset "{name}"', remedy=nearest(name, PRESETS))
    return PRESETS[name]


def _dense_views(name: str, parts: Parts, there: Mapping[str, Plain]) -> dict[str, Plain]:
    """The dense views of a preset under names that are free; what its primary view embeds gets a view of its own."""
    found: dict[str, Plain] = {}
    for view, body in parts.views.items():
        if "dense" in body and not _same_rows(there.get(view), body):
            own = view if view not in there else name
            found[own] = {key: value for key, value in body.items() if key != "lexical"}
    if not any("dense" in body for body in parts.views.values()):
        raise UsageError(f'the preset "{name}" has no dense view to add', remedy="name one of PRIME's presets")
    return found


def _same_rows(one: Plain | None, other: Plain) -> bool:
    """Whether two views embed the same rows; weights aside."""
    return one is not None and all(one.get(key) == other.get(key) for key in ("steps", "dense"))
