"""`reweight`: a weight at query time. It changes no row; the compiler multiplies the field's weight by `alpha`."""

from __future__ import annotations

from idxopt.operators.row import Row
from idxopt.operators.transform import Context, Transform
from idxopt.program.steps import Reweight


def compile_reweight(_: Reweight, __: Context) -> Transform:
    """The step as a function over rows: they stay as they are."""
    return _unchanged


def _unchanged(rows: list[Row]) -> list[Row]:
    return rows
