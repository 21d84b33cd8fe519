"""Analysed fields: the distinct terms of each text with their frequencies. No scores: k1, b and weights stay free."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from idxopt.engines.embedded.pack import Array, offsets
from idxopt.text.analysis import analyzer


@dataclass(frozen=True, slots=True)
class Frequencies:
    """Several analysed texts. `terms` numbers index `vocabulary`; `sizes`: distinct terms of each text."""

    vocabulary: list[str]
    terms: Array
    counts: Array
    sizes: Array


class _Numbers(dict[str, int]):
    """Terms numbered in the order of their first use."""

    def __missing__(self, term: str) -> int:
        number = self[term] = len(self)
        return number


def analyse(name: str, texts: Sequence[Sequence[str]]) -> Frequencies:
    """Analyses texts; the values of one text are counted together, as a server does for an array."""
    analyze = analyzer(name)
    numbers = _Numbers()
    terms, counts, sizes = array("I"), array("I"), array("I")
    for values in texts:
        counter: Counter[str] = Counter()
        for value in values:
            counter.update(analyze(value))
        terms.extend(map(numbers.__getitem__, counter))
        counts.extend(counter.values())
        sizes.append(len(counter))
    return Frequencies(list(numbers), *(np.array(part, dtype=np.uint32) for part in (terms, counts, sizes)))


def join(parts: Sequence[Frequencies]) -> Frequencies:
    """The texts of all parts, one after the other, with one vocabulary."""
    if len(parts) == 1:
        return parts[0]
    numbers = _Numbers()
    terms = []
    for part in parts:
        renumbered = np.array(list(map(numbers.__getitem__, part.vocabulary)), dtype=np.uint32)
        terms.append(renumbered[part.terms])
    return Frequencies(
        list(numbers),
        np.concatenate(terms),
        np.concatenate([part.counts for part in parts]),
        np.concatenate([part.sizes for part in parts]),
    )


@dataclass(frozen=True, slots=True)
class Postings:
    """Sorted terms (by UTF-8) and, for each, the documents that have it, ascending, with the frequency in each."""

    terms: list[bytes]
    starts: Array
    documents: Array
    frequencies: Array


def invert(frequencies: Frequencies, documents: Array) -> Postings:
    """Term -> documents. `documents` are the ascending numbers of the texts' documents."""
    encoded = [term.encode("utf-8", "replace") for term in frequencies.vocabulary]
    order = sorted(range(len(encoded)), key=encoded.__getitem__)
    rank = np.empty(len(order), dtype=np.uint32)
    rank[order] = np.arange(len(order), dtype=np.uint32)
    terms = rank[frequencies.terms]
    by_term = np.argsort(terms, kind="stable")
    return Postings(
        [encoded[number] for number in order],
        offsets(np.bincount(terms, minlength=len(order))),
        np.repeat(documents.astype(np.uint32), frequencies.sizes)[by_term],
        frequencies.counts[by_term],
    )


def token_counts(frequencies: Frequencies) -> Array:
    """Tokens of each text."""
    ends = offsets(frequencies.sizes)
    running = np.zeros(len(frequencies.counts) + 1, dtype=np.int64)
    np.cumsum(frequencies.counts, out=running[1:])
    return running[ends[1:]] - running[ends[:-1]]
