"""Rows of single documents made anew, outside a load: to compare them with what is stored, or to carry writes over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from idxopt.compiler.dense import dense_text
from idxopt.deploy.embedding import embedded
from idxopt.models.opening import Models
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document, StoredRow
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.operators.tables import Tables
from idxopt.program.schema import Program


@dataclass(frozen=True, slots=True)
class Remaking:
    """What rows are made anew with: the program, its frozen tables, what its steps know of models, and the models that
    embed rows.
    """

    program: Program
    tables: Tables
    steps: StepModels = NO_MODELS
    models: Models | None = None

    def rows(self, view: str, documents: Sequence[Document]) -> dict[str, StoredRow]:
        """The rows of a view by id, with their vectors."""
        interpreter = Interpreter(self.program, view, self.tables, models=self.steps)
        made = (row for document in documents for row in interpreter.stored(document))
        return {row.id: row for row in embedded(made, dense_text(self.program, view), self.models)}
