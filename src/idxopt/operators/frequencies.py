"""Document frequencies of the terms of a token stream, and counting with a bounded memory."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

IDF_DIGITS = 12
"""Decimals of an IDF value: fewer than `log` has, so that machines agree on it."""

MAX_ENTRIES = 2_000_000
"""Keys that one count holds at once."""


@dataclass(frozen=True, slots=True)
class DocumentFrequencies:
    """In how many of `documents` each term of one token stream of one field stands. `cut`: not every term is here."""

    documents: int
    counts: Mapping[str, int]
    cut: bool = False

    def limited(self, terms: int | None) -> DocumentFrequencies:
        """The table with at most `terms` terms (`max_idf_terms`)."""
        if terms is None or len(self.counts) <= terms:
            return self
        return DocumentFrequencies(self.documents, most_frequent(self.counts, terms), cut=True)

    def absent(self) -> int:
        """The document frequency of a term that is not here."""
        return min(self.counts.values(), default=0) if self.cut else 0

    def idf(self) -> tuple[dict[str, float], float]:
        """`ln((N + 1) / (df + 1)) + 1` by term, and of a term that is not here."""
        by_count = self.idf_by_count()
        return {term: by_count[count] for term, count in self.counts.items()}, by_count[self.absent()]

    def idf_by_count(self) -> dict[int, float]:
        """The IDF of every document frequency that occurs here, and of `absent`, rounded to `IDF_DIGITS` decimals."""
        total = self.documents + 1
        counts = sorted({*self.counts.values(), self.absent()})
        return {count: round(math.log(total / (count + 1)) + 1, IDF_DIGITS) for count in counts}


EMPTY = DocumentFrequencies(0, {})
"""What stands for a table that was never made."""


def most_frequent(counts: Mapping[str, int], number: int) -> dict[str, int]:
    """The `number` highest counts, ties by code point of the key, in the order of the keys."""
    kept = heapq.nsmallest(number, counts.items(), key=lambda item: (-item[1], item[0]))
    return dict(sorted(kept))


@dataclass(slots=True)
class BoundedCounts:
    """Counts by key. Beyond `limit` keys those with the lowest count are dropped until half of the limit is left free.

    A key that was dropped is counted anew when it comes again: a count is too low by `floor` at most.
    """

    limit: int = MAX_ENTRIES
    counts: Counter[str] = field(default_factory=Counter)
    floor: int = 0

    def add(self, counts: Mapping[str, int]) -> None:
        self.counts.update(counts)
        while len(self.counts) > self.limit:
            self._prune()

    def _prune(self) -> None:
        levels = Counter(self.counts.values())
        left, threshold = len(self.counts), 0
        for count in sorted(levels):
            if left <= self.limit // 2:
                break
            left -= levels[count]
            threshold = count
        self.counts = Counter({key: count for key, count in self.counts.items() if count > threshold})
        self.floor += threshold
