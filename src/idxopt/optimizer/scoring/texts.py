"""The rows of views, made once for each way to make them.

What a field holds in the end depends only on the steps that wrote it, on those that wrote what these read, and on the
steps that made or joined rows (`relevant_steps`). Rows are kept by that list of steps: a candidate whose last step is
new runs that step alone, one that changes another field runs nothing for this one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from idxopt.errors import BuildError
from idxopt.hashing import digest
from idxopt.operators.interpreter import source_fields
from idxopt.operators.registry import semantics_version
from idxopt.operators.remembering import Kept, Memory, remembering
from idxopt.operators.row import Row, text_of
from idxopt.operators.slice import Slicing
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.operators.steps import compile_step
from idxopt.operators.transform import Adding, Context
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.scoring.chunks import Ints
from idxopt.optimizer.scoring.cuts import Cut, cut
from idxopt.optimizer.scoring.growth import Growth, refused
from idxopt.program.canonical import canonical
from idxopt.program.effects import reorganized_fields, step_effect
from idxopt.program.schema import Program
from idxopt.program.steps import Lead, Reorganize, Reweight, Slice, Step

_KEPT_CHARACTERS = 400_000_000
"""Characters that steps wrote into kept rows; those used longest ago go first."""
_KEPT_CUT_ROWS = 10_000_000
"""Rows of kept cuts (32 bytes each); those used longest ago go first."""

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
    def firsts(self) -> Ints:
        """The first row of each document that has any."""
        return np.flatnonzero(np.diff(self.documents, prepend=-1))

    @cached_property
    def places(self) -> Ints:
        """The place of each row's document among those that have rows."""
        return np.cumsum(np.diff(self.documents, prepend=-1) > 0) - 1

    @property
    def several(self) -> bool:
        """Whether some document has several rows."""
        return len(self.firsts) < self.count


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


@dataclass(frozen=True, slots=True)
class Derivation:
    """How the values of a field come about: the steps that decide them, over a program's source. Equal keys, equal
    values. `name` None: which rows there are. `rows`: the key of what the steps make.
    """

    program: Program
    steps: tuple[Step, ...]
    name: str | None
    rows: str

    @property
    def key(self) -> str:
        return self.rows if self.name is None else f"{self.rows}/{self.name}"

    @property
    def last(self) -> Step | None:
        """The last step."""
        return self.steps[-1] if self.steps else None

    @property
    def joined(self) -> Sequence[str] | None:
        """The fields that the last step joins into one that was not there before; None where it does something else."""
        step = self.last
        if not isinstance(step, Reorganize) or step.to != "join" or self.name in self.program.source.fields:
            return None
        written = any(self.name in step_effect(one).writes for one in self.steps[:-1])
        return None if written else reorganized_fields(step)

    @property
    def beginning(self) -> str | None:
        """The field of which the last step writes the beginning; None where it does something else."""
        return self.last.field if isinstance(self.last, Lead) else None


class Texts:
    """Columns of a corpus for any program over one source."""

    def __init__(self, corpus: Corpus, models: StepModels = NO_MODELS) -> None:
        self._corpus = corpus
        self._models = models
        self._sources: dict[str, Rows] = {}
        self._kept: Kept[str, tuple[Rows, int]] = Kept(_KEPT_CHARACTERS, lambda kept: kept[1])
        self._cuts: Kept[str, Cut | None] = Kept(_KEPT_CUT_ROWS, lambda made: 1 if made is None else made.spans.count)
        self._memory = Memory()

    def derivation(self, program: Program, view: str, name: str | None) -> Derivation:
        """Of a field of a view, or of its rows."""
        return self._derivation(program, relevant_steps(program.views[view].steps, name), name)

    def _derivation(self, program: Program, steps: tuple[Step, ...], name: str | None) -> Derivation:
        return Derivation(program, steps, name, self._key(program, steps))

    def before(self, derivation: Derivation, name: str) -> Derivation:
        """Of field `name` before the last step."""
        return self._derivation(derivation.program, relevant_steps(derivation.steps[:-1], name), name)

    def row_set(self, program: Program, view: str) -> RowSet:
        """Which rows a view has. Raises BuildError for a document that a step cannot take, ProgramError for a flood."""
        of = self.derivation(program, view, None)
        found = self.cut(of)
        if found is not None:
            return RowSet(of.key, found.documents)
        sizes = np.array([len(each) for each in self._rows(of.program, of.steps)], dtype=np.int64)
        return RowSet(of.key, np.repeat(np.arange(len(sizes)), sizes))

    def values(self, of: Derivation) -> list[tuple[str, ...]]:
        """The values of a field as an engine indexes them, row by row. Raises as `row_set`."""
        assert of.name is not None
        name = of.name
        if of.last is not None and of.rows not in self._kept:
            transform = compile_step(of.last, self._context(of.program))
            if isinstance(transform, Adding) and transform.into == name:
                return self._added(of, of.last, transform)
        return self._column(self._rows(of.program, of.steps), lambda row: row.fields.get(name))

    def _added(self, of: Derivation, step: Step, transform: Adding) -> list[tuple[str, ...]]:
        """The values of a field that the last step derives from others: no rows are made for it."""
        rows = self._rows(of.program, of.steps[:-1])
        with remembering(self._memory):
            return self._column(rows, transform.value, self.growth(step))

    def _column(self, rows: Rows, value: Callable[[Row], Any], growth: Growth | None = None) -> list[tuple[str, ...]]:
        found: list[tuple[str, ...]] = []
        for each, document in zip(rows, self._corpus.documents, strict=True):
            try:
                texts = [_texts_of(value(row)) for row in each]
            except Exception as error:
                raise refused(document, error) from error
            if growth is not None:
                growth.add(len(each), sum([len(text) for of_row in texts for text in of_row]))
            found += texts
        return found

    def texts(self, of: Derivation) -> list[str]:
        """The text of a field in each row as steps see it: a list is one text."""
        assert of.name is not None
        rows = self._rows(of.program, of.steps)
        return [text_of(row.fields.get(of.name)) for each in rows for row in each]

    def cut(self, of: Derivation) -> Cut | None:
        """How the last step cuts rows; None where it is none that does, or its rows have to be made. Raises as
        `row_set`.
        """
        step = of.last
        if not isinstance(step, Slice) or step.unit == "headings":
            return None
        return self._cuts[of.rows] if of.rows in self._cuts else self._cuts.put(of.rows, self._cut(of, step))

    def _cut(self, of: Derivation, step: Slice) -> Cut | None:
        rows = self._rows(of.program, of.steps[:-1])
        slicing = Slicing.of(step, self._context(of.program))
        with remembering(self._memory):
            return cut(rows, self._corpus.documents, slicing, self.growth(step))

    def _key(self, program: Program, steps: Sequence[Step]) -> str:
        plain = canonical(program)
        source = {"fields": plain["source"]["fields"], "markup": program.source.markup, "models": plain.get("models")}
        return digest([source, [_plain(step) for step in steps if not isinstance(step, Reweight)]])

    def _context(self, program: Program) -> Context:
        with remembering(self._memory):  # tables find out what steps will ask for
            tables = self._corpus.tables(program)
        return Context(program.source.markup, tables, self._models, program.models)

    def growth(self, step: Step) -> Growth:
        """What the step may make of the corpus."""
        return Growth(step.op, len(self._corpus.documents), self.source_characters)

    def _rows(self, program: Program, steps: Sequence[Step]) -> Rows:
        """Runs the steps behind the longest list of first steps whose rows are kept."""
        done, rows = self._start(program, steps)
        if done == len(steps):
            return rows
        with remembering(self._memory):
            context = self._context(program)
            for number in range(done, len(steps)):
                rows, written = self._run(rows, steps[number], context)
                self._kept.put(self._key(program, steps[: number + 1]), (rows, written))
        return rows

    def _start(self, program: Program, steps: Sequence[Step]) -> tuple[int, Rows]:
        for number in range(len(steps), 0, -1):
            key = self._key(program, steps[:number])
            if key in self._kept:
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
        growth = self.growth(step)
        for each, document in zip(rows, self._corpus.documents, strict=True):
            try:
                made.append(transform(each))
                written = sum(_length(row.fields.get(name)) for row in made[-1] for name in written_fields)
            except Exception as error:
                raise refused(document, error) from error
            growth.add(len(made[-1]), written)
        return made, growth.written

    @cached_property
    def source_characters(self) -> int:
        """Of all values that documents hold, also in lists and objects."""
        return sum(_length(value) for document in self._corpus.documents for value in _texts_in(document.source))


def _texts_in(value: Any) -> Iterator[Any]:
    """All texts, numbers and truth values of a JSON value."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting.extend(one.values())
        elif isinstance(one, list | tuple):
            waiting.extend(one)
        else:
            yield one


def _length(value: Any) -> int:
    """Characters of a field's texts; structures, which are never searched, have none."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list | tuple):
        return sum(map(_length, value))
    return len(text_of(value))


def _plain(step: Step) -> list[Any]:
    return [step.model_dump(mode="json", by_alias=True, exclude_defaults=True), semantics_version(step)]


def _texts_of(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value,)
    return tuple(value) if isinstance(value, list) and set(map(type, value)) == {str} else tuple(_values(value))


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
