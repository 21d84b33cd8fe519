"""BM25 of one field in all rows, for the terms that queries ask for: postings without scores, scores when asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy import sparse

from idxopt.engines.embedded import bm25
from idxopt.engines.embedded.bm25 import FieldStatistics
from idxopt.optimizer.scoring.chunks import Chunks, Counts, Ints
from idxopt.optimizer.scoring.cuts import Spans
from idxopt.optimizer.scoring.placed import Placed
from idxopt.text.analysis import analyzer

Matrix = sparse.csr_array
_MATCHED = 5e-324
"""Stands for a score of 0 of a row that has a term: sparse products lose zeros, and such a row is a hit. The smallest
double, which changes no sum and is 0 in single precision.
"""


@dataclass(frozen=True)
class Field:
    """Postings of the query terms in one field: `postings` has a line a term, a column a text, and holds frequencies.

    `lengths` in tokens, and `characters`, of each text. `times`: how many rows of the view have that text, one after
    the other (None: each is one row). `lists`: whether some text is a list of values.
    """

    postings: Matrix
    lengths: Ints
    characters: Ints
    times: Ints | None = None
    lists: bool = False

    @cached_property
    def statistics(self) -> FieldStatistics:
        rows = 1 if self.times is None else self.times
        return FieldStatistics(int(((self.lengths > 0) * rows).sum()), int((self.lengths * rows).sum()))

    @cached_property
    def frequencies(self) -> Ints:
        """In how many rows each term is."""
        if self.times is None:
            return np.diff(self.postings.indptr).astype(np.int64)
        before = np.concatenate(([0], np.cumsum(self.times[self.postings.indices])))
        return np.diff(before[self.postings.indptr])

    @cached_property
    def codes(self) -> npt.NDArray[np.uint8]:
        """The byte that Lucene keeps of each text's length."""
        lengths, places = np.unique(self.lengths, return_inverse=True)
        return np.array([bm25.length_code(length) for length in lengths.tolist()], dtype=np.uint8)[places]

    @cached_property
    def held(self) -> int:
        """Characters of all rows."""
        return int((self.characters * (1 if self.times is None else self.times)).sum())

    @property
    def entries(self) -> int:
        """Postings and texts: what it takes in memory is in proportion."""
        return int(self.postings.nnz) + 3 * len(self.lengths)

    def repeated(self, times: Ints) -> Field:
        """Row i `times[i]` times (at least once), one after the other."""
        if self.times is not None:
            times = np.add.reduceat(times, np.cumsum(self.times) - self.times) if len(times) else times
        return replace(self, times=times)

    def __add__(self, other: Field) -> Field:
        """Each text followed by the other's, a line feed between two that are not empty."""
        both = (self.characters > 0) & (other.characters > 0)
        return Field(
            self.postings + other.postings, self.lengths + other.lengths, self.characters + other.characters + both
        )


class QueryTerms:
    """The terms of all queries under one analyzer: what is counted in texts, and each query as (term, times) pairs.

    A query's terms stand in the order of their first use, as an engine adds them up.
    """

    def __init__(self, name: str, texts: Sequence[str]) -> None:
        self._analyze = analyze = analyzer(name)
        counts = [Counter(analyze(text)) for text in texts]
        self.columns = {term: number for number, term in enumerate(dict.fromkeys(t for c in counts for t in c))}
        self._counts: Sequence[Mapping[str, int]] = counts
        self.terms, self.times, self.lines = _asked(counts, self.columns)
        self.chunks = Chunks(name, self.columns)

    def cut(self, texts: Mapping[int, str]) -> QueryTerms:
        """The same with other texts of some queries (by place), made of the words that they had.

        A term that no query has whole finds nothing: under `keyword` that is a document that equals the cut text.
        """
        counts = list(self._counts)
        for place, text in texts.items():
            counts[place] = {
                term: times for term, times in Counter(self._analyze(text)).items() if term in self.columns
            }
        other = copy(self)
        other.terms, other.times, other.lines = _asked(counts, self.columns)
        return other

    def frequencies(self, field: Field, text: str) -> dict[str, int]:
        """In how many rows of the field each term of the text is."""
        return {
            term: int(field.frequencies[self.columns[term]]) for term in self._analyze(text) if term in self.columns
        }

    def field(self, values: Sequence[tuple[str, ...]], characters: Ints, *, keep: bool) -> Field:
        """Counts the query terms in the values of a column, of so many characters. `keep`: see `Chunks.count`."""
        field = self._field(*self.chunks.count(values, keep=keep), characters)
        return replace(field, lists=any(len(each) > 1 for each in values))

    def placed(self, texts: Sequence[str]) -> Placed:
        """For `cut_field`."""
        return Placed.of(texts, self.chunks)

    def cut_field(self, texts: Placed, spans: Spans) -> Field:
        """Counts the query terms in stretches of texts."""
        return self._field(*texts.count(spans, self.chunks), spans.characters)

    def _field(self, lengths: Ints, found: Counts, characters: Ints) -> Field:
        postings = sparse.coo_array(
            (found.counts.astype(np.float32), (found.columns, found.rows)), shape=(len(self.columns), len(lengths))
        ).tocsr()
        return Field(postings, lengths, characters)

    def active(self, field: Field) -> npt.NDArray[np.bool_]:
        """Which queries have a term in the field at all: for all others it adds nothing to any row."""
        having = (np.diff(field.postings.indptr) > 0)[self.terms]
        found: npt.NDArray[np.bool_] = (self.lines @ having.astype(np.float64)) > 0
        return found

    def scores(self, field: Field, weight: float, k1: float, b: float, queries: Ints) -> Matrix:
        """BM25 of some queries (lines) in all texts (columns): terms summed in double precision, rounded to single.

        Texts without a term have no entry.
        """
        postings = field.postings
        if not field.statistics.documents:
            return Matrix((len(queries), postings.shape[1]), dtype=np.float64)
        lines = self.lines[queries]
        used, places = np.unique(lines.indices, return_inverse=True)  # pairs of other queries cost nothing
        terms, times = self.terms[used], self.times[used]
        taken = postings[terms]
        weights = np.array(
            [
                bm25.term_weight(field.statistics, documents, weight * often) if documents else 0
                for documents, often in zip(field.frequencies[terms].tolist(), times.tolist(), strict=True)
            ],
            dtype=np.float32,
        )
        inverse = bm25.inverse_norms(field.statistics, k1, b)
        by_entry = np.repeat(weights, np.diff(taken.indptr))
        data = by_entry - by_entry / (np.float32(1) + taken.data * inverse[field.codes[taken.indices]])
        impacts = Matrix((np.maximum(data, _MATCHED, dtype=np.float64), taken.indices, taken.indptr), shape=taken.shape)
        asked = Matrix((lines.data, places, lines.indptr), shape=(len(queries), len(used)))
        total: Matrix = asked @ impacts
        total.data = np.maximum(total.data.astype(np.float32), _MATCHED, dtype=np.float64)
        return total


def _asked(counts: Sequence[Mapping[str, int]], columns: Mapping[str, int]) -> tuple[Ints, Ints, Matrix]:
    """The distinct (term, times) pairs of all queries, as two arrays, and which of them each query (a line) has."""
    pairs: dict[tuple[int, int], int] = {}
    indices: list[int] = []
    starts = [0]
    for count in counts:
        for term, times in count.items():
            pair = (columns[term], times)
            indices.append(pairs.setdefault(pair, len(pairs)))
        starts.append(len(indices))
    lines = Matrix(
        (np.ones(len(indices)), np.array(indices, dtype=np.int64), np.array(starts, dtype=np.int64)),
        shape=(len(counts), len(pairs)),
    )
    terms, times_of = zip(*pairs, strict=True) if pairs else ((), ())
    return np.array(terms, dtype=np.int64), np.array(times_of, dtype=np.int64), lines
