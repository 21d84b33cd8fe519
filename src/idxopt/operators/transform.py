"""A step as a function over the rows of one document, and the two commonest shapes of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from idxopt.operators.row import Row, text_of
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.operators.tables import Tables
from idxopt.program.schema import Markup, ModelSpec

Transform = Callable[[list[Row]], list[Row]]


@dataclass(frozen=True, slots=True)
class Context:
    """What a step may know besides its rows: the source's markup, the frozen tables of the build, the models that the
    program names (`specs`) and what is at hand of them.
    """

    markup: Markup
    tables: Tables
    models: StepModels = NO_MODELS
    specs: Mapping[str, ModelSpec] = field(default_factory=dict)


def with_field(row: Row, name: str, value: Any) -> Row:
    """The row with `name` set to `value`; what a span said of that field's text holds no longer."""
    verbatim = None if row.verbatim == name else row.verbatim
    return Row(row.doc_id, {**row.fields, name: value}, row.changed | {name}, row.path, row.span, verbatim)


def without_field(row: Row, name: str) -> Row:
    """The row without `name`."""
    fields = {key: value for key, value in row.fields.items() if key != name}
    return Row(row.doc_id, fields, row.changed - {name}, row.path, row.span, row.verbatim)


def text_in(row: Row, name: str) -> str | None:
    """The text of a field, or None where the document has no such field (a step then does nothing)."""
    value = row.fields.get(name)
    return None if value is None else text_of(value)


@dataclass(frozen=True, slots=True)
class Adding:
    """A transform that writes what `derive` makes of a row to its field `into`; None: the row stays as it is."""

    into: str
    derive: Callable[[Row], Any]

    def __call__(self, rows: list[Row]) -> list[Row]:
        values = ((row, self.derive(row)) for row in rows)
        return [row if value is None else with_field(row, self.into, value) for row, value in values]

    def value(self, row: Row) -> Any:
        """What `into` holds afterwards, without making the row."""
        value = self.derive(row)
        return row.fields.get(self.into) if value is None else value


def adding(name: str, into: str, derive: Callable[[str], Any]) -> Transform:
    """Writes what `derive` makes of a field's text to the field `into`."""

    def of_row(row: Row) -> Any:
        text = text_in(row, name)
        return None if text is None else derive(text)

    return Adding(into, of_row)


def rewriting(names: Sequence[str], rewrite: Callable[[str], str]) -> Transform:
    """Rewrites the text of fields in place."""
    if len(names) == 1:
        return adding(names[0], names[0], rewrite)

    def transform(rows: list[Row]) -> list[Row]:
        return [_rewritten(row, names, rewrite) for row in rows]

    return transform


def _rewritten(row: Row, names: Sequence[str], rewrite: Callable[[str], str]) -> Row:
    for name in names:
        text = text_in(row, name)
        if text is not None:
            row = with_field(row, name, rewrite(text))
    return row
