"""The rows of views, made once for each way to make them.

What a field holds in the end depends only on the steps that wrote it, on those that wrote what these read, and on the
steps that made or joined rows (`relevant_steps`). Rows are kept by that list of steps: a candidate whose last step is
new runs that step alone, one that changes another field runs nothing for this one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from idxopt.errors import BuildError, ProgramError
from idxopt.hashing import digest
from idxopt.operators.interpreter import source_fields
from idxopt.operators.registry import semantics_version
from idxopt.operators.remembering import Memory, remembering
from idxopt.operators.row import Document, Row
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.operators.steps import compile_step
from idxopt.operators.transform import Context, Transform
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.scoring.chunks import Ints
from idxopt.program.canonical import canonical
from idxopt.program.effects import step_effect
from idxopt.program.schema import Program
from idxopt.program.steps import Reorganize, Reweight, Step

MAX_ROWS_A_DOCUMENT = 200
"""Rows a document in the mean from which a candidate is refused: it would be many times the corpus."""
_FREE_ROWS = 10_000
MAX_GROWTH = 8
"""How many times the characters of all source fields a candidate is refused from: what a step writes, or what all rows
hold of a searched field (a whole document in each of its rows). An index would hold as much.
"""
_FREE_CHARACTERS = 2_000_000
_KEPT_CHARACTERS = 400_000_000
"""Characters that steps wrote into kept rows; those used longest ago go first."""

Rows = list[list[Row]]
"""The rows of each document, in the order of the corpus."""


@dataclass(frozen=True)
class RowSet:
    """How rows belong to documents: `documents[i]` is the number of the document of row `i` (ascending)."""

    key: str
    documents: Ints

    @property
    def count(self) -> int:
        return len(self.documents)

    @cached_property
    def several(self) -> bool:
        """Whether some document has several rows."""
        return bool((self.documents[1:] == self.documents[:-1]).any())


@dataclass(frozen=True, slots=True)
class Column:
    """The values of one field in all rows; `key` says how they came about."""

    key: str
    rows: RowSet
    values: tuple[tuple[str, ...], ...]


def relevant_steps(steps: Sequence[Step], name: str | None) -> tuple[Step, ...]:
    """The steps that decide what field `name` holds in the end; None: that decide which rows there are."""
    needed = set() if name is None else {name}
    found: list[Step] = []
    for step in reversed(steps):
        effect = step_effect(step)
        if changes_rows(step) or needed & (effect.writes | effect.removes):
            needed |= effect.reads
            found.append(step)
    return tuple(reversed(found))


def changes_rows(step: Step) -> bool:
    """Whether the step may make rows or join them."""
    return step_effect(step).many_rows or (isinstance(step, Reorganize) and step.to == "merge_short")


class Texts:
    """Columns of a corpus for any program over one source."""

    def __init__(self, corpus: Corpus, models: StepModels = NO_MODELS) -> None:
        self._corpus = corpus
        self._models = models
        self._sources: dict[str, Rows] = {}
        self._kept: OrderedDict[str, tuple[Rows, int]] = OrderedDict()
        self._characters = 0
        self._memory = Memory()

    def row_set(self, program: Program, view: str) -> RowSet:
        """Which rows a view has. Raises BuildError for a document that a step cannot take, ProgramError for a flood."""
        steps = relevant_steps(program.views[view].steps, None)
        return _row_set(self._key(program, steps), self._rows(program, steps))

    def column(self, program: Program, view: str, name: str) -> Column:
        """The values of a field in the rows of a view. Raises as `row_set`."""
        steps = relevant_steps(program.views[view].steps, name)
        rows = self._rows(program, steps)
        values = tuple(_texts_of(row.fields.get(name)) for each in rows for row in each)
        if sum(len(text) for value in values for text in value) > self._most_characters:
            raise ProgramError(
                f"all rows together hold more than {MAX_GROWTH} times the text that there is",
                place=f"{view}.{name}",
                remedy="search a shorter field in rows, or use larger windows",
            )
        return Column(self.column_key(program, view, name), _row_set(self.rows_key(program, view), rows), values)

    def column_key(self, program: Program, view: str, name: str) -> str:
        """Equal keys, equal columns."""
        return f"{self._key(program, relevant_steps(program.views[view].steps, name))}/{name}"

    def rows_key(self, program: Program, view: str) -> str:
        """Equal keys, equal sets of rows."""
        return self._key(program, relevant_steps(program.views[view].steps, None))

    def _key(self, program: Program, steps: Sequence[Step]) -> str:
        plain = canonical(program)
        source = {"fields": plain["source"]["fields"], "markup": program.source.markup, "models": plain.get("models")}
        return digest([source, [_plain(step) for step in steps if not isinstance(step, Reweight)]])

    def _rows(self, program: Program, steps: Sequence[Step]) -> Rows:
        """Runs the steps behind the longest list of first steps whose rows are kept."""
        done, rows = self._start(program, steps)
        if done == len(steps):
            return rows
        with remembering(self._memory):
            context = Context(program.source.markup, self._corpus.tables(program), self._models, program.models)
            for number in range(done, len(steps)):
                rows, written = self._run(rows, steps[number], context)
                self._keep(self._key(program, steps[: number + 1]), rows, written)
        return rows

    def _start(self, program: Program, steps: Sequence[Step]) -> tuple[int, Rows]:
        for number in range(len(steps), 0, -1):
            key = self._key(program, steps[:number])
            if key in self._kept:
                self._kept.move_to_end(key)
                return number, self._kept[key][0]
        key = self._key(program, ())
        if key not in self._sources:
            self._sources[key] = [
                [Row(document.id, source_fields(program, document))] for document in self._corpus.documents
            ]
        return 0, self._sources[key]

    def _run(self, rows: Rows, step: Step, context: Context) -> tuple[Rows, int]:
        """The rows after a step, and how many characters it wrote."""
        transform = compile_step(step, context)
        written_fields = step_effect(step).writes
        made: Rows = []
        total, most = 0, _FREE_ROWS + MAX_ROWS_A_DOCUMENT * len(rows)
        written, most_written = 0, self._most_characters
        for each, document in zip(rows, self._corpus.documents, strict=True):
            made.append(_transformed(each, document, transform))
            total += len(made[-1])
            written += _characters(made[-1], written_fields)
            if total > most:
                raise ProgramError(
                    f"a step makes more than {MAX_ROWS_A_DOCUMENT} rows a document",
                    place=f"{step.op}",
                    remedy="use larger windows",
                )
            if written > most_written:
                raise ProgramError(
                    f"a step writes more than {MAX_GROWTH} times the text that there is",
                    place=f"{step.op}",
                    remedy="use shorter replacements, smaller tables, or less overlap",
                )
        return made, written

    @property
    def _most_characters(self) -> int:
        return _FREE_CHARACTERS + MAX_GROWTH * self.source_characters

    @cached_property
    def source_characters(self) -> int:
        """Of all texts that documents hold, also in lists and objects."""
        return sum(len(text) for document in self._corpus.documents for text in _texts_in(document.source))

    def _keep(self, key: str, rows: Rows, written: int) -> None:
        """Keeps rows; what their last step did not write, they share with those before."""
        self._kept[key] = (rows, written)
        self._characters += written
        while self._characters > _KEPT_CHARACTERS and len(self._kept) > 1:
            _, (_, freed) = self._kept.popitem(last=False)
            self._characters -= freed


def _row_set(key: str, rows: Rows) -> RowSet:
    sizes = np.array([len(each) for each in rows], dtype=np.int64)
    return RowSet(key, np.repeat(np.arange(len(rows)), sizes))


def _transformed(rows: list[Row], document: Document, transform: Transform) -> list[Row]:
    try:
        return transform(rows)
    except Exception as error:  # as in a build: what a step cannot take ends the candidate, by name, not the study
        raise BuildError(
            f"document {document.id!r} cannot be transformed: {error}", remedy="leave out this step, or the document"
        ) from error


def _texts_in(value: Any) -> Iterator[str]:
    """All texts of a JSON value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)


def _characters(rows: Sequence[Row], names: Iterable[str]) -> int:
    """Of some fields; structures, which are never searched, do not count."""
    total = 0
    for row in rows:
        for name in names:
            value = row.fields.get(name)
            if isinstance(value, str):
                total += len(value)
            elif isinstance(value, list):
                total += sum(len(item) for item in value if isinstance(item, str))
    return total


def _plain(step: Step) -> list[Any]:
    return [step.model_dump(mode="json", by_alias=True, exclude_defaults=True), semantics_version(step)]


def _texts_of(value: Any) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(_values(value))


def _values(value: Any) -> Iterator[str]:
    """The texts that an engine indexes for a field: scalars as text, lists item by item."""
    if value is None:
        return
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _values(item)
    elif isinstance(value, bool):
        yield "true" if value else "false"
    elif isinstance(value, int | float):
        yield str(value)
    else:
        raise BuildError("a searched field holds an object", remedy="map a text or a list of texts")
