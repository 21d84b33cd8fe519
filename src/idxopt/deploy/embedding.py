"""Vectors of a deployment: which views need them, the model checked before the first write, rows on their way."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import numpy.typing as npt

from idxopt.builds.vectors import with_vectors
from idxopt.compiler.dense import dense_text
from idxopt.compiler.lowered import DenseText
from idxopt.deploy.intent import Plan
from idxopt.deploy.options import ApplyOptions
from idxopt.engines.port import Capabilities
from idxopt.errors import BuildError, ConfigError, ModelError
from idxopt.models.opening import Models
from idxopt.models.ports import Embedder
from idxopt.operators.row import StoredRow, vector_of
from idxopt.program.effects import searching_models
from idxopt.program.schema import Program
from idxopt.program.validate import program_from

SAME = 0.9999
"""Cosine from which two vectors of one text count as the same: a model need not give the same bits twice."""


def dense_views(program: Program) -> dict[str, DenseText]:
    """What is embedded, by view with a dense leg."""
    return {name: dense for name in program.views if (dense := dense_text(program, name)) is not None}


def refuse_without_knn(capabilities: Capabilities, program: Program, name: str) -> None:
    """Raises BuildError where the engine is known to have no vectors and the program wants some."""
    dense = dense_views(program)
    if not dense or capabilities.knn is not False:
        return
    raise BuildError(
        f"view {next(iter(dense))} has a dense leg, and this {capabilities.engine} {capabilities.version} "
        "lacks the k-NN plugin on some node",
        place=name,
        remedy="install the plugin opensearch-knn on every node, or take `dense` out of the program",
    )


def embedder_of(models: Models | None, dense: DenseText) -> Embedder:
    """Raises ConfigError where no models were given at all."""
    if models is None:
        raise ConfigError(
            f'the program embeds with "{dense.model}", and no models were opened',
            place=f"models.{dense.model}",
            remedy="give the models of the program (`config.models.open_models`)",
        )
    return models.embedder(dense.model)


def check_models(models: Models | None, dense: Iterable[DenseText]) -> None:
    """Embeds one short text with every model, before anything is written. Raises ConfigError and ModelError.

    The text is a new one each time: a remembered vector would say nothing about a model that is not there any more.
    """
    by_model = {one.model: one for one in dense}
    for one in by_model.values():
        made = embedder_of(models, one).embed([f"idxopt {secrets.token_hex(8)}"], "passage").vectors
        if made.shape != (1, one.dimension):
            raise ModelError(
                f"its vectors have {made.shape[-1]} dimensions, the program says {one.dimension}",
                place=f"models.{one.model}",
                remedy="name the model that the program was written for, or correct its dimension",
            )


def check_searchable(models: Models, program: Program) -> None:
    """Raises ConfigError and ModelError where a model that a search of the program needs cannot be opened, as far as
    that is known without weights and network. In Python a program may be applied with other models than it is searched
    with, so an apply alone does not ask this.
    """
    for name in searching_models(program):
        models.check(name)


def check_plan(plan: Plan, options: ApplyOptions, capabilities: Capabilities) -> None:
    """What a plan with vectors needs, before its first write. Raises BuildError, ConfigError and ModelError."""
    program = program_from(plan.intent.program, "the plan")
    refuse_without_knn(capabilities, program, plan.name)
    built = {step.view for step in plan.builds}
    carries = options.carry_writes and plan.switches
    check_models(options.models, [one for view, one in dense_views(program).items() if carries or view in built])


def embedded(
    rows: Iterable[StoredRow],
    dense: DenseText | None,
    models: Models | None,
    on_progress: Callable[[int], None] | None = None,
    on_cut: Callable[[int], None] | None = None,
) -> Iterator[StoredRow]:
    """The rows with their vectors, or as they are where the view has no dense leg."""
    if dense is None:
        yield from rows
    else:
        yield from with_vectors(rows, dense, embedder_of(models, dense), on_progress=on_progress, on_cut=on_cut)


def vectors_agree(one: Mapping[str, object], other: Mapping[str, object]) -> bool:
    """Whether two bodies of a row have the same vector, or both none."""
    first, second = vector_of(one), vector_of(other)
    if first is None or second is None:
        return first is second
    return _same(np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64))


def _same(one: npt.NDArray[np.float64], other: npt.NDArray[np.float64]) -> bool:
    if one.shape != other.shape:
        return False
    lengths = float(np.linalg.norm(one)), float(np.linalg.norm(other))
    if not all(lengths):
        return False
    return float(one @ other) / (lengths[0] * lengths[1]) >= SAME and abs(lengths[0] / lengths[1] - 1) <= 1 - SAME
