"""Checks of `models` and of everything in a program that names one."""

from __future__ import annotations

from collections.abc import Iterator

from idxopt.program.effects import view_fields
from idxopt.program.problems import Location, Problem, nearest
from idxopt.program.schema import ModelSpec, Program, Rerank

EXTRACTIVE = "extractive"
"""Id of the generator that needs no weights."""

MAXSIM = "maxsim:"
"""Ids `maxsim:NAME`: the reranker that compares the token vectors of the embedder NAME of `models`."""

_A = {"embedder": "an embedder", "reranker": "a reranker", "generator": "a generator"}


def model_problems(name: str, kind: str, at: Location, program: Program) -> Iterator[Problem]:
    """The name must be a key of `models` whose kind is `kind`."""
    if name not in program.models:
        known = [other for other, spec in program.models.items() if spec.kind == kind]
        remedy = nearest(name, known) if known else f"add {_A[kind]} of that name to models"
        yield Problem(at, f'no model "{name}"', remedy)
    elif program.models[name].kind != kind:
        given = _A[program.models[name].kind]
        yield Problem(at, f'model "{name}" is {given}, not {_A[kind]}', f"name {_A[kind]}")


def spec_problems(program: Program) -> Iterator[Problem]:
    """Problems of the entries of `models`."""
    dense = {view.dense.model for view in program.views.values() if view.dense is not None}
    for name, spec in program.models.items():
        at: Location = ("models", name)
        yield from _identity(spec, at, program)
        if spec.kind == "embedder":
            if name in dense:
                yield from _embedder(spec, at)
        else:
            yield from _only_of_embedders(spec, at)


def rerank_problems(program: Program) -> Iterator[Problem]:
    """Problems of `rerank`: its model, and its fields in the primary view."""
    if program.rerank is None:
        return
    yield from model_problems(program.rerank.model, "reranker", ("rerank", "model"), program)
    if program.primary in program.views:
        yield from _rerank_fields(program.rerank, program)


def _rerank_fields(rerank: Rerank, program: Program) -> Iterator[Problem]:
    fields = view_fields(program, program.views[program.primary])
    text = [name for name in fields.names if name not in fields.structures]
    for key, name in (("field", rerank.field), ("context", rerank.context)):
        if name is not None and name not in text:
            what = "holds structure, not text" if name in fields.structures else "is no field of the primary view"
            yield Problem(("rerank", key), f'"{name}" {what}', nearest(name, text))
    if rerank.context is not None and rerank.unit == "document":
        yield Problem(("rerank", "context"), "belongs to unit section", "remove it, or rerank by sections")
    if rerank.context is not None and rerank.context == rerank.field:
        yield Problem(("rerank", "context"), "is the field that is scored", "remove it")


def _identity(spec: ModelSpec, at: Location, program: Program) -> Iterator[Problem]:
    here: Location = (*at, "id")
    if spec.id == EXTRACTIVE and spec.kind != "generator":
        yield Problem(here, f'"{EXTRACTIVE}" is a generator, and this is {_A[spec.kind]}', 'set "kind": "generator"')
    if not spec.id.startswith(MAXSIM):
        return
    embedder = spec.id.removeprefix(MAXSIM)
    if spec.kind != "reranker":
        yield Problem(here, f'"{MAXSIM}..." is a reranker, and this is {_A[spec.kind]}', 'set "kind": "reranker"')
        return
    for problem in model_problems(embedder, "embedder", here, program):
        yield Problem(problem.location, f"{problem.message} ({MAXSIM} takes an embedder of models)", problem.remedy)


def _embedder(spec: ModelSpec, at: Location) -> Iterator[Problem]:
    """A mapping cannot be made without these, and what a model would say is known only where it runs."""
    if spec.dimension is None:
        yield Problem((*at, "dimension"), "is missing: a dense leg uses this model", "write how long its vectors are")
    if spec.similarity is None:
        remedy = 'write "cosine", "dot" or "l2", as the model was trained'
        yield Problem((*at, "similarity"), "is missing: a dense leg uses this model", remedy)


def _only_of_embedders(spec: ModelSpec, at: Location) -> Iterator[Problem]:
    for key in ("dimension", "similarity"):
        if getattr(spec, key) is not None:
            yield Problem((*at, key), f"has no meaning for a {spec.kind}", "remove it")
