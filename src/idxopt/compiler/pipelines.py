"""The ingest pipeline of a primary view: one painless script, the same for every program; the steps are its `params`.

It writes `idxopt.doc_id` and the derived fields from the untouched source fields, so that running it twice changes
nothing. What it cannot make equal to the interpreter it leaves out and sets `idxopt.incomplete`; no document is lost.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from idxopt.compiler.placement import ViewPlacement
from idxopt.program.effects import normalized_fields
from idxopt.program.schema import Program
from idxopt.program.steps import Discard, Lead, Normalize, Reorganize, Step

TEXT_LIMIT = 900_000
"""UTF-16 units of one text that the script works on: painless stops a function after a million turns of its loops."""

_ON_FAILURE = "ctx.idxopt = ['incomplete': true]; if (ctx._id != null) { ctx.idxopt.doc_id = ctx._id; }"


def ingest_pipeline(program: Program, placement: ViewPlacement, mark: Mapping[str, str]) -> dict[str, Any]:
    """The pipeline body. Its owner mark is JSON in `description` (engines refuse `_meta` in a pipeline)."""
    names = sorted(program.source.fields)
    params = {
        "paths": {name: program.source.fields[name] for name in names},
        "steps": [plain for step in placement.pipelined for plain in script_steps(step)],
        "outputs": list(placement.outputs),
        "incomplete": bool(placement.lost_on_write),
        "limit": TEXT_LIMIT,
    }
    return {
        "description": json.dumps(dict(mark), separators=(",", ":")),
        "processors": [
            {"script": {"lang": "painless", "source": script_source(), "params": params}},
        ],
        "on_failure": [
            {"script": {"lang": "painless", "source": _ON_FAILURE}},
        ],
    }


@cache
def script_source() -> str:
    """The painless script as it is shipped (`pipeline.painless`), without its comments."""
    text = resources.files("idxopt.compiler").joinpath("pipeline.painless").read_text("utf-8")
    lines = (line.rstrip() for line in text.splitlines())
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("//"))


def script_steps(step: Step) -> list[dict[str, Any]]:
    """A step that runs in both places as the script reads it, one entry a field."""
    match step:
        case Normalize():
            extra = {"keep": step.keep_original} if step.scheme == "split_identifiers" else {}
            return [{"kind": step.scheme, "field": name, **extra} for name in normalized_fields(step)]
        case Reorganize():
            return [{"kind": step.to, "field": step.field, "into": step.into}]
        case Discard() if step.span.fields is not None:
            return [{"kind": "drop", "field": name} for name in sorted(set(step.span.fields))]
        case Discard():
            return [{"kind": "phrases", "field": step.field, "phrases": sorted(set(step.span.phrases or ()))}]
        case Lead():
            return [
                {
                    "kind": "lead",
                    "field": step.field,
                    "into": step.into,
                    "sentences": step.sentences or 0,
                    "words": step.words or 0,
                }
            ]
        case _:
            raise AssertionError(f"{type(step).__name__} has no form on the server")
