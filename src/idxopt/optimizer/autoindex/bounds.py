"""How far a proposed program may go: static limits, checked before anything is evaluated.

They hold for proposals of language models. A program within them is at most a few times the corpus and takes linear
time; how many rows it really makes is the evaluator's to count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from idxopt.program.effects import step_effect
from idxopt.program.schema import Program, View
from idxopt.program.steps import UNITS, Discard, Generated, Keywords, Normalize, Slice, Step, Synonyms

MOST_VIEWS = 8
MOST_STEPS = 30
"""Steps of one view."""
MOST_ROW_STEPS = 3
"""Steps of one view that make rows of rows."""
MOST_FIELDS = 12
"""Fields of one BM25 leg."""
LEAST_WINDOW = {"words": 5, "sentences": 1, "paragraphs": 1}
MOST_WINDOW = 10_000
MOST_COPIES = 4
"""How often overlapping windows, all slices of a view together, may repeat a text."""
MOST_REGEX = 200
"""Code points of a regular expression."""
MOST_REPLACEMENT = 40
"""Code points of a replacement."""
MOST_GROUPS = 3
"""Groups that a replacement repeats."""
MOST_REPLACING = 4
"""Steps of one view that replace by a regular expression."""
MOST_TERMS = 2_000
MOST_TERM_CHARACTERS = 100_000
"""Of one table, keys and values together."""

_GROUP = re.compile(r"\\[0-9]")


def beyond_bounds(program: Program, current: Program) -> str | None:
    """The first limit that `program` breaks, as a clause; None where it keeps all.

    The retriever is frozen: analyzer, k1 and b are those that `current` uses, and what it has in models, dense legs and
    reranking stays.
    """
    return next(_breaches(program, current), None)


def _breaches(program: Program, current: Program) -> Iterator[str]:
    if len(program.views) > max(MOST_VIEWS, len(current.views)):
        yield f"{len(program.views)} views, and at most {MOST_VIEWS} are allowed"
    retrievers = _retrievers(current)
    for name, view in program.views.items():
        before = current.views.get(name)
        if view.dense != (before.dense if before is not None else None):
            yield f"view {name}: a search changes no dense leg"
        yield from _of_leg(name, view, retrievers)
        yield from (f"view {name}: {problem}" for problem in _of_steps(view, before))


def _retrievers(program: Program) -> set[tuple[str, float, float]]:
    legs = [view.lexical for view in program.views.values() if view.lexical is not None]
    return {(field.analyzer, field.k1, field.b) for leg in legs for field in leg.fields.values()}


def _of_leg(name: str, view: View, retrievers: set[tuple[str, float, float]]) -> Iterator[str]:
    fields = view.lexical.fields if view.lexical is not None else {}
    if len(fields) > MOST_FIELDS:
        yield f"view {name}: {len(fields)} searched fields, and at most {MOST_FIELDS} are allowed"
    for field, spec in fields.items():
        if retrievers and (spec.analyzer, spec.k1, spec.b) not in retrievers:
            yield f"view {name}: analyzer, k1 and b of {field} are frozen"


def _of_steps(view: View, before: View | None) -> Iterator[str]:
    known = list(before.steps) if before is not None else []
    if len(view.steps) > MOST_STEPS:
        yield f"{len(view.steps)} steps, and at most {MOST_STEPS} are allowed"
    rows = sum(step_effect(step).many_rows for step in view.steps)
    if rows > MOST_ROW_STEPS:
        yield f"{rows} steps that make rows, and at most {MOST_ROW_STEPS} are allowed"
    replacing = sum(isinstance(step, Normalize) and step.scheme == "regex_replace" for step in view.steps)
    if replacing > MOST_REPLACING:
        yield f"{replacing} steps that replace by regular expressions, and at most {MOST_REPLACING} are allowed"
    copies = 1.0
    for step in view.steps:
        if step not in known:
            yield from _of_step(step)
        if isinstance(step, Slice) and step.window:
            copies *= step.window / max(1, step.window - step.overlap)
    if copies > MOST_COPIES:
        yield f"overlapping windows repeat the text {copies:.0f} times, and at most {MOST_COPIES} are allowed"


def _of_step(step: Step) -> Iterator[str]:
    match step:
        case Slice():
            yield from _of_slice(step)
        case Normalize():
            yield from _of_regex(step.pattern or "")
            yield from _of_replacement(step.replacement)
            yield from _of_table(step.table or {})
        case Synonyms():
            yield from _of_table(step.table)
        case Discard():
            yield from _of_regex(step.span.regex or "")
        case Generated():
            yield f"enrich {step.with_} needs texts of a language model, which a search does not make"
        case Keywords() if step.generator is not None:
            yield "keywords of a language model are nothing that a search makes"
        case _:
            pass


def _of_slice(step: Slice) -> Iterator[str]:
    if step.unit not in UNITS:
        yield "a search slices by words, sentences, paragraphs or headings"
    least = LEAST_WINDOW.get(step.unit, 1)
    if step.window is not None and not least <= step.window <= MOST_WINDOW:
        yield f"a window of {step.window:,} {step.unit} is out of bounds ({least} to {MOST_WINDOW:,})"


def _of_regex(pattern: str) -> Iterator[str]:
    if len(pattern) > MOST_REGEX:
        yield f"a regular expression of {len(pattern)} characters, and at most {MOST_REGEX} are allowed"


def _of_replacement(text: str) -> Iterator[str]:
    if len(text) > MOST_REPLACEMENT or len(_GROUP.findall(text)) > MOST_GROUPS:
        yield (
            f"a replacement of {len(text)} characters and {len(_GROUP.findall(text))} groups; at most "
            f"{MOST_REPLACEMENT} and {MOST_GROUPS} are allowed"
        )


def _of_table(table: dict[str, str | list[str]]) -> Iterator[str]:
    values = [text for value in table.values() for text in ([value] if isinstance(value, str) else value)]
    characters = sum(map(len, table)) + sum(map(len, values))
    if len(table) > MOST_TERMS or characters > MOST_TERM_CHARACTERS:
        yield (
            f"a table of {len(table):,} terms and {characters:,} characters; at most {MOST_TERMS:,} and "
            f"{MOST_TERM_CHARACTERS:,} are allowed"
        )
