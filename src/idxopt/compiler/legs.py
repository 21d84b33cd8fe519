"""The ranked lists of a program: which index, which fields, which boosts."""

from __future__ import annotations

from collections.abc import Mapping

from idxopt.compiler.dense import dense_text
from idxopt.compiler.fields import stored_path
from idxopt.compiler.lowered import Leg, LegField, Target
from idxopt.errors import ProgramError
from idxopt.program.effects import view_fields
from idxopt.program.schema import Lexical, Program
from idxopt.program.steps import Reweight


def legs(program: Program, indices: Mapping[str, str], target: Target) -> tuple[Leg, ...]:
    """The legs of a program in fusion order (as the views are written, in each its lexical leg before its dense one),
    addressed to the given physical indices.

    Fields of weight 0 are left out, and so is a leg without any, and a leg or a view whose weight in the fusion is 0.
    Raises ProgramError when no leg is left.
    """
    made: list[Leg | None] = []
    for name in program.views:
        made += [_lexical_leg(program, name, indices[name], target), _dense_leg(program, name, indices[name])]
    found = tuple(leg for leg in made if leg is not None)
    if not found:
        raise ProgramError(
            "no view has a searched field of a weight above 0, nor a dense leg of a weight above 0",
            remedy='give a view "lexical": {"fields": {...}}',
            place="views",
        )
    return found


def _dense_leg(program: Program, view_name: str, index: str) -> Leg | None:
    view = program.views[view_name]
    text = dense_text(program, view_name)
    key = f"{view_name}.dense"
    weight = view.weight * program.fusion.weights.get(key, 1.0)
    if text is None or weight == 0:
        return None
    return Leg(
        key=key,
        view=view_name,
        kind="dense",
        index=index,
        fields={},
        boosts={},
        scale=1.0,
        many_rows=view_fields(program, view).many_rows,
        weight=weight,
        primary=view_name == program.primary,
        dense=text,
    )


def _lexical_leg(program: Program, view_name: str, index: str, target: Target) -> Leg | None:
    view = program.views[view_name]
    if view.lexical is None:
        return None
    key = f"{view_name}.lexical"
    weight = view.weight * program.fusion.weights.get(key, 1.0)
    fields = _leg_fields(program, view_name, view.lexical)
    if not fields or weight == 0:
        return None
    boosts, scale = boosts_and_scale(fields, bm25_factor=target.bm25_factor)
    return Leg(
        key=key,
        view=view_name,
        kind="lexical",
        index=index,
        fields=fields,
        boosts=boosts,
        scale=scale,
        many_rows=view_fields(program, view).many_rows,
        weight=weight,
        primary=view_name == program.primary,
    )


def _leg_fields(program: Program, view_name: str, lexical: Lexical) -> dict[str, LegField]:
    view = program.views[view_name]
    places = view_fields(program, view)
    alphas: dict[str, float] = {}
    for step in view.steps:
        if isinstance(step, Reweight):
            alphas[step.field] = alphas.get(step.field, 1.0) * step.alpha
    found = {}
    for name, field in lexical.fields.items():
        weight = field.weight * alphas.get(name, 1.0)
        if weight > 0:
            path = stored_path(program, view_name, name, places)
            found[path] = LegField(path, field.analyzer, field.k1, field.b, weight)
    return found


def boosts_and_scale(fields: Mapping[str, LegField], *, bm25_factor: bool) -> tuple[dict[str, float], float]:
    """Boosts to send, and the factor that turns a raw score into the sum of weight * BM25.

    OpenSearch 2.x and Elasticsearch multiply BM25 by k1 + 1. Where all fields share k1 the whole score is scaled, so
    that the order is exactly that of the weights; where they differ each boost is divided.
    """
    weights = {path: field.weight for path, field in fields.items()}
    k1s = {field.k1 for field in fields.values()}
    if not bm25_factor:
        return weights, 1.0
    if len(k1s) == 1:
        return weights, 1.0 / (k1s.pop() + 1.0)
    return {path: field.weight / (field.k1 + 1.0) for path, field in fields.items()}, 1.0
