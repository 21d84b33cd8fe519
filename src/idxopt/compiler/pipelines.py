"""The ingest pipeline of a primary view: a painless script of the functions that its steps need, the steps as `params`.

It writes `idxopt.doc_id` and the derived fields from the untouched source fields, so that running it twice changes
nothing. What it cannot make equal to the interpreter it leaves out and sets `idxopt.incomplete`; no document is lost.

The functions are in `painless/`, a file a topic. Rules for all of them: painless stops a function after a million turns
of its loops, so each turns once a unit of a text at most and leaves nested runs to functions of their own; no regular
expressions, their circuit breaker trips on long texts; code points are decimal, because painless misreads hexadecimal
numbers that end in D or F.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from idxopt.compiler.pipeline_tables import pipeline_tables, table_name
from idxopt.compiler.placement import ViewPlacement
from idxopt.operators.enrich.prime_terms import decay_rate, stop_words_of
from idxopt.operators.tables import Tables
from idxopt.program.effects import normalized_fields, reorganized_fields
from idxopt.program.schema import Program
from idxopt.program.steps import Discard, HeadingTree, Lead, Normalize, PrimeTerms, Reorganize, Step

TEXT_LIMIT = 900_000
"""UTF-16 units of one text that the script works on: painless stops a function after a million turns of its loops."""

_ON_FAILURE = "ctx.idxopt = ['incomplete': true]; if (ctx._id != null) { ctx.idxopt.doc_id = ctx._id; }"


@dataclass(frozen=True, slots=True)
class _Call:
    """What the script does for one kind of step, and the files of `painless/` that it needs for it."""

    statement: str
    parts: tuple[str, ...]


_PAGE = "pageOf(text, given.markdown, pages)"
_PRIME = ("spaces", "letters", "markdown", "inline", "pages", "prime")
_CALLS = {
    "lowercase": _Call("fields.put(into, lowercase(text));", ("letters",)),
    "whitespace": _Call("fields.put(into, whitespace(text));", ("spaces",)),
    "split_identifiers": _Call("fields.put(into, splitIdentifiers(text, step.keep));", ("identifiers",)),
    "join": _Call("join(text, into, fields);", ("join",)),
    "phrases": _Call("fields.put(into, withoutPhrases(text, step.phrases));", ("phrases",)),
    "lead": _Call(
        "fields.put(into, step.words > 0 ? firstWords(text, step.words) : firstSentences(text, step.sentences));",
        ("spaces", "lead"),
    ),
    "prime_terms": _Call(
        f"fields.put(into, primeTerms({_PAGE}, step, given.tables.get(step.table)));",
        _PRIME,
    ),
    "heading_tree": _Call(
        f"List sections = treeSections(text, {_PAGE}, step.depth); "
        "fields.put(into, treeText(sections)); fields.put(step.structure, sections);",
        _PRIME,
    ),
}


def ingest_pipeline(
    program: Program, placement: ViewPlacement, mark: Mapping[str, str], tables: Tables | None = None
) -> dict[str, Any]:
    """The pipeline body. Its owner mark is JSON in `description` (engines refuse `_meta` in a pipeline).

    `tables`: the frozen ones of the build, where they are known; without them a placeholder stands in `params.tables`,
    and the script leaves out what needs them.
    """
    names = sorted(program.source.fields)
    steps = [plain for step in placement.pipelined for plain in script_steps(step)]
    frozen = pipeline_tables(placement.pipelined, tables)
    params = {
        "paths": {name: program.source.fields[name] for name in names},
        "steps": steps,
        "outputs": list(placement.outputs),
        "incomplete": bool(placement.lost_on_write),
        "limit": TEXT_LIMIT,
        "markdown": program.source.markup == "markdown",
        **({"tables": frozen} if frozen else {}),
    }
    kinds = frozenset({step["kind"] for step in steps} & _CALLS.keys())
    return {
        "description": json.dumps(dict(mark), separators=(",", ":")),
        "processors": [
            {"script": {"lang": "painless", "source": script_source(kinds), "params": params}},
        ],
        "on_failure": [
            {"script": {"lang": "painless", "source": _ON_FAILURE}},
        ],
    }


def marking_failures_only(pipeline: Mapping[str, Any]) -> dict[str, Any]:
    """The pipeline as it would be if nothing were left out of it by design (a vector): `idxopt.incomplete` then marks
    the documents alone that are beyond the script, so that all others can be compared.
    """
    first, *others = pipeline["processors"]
    script = first["script"]
    script = {**script, "params": {**script["params"], "incomplete": False}}
    return {**pipeline, "processors": [{**first, "script": script}, *others]}


@cache
def script_source(kinds: frozenset[str]) -> str:
    """The painless script for these kinds of steps, without comments."""
    ordered = [kind for kind in _CALLS if kind in kinds]
    parts = dict.fromkeys(part for kind in ordered for part in _CALLS[kind].parts)
    return "\n".join([*map(_part, ("values", *parts)), _dispatch(ordered), _part("document")])


def _part(name: str) -> str:
    text = resources.files("idxopt.compiler").joinpath(f"painless/{name}.painless").read_text("utf-8")
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("//"))


def _dispatch(kinds: list[str]) -> str:
    """The function that runs one step on a text."""
    cases = "".join(f"  if (kind == '{kind}') {{\n    {_CALLS[kind].statement}\n    return;\n  }}\n" for kind in kinds)
    return (
        "void run(def step, String text, String into, Map fields, Map given, Map pages) {\n"
        "  String kind = step.kind;\n"
        f"{cases}  throw new IllegalArgumentException('unknown step ' + kind);\n}}"
    )


def script_steps(step: Step) -> list[dict[str, Any]]:
    """A step that runs in both places as the script reads it, one entry a field."""
    match step:
        case Normalize():
            extra = {"keep": step.keep_original} if step.scheme == "split_identifiers" else {}
            return [{"kind": step.scheme, "field": name, **extra} for name in normalized_fields(step)]
        case Reorganize():
            return [{"kind": step.to, "field": name, "into": step.into} for name in reorganized_fields(step)]
        case Discard() if step.span.fields is not None:
            return [{"kind": "drop", "field": name} for name in sorted(set(step.span.fields))]
        case Discard():
            return [{"kind": "phrases", "field": step.field, "phrases": sorted(set(step.span.phrases or ()))}]
        case Lead():
            return [{**_into(step), "sentences": step.sentences or 0, "words": step.words or 0}]
        case PrimeTerms():
            return [
                {
                    **_into(step),
                    "top": step.top,
                    "rate": decay_rate(step),
                    "beta": step.beta,
                    "stopwords": sorted(stop_words_of(step)),
                    "table": table_name(step),
                }
            ]
        case HeadingTree():
            return [{**_into(step), "structure": f"{step.into}_sections", "depth": step.depth}]
        case _:
            raise AssertionError(f"{type(step).__name__} has no form on the server")


def _into(step: Lead | PrimeTerms | HeadingTree) -> dict[str, Any]:
    return {"kind": step.with_, "field": step.field, "into": step.into}
