"""Checks of one step where it stands: fields exist by then, parameters have a meaning, patterns compile."""

from __future__ import annotations

from collections.abc import Iterator

from idxopt.errors import ProgramError
from idxopt.program.effects import RESERVED, ViewFields, reads_tables, step_effect
from idxopt.program.model_checks import EXTRACTIVE, model_problems
from idxopt.program.patterns import compile_pattern, compile_replacement
from idxopt.program.problems import Location, Problem, nearest
from idxopt.program.schema import Program, View
from idxopt.program.steps import (
    UNITS,
    Discard,
    Generated,
    Keywords,
    Normalize,
    Reorganize,
    Reweight,
    Slice,
    Step,
)

KEEP_ORIGINAL = frozenset({"split_identifiers", "abbreviations", "terms", "numbers", "units", "dates"})
_TABLE_SCHEMES = frozenset({"abbreviations", "terms"})
_NO_INTO = frozenset({"sections", "table_rows", "list_items", "qa_pairs", "attributes", "merge_short"})


def step_problems(step: Step, at: Location, before: ViewFields, view: View, program: Program) -> Iterator[Problem]:
    """Problems of `step`, which stands at `at` and finds the fields `before`."""
    yield from _unknown_fields(step, at, before)
    yield from _new_names(step, at, before)
    if reads_tables(step):
        yield from _not_of_source(step, at, program)
    match step:
        case Slice():
            yield from _slice(step, at, program)
        case Normalize():
            yield from _normalize(step, at)
        case Reorganize():
            yield from _reorganize(step, at, before)
        case Reweight():
            yield from _reweight(step, at, view)
        case Discard():
            yield from _discard(step, at)
        case Generated() | Keywords() if step.generator is not None:
            yield from model_problems(step.generator, "generator", (*at, "generator"), program)
            yield from _generated(step, at, program)
        case _:
            pass


def _reading(step: Step, at: Location) -> Iterator[tuple[str, Location]]:
    if isinstance(step, Normalize | Reorganize) and not isinstance(step.field, str):
        yield from ((name, (*at, "field", number)) for number, name in enumerate(step.field))
    elif isinstance(step, Discard) and step.span.fields is not None:
        yield from ((name, (*at, "span", "fields", number)) for number, name in enumerate(step.span.fields))
    elif not isinstance(step, Reweight):
        yield from ((name, (*at, "field")) for name in step_effect(step).reads)


def _generated(step: Generated | Keywords, at: Location, program: Program) -> Iterator[Problem]:
    if isinstance(step, Generated) and step.rows and step.with_ != "questions":
        yield Problem((*at, "rows"), f"has no meaning with {step.with_}", "remove it; questions can be rows")
    spec = program.models.get(step.generator or "")
    if spec is not None and spec.id == EXTRACTIVE and step.with_ == "paraphrase":
        remedy = "name a language model, or use restructure"
        yield Problem((*at, "generator"), f'"{EXTRACTIVE}" chooses sentences and cannot paraphrase', remedy)


def _unknown_fields(step: Step, at: Location, before: ViewFields) -> Iterator[Problem]:
    for name, place in _reading(step, at):
        if name not in before.names:
            remedy = nearest(name, before.names)
            yield Problem(place, f'no field "{name}" at this point', remedy)
        elif name in before.structures and not isinstance(step, Discard):
            yield Problem(place, f'field "{name}" holds structure, not text', "name a text field")


def _new_names(step: Step, at: Location, before: ViewFields) -> Iterator[Problem]:
    into = getattr(step, "into", None)
    if into is None or (isinstance(step, Generated) and step.rows):
        return
    for name in step_effect(step).writes:
        if name in RESERVED and name in {into, f"{into}_sections"}:
            yield Problem((*at, "into"), f'the field name "{name}" is reserved', "choose another name")
        elif name in {into, f"{into}_sections"} and name in before.names:
            yield Problem(
                (*at, "into"), f'there is a field "{name}" already', "choose another name, or discard it first"
            )


def _not_of_source(step: Step, at: Location, program: Program) -> Iterator[Problem]:
    name = getattr(step, "field", "")
    if name not in program.source.fields:
        yield Problem(
            (*at, "field"),
            f'corpus tables are made of source fields, and "{name}" is none',
            nearest(name, program.source.fields),
        )


def _slice(step: Slice, at: Location, program: Program) -> Iterator[Problem]:
    models = [name for name, spec in program.models.items() if spec.kind != "generator"]
    if step.unit in program.models and step.unit not in (*UNITS, *models):
        remedy = "name an embedder or a reranker of models, or words"
        yield Problem((*at, "unit"), f'model "{step.unit}" is a generator, whose tokens are no unit', remedy)
    elif step.unit not in (*UNITS, *models):
        yield Problem((*at, "unit"), f'unknown unit "{step.unit}"', nearest(step.unit, [*UNITS, *models]))
    elif step.cut != "anywhere" and step.unit in ("sentences", "paragraphs", "headings"):
        remedy = "remove it; it belongs to words and to the tokens of a model"
        yield Problem((*at, "cut"), f"has no meaning with unit {step.unit}", remedy)
    elif step.unit == "headings":
        for name in ("window", "overlap"):
            if getattr(step, name):
                yield Problem((*at, name), "has no meaning with unit headings", "add a second slice step, by words")
    else:
        yield from _window(step, at)


def _window(step: Slice, at: Location) -> Iterator[Problem]:
    if step.window is None:
        yield Problem((*at, "window"), f"is missing (unit {step.unit})", "say how many units a row may have")
    elif step.overlap >= step.window:
        yield Problem((*at, "overlap"), f"{step.overlap} is not below window {step.window}", "make it smaller")
    elif step.min_size > step.window:
        yield Problem((*at, "min_size"), f"{step.min_size} is above window {step.window}", "make it smaller")
    if step.keep_heading_path:
        yield Problem((*at, "keep_heading_path"), "belongs to unit headings", "slice by headings first")
    if step.level != Slice.model_fields["level"].default:
        yield Problem((*at, "level"), "belongs to unit headings", "remove it")


def _normalize(step: Normalize, at: Location) -> Iterator[Problem]:
    if step.keep_original and step.scheme not in KEEP_ORIGINAL:
        remedy = f"remove it; it belongs to {', '.join(sorted(KEEP_ORIGINAL))}"
        yield Problem((*at, "keep_original"), f"has no meaning with {step.scheme}", remedy)
    if (step.table is None) == (step.scheme in _TABLE_SCHEMES):
        message = f"is missing (scheme {step.scheme})" if step.table is None else f"has no meaning with {step.scheme}"
        yield Problem(
            (*at, "table"), message, 'write {"EBS": "Elastic Block Store"}' if step.table is None else "remove it"
        )
    if step.scheme == "regex_replace":
        yield from _pattern(step, at)
        return
    if step.pattern is not None:
        yield Problem((*at, "pattern"), f"has no meaning with {step.scheme}", "use scheme regex_replace, or remove it")
    if step.replacement:
        yield Problem(
            (*at, "replacement"), f"has no meaning with {step.scheme}", "use scheme regex_replace, or remove it"
        )


def _pattern(step: Normalize, at: Location) -> Iterator[Problem]:
    if step.pattern is None:
        yield Problem((*at, "pattern"), "is missing (scheme regex_replace)", "write a regular expression (RE2 syntax)")
        return
    try:
        compile_pattern(step.pattern)
    except ProgramError as error:
        yield Problem((*at, "pattern"), error.message, error.remedy or "")
        return
    try:
        compile_replacement(step.pattern, step.replacement)
    except ProgramError as error:
        yield Problem((*at, "replacement"), error.message, error.remedy or "")


def _reorganize(step: Reorganize, at: Location, before: ViewFields) -> Iterator[Problem]:
    if (step.into is None) != (step.to in _NO_INTO):
        message = f"is missing (to {step.to})" if step.into is None else f"has no meaning with {step.to}"
        yield Problem((*at, "into"), message, "name the new field" if step.into is None else "remove it")
    yield from _joined_fields(step, at)
    if (step.min_size is not None) != (step.to == "merge_short"):
        message = "is missing (to merge_short)" if step.min_size is None else f"has no meaning with {step.to}"
        yield Problem((*at, "min_size"), message, "say how many words" if step.min_size is None else "remove it")
    if step.to != "sections" and step.level != Reorganize.model_fields["level"].default:
        yield Problem((*at, "level"), f"has no meaning with {step.to}", "remove it")
    if step.to == "merge_short" and not before.many_rows:
        yield Problem((*at, "to"), "merge_short joins rows, and there is one row here", "slice before it")


def _joined_fields(step: Reorganize, at: Location) -> Iterator[Problem]:
    several = not isinstance(step.field, str)
    if step.to != "join":
        if several:
            yield Problem((*at, "field"), f"{step.to} works on one field, and this is a list", "name one field")
    elif not several or len(step.field) < 2 or len(set(step.field)) < len(step.field):
        remedy = 'list them in the order of their texts, as in ["title", "body"]'
        yield Problem((*at, "field"), "join needs two or more different fields", remedy)


def _reweight(step: Reweight, at: Location, view: View) -> Iterator[Problem]:
    searched = view.lexical.fields if view.lexical is not None else {}
    if step.field not in searched:
        yield Problem((*at, "field"), f'"{step.field}" is no field of lexical.fields', nearest(step.field, searched))


def _discard(step: Discard, at: Location) -> Iterator[Problem]:
    if step.span.regex is not None:
        try:
            compile_pattern(step.span.regex)
        except ProgramError as error:
            yield Problem((*at, "span", "regex"), error.message, error.remedy or "")
    if step.span.fields is not None and step.field != Discard.model_fields["field"].default:
        yield Problem((*at, "field"), "has no meaning with span.fields", "remove it")
