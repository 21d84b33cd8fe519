"""An index at one point in time: its searchable segments seen as one, with the statistics that BM25 needs."""

from __future__ import annotations

import threading
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from idxopt.engines.embedded.bm25 import FieldStatistics
from idxopt.engines.embedded.pack import Array, offsets
from idxopt.engines.embedded.segment import NONE, Inverted, Segment


class IndexReader:
    """Documents are numbered through all segments; segment s starts at `bases[s]`."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        self.segments = tuple(segments)
        self.bases: Array = offsets([segment.count for segment in segments])
        self._base_list: list[int] = self.bases[:-1].tolist()
        self.count = int(self.bases[-1])
        self._ordinals: dict[str, Array] = {}
        self._lock = threading.Lock()

    def inverted(self, path: str) -> list[Inverted | None]:
        """The field in each segment."""
        return [segment.inverted(path) for segment in self.segments]

    def statistics(self, path: str) -> FieldStatistics:
        """Of one text field over all segments."""
        parts = [field.statistics for field in self.inverted(path) if field is not None]
        return FieldStatistics(sum(part.documents for part in parts), sum(part.tokens for part in parts))

    def document_frequency(self, path: str, term: bytes) -> int:
        """Documents that have the term in the field."""
        total = 0
        for field in self.inverted(path):
            if field is not None and (number := field.find(term)) is not None:
                total += field.document_frequency(number)
        return total

    def ordinals(self, path: str) -> Array:
        """Rank of each document's (smallest) keyword in UTF-8 order over the whole index; `NONE` where it has none."""
        with self._lock:
            if path not in self._ordinals:
                self._ordinals[path] = self._make_ordinals(path)
            return self._ordinals[path]

    def _make_ordinals(self, path: str) -> Array:
        fields = self.inverted(path)
        if len(fields) == 1 and fields[0] is not None:
            return fields[0].first_terms
        ranks = {
            term: rank
            for rank, term in enumerate(
                sorted({field.terms[number] for field in fields if field for number in range(len(field.terms))})
            )
        }
        result = np.full(self.count, NONE, dtype=np.uint32)
        for field, base in zip(fields, self.bases[:-1].tolist(), strict=True):
            if field is None:
                continue
            own = np.array([ranks[field.terms[number]] for number in range(len(field.terms))], dtype=np.uint32)
            first = field.first_terms
            having = first != NONE
            result[base : base + field.count][having] = own[first[having]]
        return result

    def place(self, document: int) -> tuple[Segment, int]:
        """The segment of a document and its number there."""
        number = bisect_right(self._base_list, document) - 1
        return self.segments[number], document - self._base_list[number]
