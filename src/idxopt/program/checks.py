"""What the shape of a program cannot say: names that must exist, parameters that have a meaning only together."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from idxopt.program.effects import RESERVED, ViewFields, source_fields
from idxopt.program.model_checks import model_problems, rerank_problems, spec_problems
from idxopt.program.problems import Location, Problem, nearest
from idxopt.program.schema import Dense, Program, View
from idxopt.program.step_checks import step_problems
from idxopt.text.analysis import ANALYZERS

OWN = "idxopt"
_ENGINE_FIELDS = frozenset(
    {"_id", "_index", "_type", "_source", "_routing", "_seq_no", "_field_names", "_ignored", "_size", "_nested_path"}
)


def problems(program: Program) -> Iterator[Problem]:
    """Everything that is wrong with a program whose shape is right."""
    yield from _source(program)
    yield from _primary(program)
    for name, view in program.views.items():
        yield from _view(name, view, program)
    yield from _fusion(program)
    yield from spec_problems(program)
    yield from rerank_problems(program)


def _source(program: Program) -> Iterator[Problem]:
    paths: dict[str, Location] = {}
    for name, path in program.source.fields.items():
        at: Location = ("source", "fields", name)
        if name in RESERVED:
            yield Problem(at, f'the field name "{name}" is reserved', "choose another name")
        yield from _path(path, at)
        if path in paths:
            yield Problem(at, f'"{path}" is read by another field already', "copy it with reorganize to promote")
        paths[path] = at
    for path in program.source.metadata:
        at = ("source", "metadata", path)
        yield from _path(path, at)
        if path in paths:
            yield Problem(at, f'"{path}" is a text field already', "leave it out of metadata or of fields")
        paths[path] = at
    ordered = sorted(paths, key=lambda path: path.split("."))
    for outer, inner in pairwise(ordered):
        if inner.startswith(outer + "."):
            yield Problem(paths[inner], f'"{inner}" lies inside "{outer}"', "a field is a value or an object, not both")


def _path(path: str, at: Location) -> Iterator[Problem]:
    head = path.split(".")[0]
    if "" in path.split(".") or path != path.strip() or any(sign in path for sign in '*^"\\') or not path.isprintable():
        yield Problem(at, f'"{path}" is no field path', "write names joined by single dots, as in metadata.title")
    elif head == OWN:
        yield Problem(at, f'"{OWN}" is reserved for what idxopt derives', "name a field of the source")
    elif head in _ENGINE_FIELDS:
        yield Problem(at, f'"{head}" is a field of the engine itself', "name a field of the source")


def _primary(program: Program) -> Iterator[Problem]:
    if program.primary not in program.views:
        yield Problem(("primary",), f'no view "{program.primary}"', nearest(program.primary, program.views))
    if all(view.lexical is None and view.dense is None for view in program.views.values()):
        yield Problem(("views",), "no view is searched", "give one of them lexical fields or a dense leg")


def _view(name: str, view: View, program: Program) -> Iterator[Problem]:
    at: Location = ("views", name)
    if name == "live":
        yield Problem(at, '"live" is no name for a view (aliases use it)', "choose another name")
    fields, sound = source_fields(program), True
    for number, step in enumerate(view.steps):
        here: Location = (*at, "steps", number)
        found = list(step_problems(step, here, fields, view, program))
        sound = sound and not found
        yield from found
        after = fields.after(step)
        if name == program.primary and after.many_rows and not fields.many_rows:
            yield Problem(
                here, "makes several rows of one in the primary view", "move it to another view, or change primary"
            )
        fields = after
    if sound:
        yield from _legs(name, view, fields, program)


def _legs(name: str, view: View, fields: ViewFields, program: Program) -> Iterator[Problem]:
    at: Location = ("views", name)
    if view.lexical is None and view.dense is None and name != program.primary:
        yield Problem(at, "is never searched", "give it lexical fields or a dense leg")
    if view.combine is not None and (view.lexical is None or view.dense is None):
        missing = "dense leg" if view.dense is None else "lexical leg"
        yield Problem((*at, "combine"), f"joins two legs, and this view has no {missing}", "add it, or remove combine")
    analyzers = {*ANALYZERS, *_own_analyzers(program)}
    for field, spec in (view.lexical.fields if view.lexical is not None else {}).items():
        here: Location = (*at, "lexical", "fields", field)
        yield from _searched(field, here, fields)
        if spec.analyzer not in analyzers:
            yield Problem((*here, "analyzer"), f'unknown analyzer "{spec.analyzer}"', nearest(spec.analyzer, analyzers))
    if view.dense is not None:
        yield from _dense(view.dense, (*at, "dense"), fields, program)


def _dense(dense: Dense, at: Location, fields: ViewFields, program: Program) -> Iterator[Problem]:
    yield from model_problems(dense.model, "embedder", (*at, "model"), program)
    for number, field in enumerate(dense.text):
        here: Location = (*at, "text", number)
        yield from _searched(field, here, fields)
        if field in dense.text[:number]:
            yield Problem(here, f'"{field}" is embedded already', "name each field once")


def _searched(field: str, at: Location, fields: ViewFields) -> Iterator[Problem]:
    text = [name for name in fields.names if name not in fields.structures]
    if field in fields.structures:
        yield Problem(at, f'field "{field}" holds structure, not text', nearest(field, text))
    elif field not in text:
        yield Problem(at, f'no field "{field}" after the steps of this view', nearest(field, text))


def _own_analyzers(program: Program) -> list[str]:
    block = program.analysis.get("analyzer")
    return list(block) if isinstance(block, dict) else []


def _fusion(program: Program) -> Iterator[Problem]:
    fusion = program.fusion
    legs = [f"{name}.lexical" for name, view in program.views.items() if view.lexical is not None]
    legs += [f"{name}.dense" for name, view in program.views.items() if view.dense is not None]
    for key in fusion.weights:
        if key not in legs:
            yield Problem(("fusion", "weights", key), f'no leg "{key}"', nearest(key, legs))
    if fusion.method == "rrf" and fusion.normalize != "none":
        yield Problem(("fusion", "normalize"), "has no meaning with rrf", "use method weighted_sum, or remove it")
    if fusion.method == "weighted_sum" and fusion.k != type(fusion).model_fields["k"].default:
        yield Problem(("fusion", "k"), "has no meaning with weighted_sum", "use method rrf, or remove it")
