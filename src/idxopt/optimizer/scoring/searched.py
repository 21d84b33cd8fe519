"""The searched fields of views, each made once for each way to make it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from idxopt.errors import BuildError
from idxopt.operators.remembering import Kept
from idxopt.optimizer.scoring.chunks import Ints
from idxopt.optimizer.scoring.cuts import Spans
from idxopt.optimizer.scoring.fields import Field, QueryTerms
from idxopt.optimizer.scoring.growth import check_held
from idxopt.optimizer.scoring.placed import Placed
from idxopt.optimizer.scoring.texts import Derivation, RowSet, Texts
from idxopt.program.schema import Program

_KEPT_POSTINGS = 60_000_000
"""Postings and rows of kept fields (8 bytes each); those used longest ago go first, the last one stays."""
_KEPT_ROWS = 10_000_000
"""Rows of kept row sets (at most 24 bytes each); those used longest ago go first."""
_KEPT_PLACED = 400_000_000
"""Bytes of texts' chunks with their places; those used longest ago go first, the last one stays."""
_BYTES_A_CHARACTER = 8
"""Of placed chunks, about."""
_LONG = 200
"""Characters in the mean from which source texts are likely to be cut into rows."""


class SearchedFields:
    """Fields of one corpus, counted for one list of queries."""

    def __init__(self, texts: Texts, queries: Sequence[str]) -> None:
        self._texts = texts
        self._queries = queries
        self._terms: dict[str, QueryTerms] = {}
        self._fields: Kept[tuple[str, str], Field] = Kept(_KEPT_POSTINGS, lambda field: field.entries)
        self._placed: Kept[tuple[str, str], Placed] = Kept(_KEPT_PLACED, lambda placed: placed.size)
        self._row_sets: Kept[str, RowSet] = Kept(_KEPT_ROWS, lambda rows: rows.count)

    def terms(self, analyzer: str) -> QueryTerms:
        """The terms of all queries."""
        if analyzer not in self._terms:
            self._terms[analyzer] = QueryTerms(analyzer, self._queries)
        return self._terms[analyzer]

    def row_set(self, program: Program, view: str) -> RowSet:
        """Raises as `Texts.row_set`."""
        key = self._texts.derivation(program, view, None).key
        if key in self._row_sets:
            return self._row_sets[key]
        return self._row_sets.put(key, self._texts.row_set(program, view))

    def field(self, program: Program, view: str, name: str, analyzer: str) -> tuple[str, Field]:
        """The field, and a key: equal keys, equal fields under one analyzer. Raises as `Texts.row_set`."""
        of = self._texts.derivation(program, view, name)
        several = self.row_set(program, view).several
        return of.key, self._field(of, analyzer, f"{view}.{name}", keep=not several)

    def _field(self, of: Derivation, analyzer: str, place: str, *, keep: bool) -> Field:
        key = (of.key, analyzer)
        if key in self._fields:
            return self._fields[key]
        return self._fields.put(key, self._made(of, analyzer, place, keep=keep))

    def _made(self, of: Derivation, analyzer: str, place: str, *, keep: bool) -> Field:
        if analyzer == "keyword":  # its token is a whole value
            return self._counted(of, analyzer, place, keep=keep)
        cut = self._texts.cut(of)
        if cut is None:
            return self._joined(of, analyzer, place) or self._counted(of, analyzer, place, keep=keep)
        assert of.name is not None
        before = self._texts.before(of, of.name)
        if of.name == cut.name:
            self._check(int(cut.spans.characters.sum()), place)
            return self.terms(analyzer).cut_field(self._placed_texts(before, analyzer), cut.spans)
        whole = self._field(before, analyzer, place, keep=True).repeated(cut.times)
        self._check(whole.held, place)
        return whole

    def _counted(self, of: Derivation, analyzer: str, place: str, *, keep: bool) -> Field:
        values = self._texts.values(of)
        characters = np.array([sum(map(len, each)) for each in values], dtype=np.int64)
        self._check(int(characters.sum()), place)
        if not of.steps and analyzer != "keyword" and _worth_placing(characters):
            self._placed_texts(of, analyzer)  # rows will be cut out of them, and what they hold is kept
        return self._begun(of, values, analyzer) or self.terms(analyzer).field(values, characters, keep=keep)

    def _begun(self, of: Derivation, values: Sequence[tuple[str, ...]], analyzer: str) -> Field | None:
        """A field that holds the beginnings of texts that are placed."""
        if of.beginning is None:
            return None
        key = (self._texts.before(of, of.beginning).key, analyzer)
        if key not in self._placed:
            return None
        placed = self._placed[key]
        begun = [each[0] if each else "" for each in values]
        if not all(map(str.startswith, placed.texts, begun)):
            return None
        numbers = np.arange(len(begun))
        spans = Spans(numbers, np.zeros_like(numbers), np.array([len(text) for text in begun], dtype=np.int64))
        return self.terms(analyzer).cut_field(placed, spans)

    def _joined(self, of: Derivation, analyzer: str, place: str) -> Field | None:
        """A field that the last step joins from others: their sum, as no token reaches over a line feed."""
        if of.joined is None:
            return None
        try:
            parts = [self._field(self._texts.before(of, name), analyzer, place, keep=True) for name in of.joined]
        except BuildError:  # an object cannot be searched, but joined it is nothing
            return None
        if any(part.times is not None or part.lists for part in parts):
            return None
        whole = sum(parts[1:], parts[0])
        self._texts.growth(of.steps[-1]).add(len(whole.lengths), whole.held)
        self._check(whole.held, place)
        return whole

    def _check(self, characters: int, place: str) -> None:
        check_held(characters, self._texts.source_characters, place)

    def _placed_texts(self, of: Derivation, analyzer: str) -> Placed:
        key = (of.key, analyzer)
        if key in self._placed:
            return self._placed[key]
        return self._placed.put(key, self.terms(analyzer).placed(self._texts.texts(of)))


def _worth_placing(characters: Ints) -> bool:
    """Whether texts are long enough to be cut into rows, and fit in memory with a place for each chunk."""
    total = int(characters.sum())
    return total >= _LONG * len(characters) and total * _BYTES_A_CHARACTER <= _KEPT_PLACED
