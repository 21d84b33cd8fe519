"""How easily plain full-text search finds a document: BM25 (`english`) over all texts of a document as one field."""

from __future__ import annotations

from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from idxopt.engines.embedded.bm25 import K1, B, FieldStatistics, inverse_norms, length_code, scores, term_weight
from idxopt.text.analysis import analyzer

_english = analyzer("english")


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a query finds its document. `rank` from 1, None where no term of the query is in it; equal scores of
    others rank before it. `lead`: its score / the best score of another document (infinite where no other has a term).
    `terms`: the terms of the changed document.
    """

    rank: int | None
    lead: float
    terms: frozenset[str]


class LexicalIndex:
    """Postings of a collection in memory. One document can be asked about as if its text were another."""

    def __init__(self, texts: Iterable[tuple[str, str]]) -> None:
        postings: dict[str, tuple[array[int], array[int]]] = defaultdict(lambda: (array("I"), array("I")))
        self._numbers: dict[str, int] = {}
        lengths: list[int] = []
        for number, (id_, text) in enumerate(texts):
            self._numbers[id_] = number
            terms = _english(text)
            lengths.append(len(terms))
            for term, count in Counter(terms).items():
                numbers, counts = postings[term]
                numbers.append(number)
                counts.append(count)
        self._postings = dict(postings)
        self._lengths = lengths
        self._codes = np.array([length_code(length) for length in lengths], dtype=np.uint8)
        self._tokens = sum(lengths)

    def standing(self, query: str, id_: str, text: str) -> Standing:
        """Where `query` finds the document `id_`, were `text` all that it holds. Scores are Lucene's."""
        own = self._numbers[id_]
        terms = _english(text)
        counts = Counter(terms)
        codes = self._codes.copy()
        codes[own] = length_code(len(terms))
        others = sum(length > 0 for length in self._lengths) - (self._lengths[own] > 0)
        statistics = FieldStatistics(others + (len(terms) > 0), self._tokens - self._lengths[own] + len(terms))
        if not statistics.tokens:
            return Standing(None, 0.0, frozenset())
        inverse = inverse_norms(statistics, K1, B)
        totals = np.zeros(len(codes), dtype=np.float32)
        for term, times in Counter(_english(query)).items():
            found = self._postings.get(term)
            numbers = np.array(found[0] if found else (), dtype=np.int64)
            frequencies = np.array(found[1] if found else (), dtype=np.float32)
            elsewhere = numbers != own
            numbers, frequencies = numbers[elsewhere], frequencies[elsewhere]
            if counts[term]:
                numbers = np.append(numbers, own)
                frequencies = np.append(frequencies, np.float32(counts[term]))
            if len(numbers):
                weight = term_weight(statistics, len(numbers), float(times))
                totals[numbers] += scores(weight, frequencies, inverse[codes[numbers]])
        return _standing(totals, own, frozenset(counts))


def _standing(totals: np.ndarray[tuple[int], np.dtype[np.float32]], own: int, terms: frozenset[str]) -> Standing:
    score = float(totals[own])
    totals[own] = 0
    best = float(totals.max())
    if score <= 0:
        return Standing(None, 0.0, terms)
    return Standing(int((totals >= score).sum()) + 1, score / best if best > 0 else float("inf"), terms)
