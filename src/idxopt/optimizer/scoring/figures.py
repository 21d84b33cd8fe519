"""nDCG@10, Recall@100 and Judged@10 of one ranking; equal to ir-measures (a test compares them), hundreds of times a
second. Final figures are computed by ir-measures itself.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Generic, TypeVar

D = TypeVar("D", bound=Hashable)
"""What names a document: its id, its number."""

_DISCOUNTS = [1 / math.log2(rank + 1) for rank in range(1, 11)]


class Judged(Generic[D]):
    """The judgments of one query."""

    def __init__(self, grades: Mapping[D, int]) -> None:
        self._grades = grades
        self._relevant = {doc_id for doc_id, grade in grades.items() if grade > 0}
        best = sorted((grade for grade in grades.values() if grade > 0), reverse=True)
        self._ideal = math.fsum(grade * discount for grade, discount in zip(best, _DISCOUNTS, strict=False))

    def figures(self, documents: Sequence[D]) -> tuple[float, float, float]:
        """(nDCG@10, Recall@100, Judged@10) of the documents, best first."""
        top = documents[:10]
        grades = self._grades
        gain = math.fsum(
            max(grades.get(doc_id, 0), 0) * discount for doc_id, discount in zip(top, _DISCOUNTS, strict=False)
        )
        ndcg = gain / self._ideal if self._ideal else 0.0
        recall = len(self._relevant.intersection(documents[:100])) / len(self._relevant) if self._relevant else 0.0
        judged = sum(doc_id in grades for doc_id in top) / len(top) if top else 0.0
        return ndcg, recall, judged
