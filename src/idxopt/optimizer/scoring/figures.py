"""nDCG@10, Recall@100 and Judged@10 of many rankings at once; equal to ir-measures (a test compares them). Final
figures are computed by ir-measures itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from idxopt.optimizer.scoring.chunks import Ints

_TOP, _DEEP = 10, 100
_DISCOUNTS = [1 / math.log2(rank + 1) for rank in range(1, _TOP + 1)]


class Judgments:
    """The judgments of a list of queries; `numbers`: of the documents that there are, by id. Others count as judged."""

    def __init__(self, grades: Sequence[Mapping[str, int]], numbers: Mapping[str, int]) -> None:
        self._width = max(1, len(numbers))
        self._relevant = [sum(grade > 0 for grade in each.values()) for each in grades]
        self._ideal = [_ideal(each) for each in grades]
        pairs = sorted(
            (place * self._width + numbers[doc_id], grade)
            for place, each in enumerate(grades)
            for doc_id, grade in each.items()
            if doc_id in numbers
        )
        self._pairs = np.array([pair for pair, _ in pairs], dtype=np.int64)
        self._grades = [grade for _, grade in pairs]

    def figures(self, ranked: Sequence[Ints]) -> npt.NDArray[np.float64]:
        """A line a query: nDCG@10, Recall@100, Judged@10 of its documents (numbers, best first)."""
        gains: list[list[float]] = [[] for _ in ranked]
        found, judged = [0] * len(ranked), [0] * len(ranked)
        for query, rank, grade in self._found(ranked):
            if rank < _TOP:
                judged[query] += 1
                gains[query].append(max(grade, 0) * _DISCOUNTS[rank])
            found[query] += grade > 0
        return np.array(
            [
                (
                    math.fsum(gains[query]) / ideal if ideal else 0.0,
                    found[query] / relevant if relevant else 0.0,
                    judged[query] / min(len(documents), _TOP) if len(documents) else 0.0,
                )
                for query, (documents, ideal, relevant) in enumerate(
                    zip(ranked, self._ideal, self._relevant, strict=True)
                )
            ],
            dtype=np.float64,
        ).reshape(-1, 3)

    def _found(self, ranked: Sequence[Ints]) -> Iterator[tuple[int, int, int]]:
        """Query, rank (from 0) and grade of every judged document among the best."""
        best = [documents[:_DEEP] for documents in ranked]
        if not len(self._pairs) or not best:
            return
        sizes = np.array([len(documents) for documents in best], dtype=np.int64)
        queries = np.repeat(np.arange(len(best)), sizes)
        asked = queries * self._width + np.concatenate(best)
        places = np.minimum(np.searchsorted(self._pairs, asked), len(self._pairs) - 1)
        hits = np.flatnonzero(self._pairs[places] == asked)
        ranks = hits - (np.cumsum(sizes) - sizes)[queries[hits]]
        for query, rank, place in zip(queries[hits].tolist(), ranks.tolist(), places[hits].tolist(), strict=True):
            yield query, rank, self._grades[place]


def _ideal(grades: Mapping[str, int]) -> float:
    best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
    return math.fsum(grade * discount for grade, discount in zip(best, _DISCOUNTS, strict=False))
