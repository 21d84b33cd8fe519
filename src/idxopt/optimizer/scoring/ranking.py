"""Ranked lists of one leg: the best rows of each query, a document by its best one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from idxopt.optimizer.scoring.chunks import Ints, within
from idxopt.optimizer.scoring.fields import Matrix
from idxopt.optimizer.scoring.texts import RowSet

_DOCUMENT = np.uint64(0xFFFFFFFF)
_SCORE = np.uint64(32)


@dataclass(frozen=True, slots=True)
class RankedList:
    """One leg's documents (numbers in the corpus), best first, with their scores."""

    documents: Ints
    scores: npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores of queries (lines) in the texts of a field (columns); `times`: as `Field.times`."""

    scores: Matrix
    times: Ints | None = None


def ranked(parts: Sequence[Scored], rows: RowSet, window: int) -> Iterator[RankedList]:
    """The `window` best documents of each query; equal scores in the order of documents.

    The scores of the parts are summed by row, in this order, and then rounded to single precision. What has no entry in
    any is no hit. A document counts by its best row.
    """
    documents = rows.documents[rows.firsts]
    total: npt.NDArray[np.float64]
    if rows.several and _differ_in_one(parts, len(documents)):
        # sums rise with each of their parts: the best row is that with the best score in the only part that differs
        total = np.zeros((parts[0].scores.shape[0], len(documents)))
        for part in parts:
            total = total + (part.scores if part.times is not None else _best_rows(part.scores, rows))
        return _best(total, documents, window)
    total = _by_row(parts[0])
    for part in parts[1:]:
        total = total + (part.scores if part.times is None else _by_row(part))
    if rows.several:
        total = np.maximum.reduceat(total, rows.firsts, axis=1)
    return _best(total, documents, window)


def _differ_in_one(parts: Sequence[Scored], documents: int) -> bool:
    """Whether all parts but at most one are the same in all rows of a document."""
    return all(part.times is None or len(part.times) == documents for part in parts) and (
        sum(part.times is None for part in parts) <= 1
    )


def _by_row(part: Scored) -> npt.NDArray[np.float64]:
    found: npt.NDArray[np.float64] = part.scores.toarray()
    return found if part.times is None else np.repeat(found, part.times, axis=1)


def _best_rows(scores: Matrix, rows: RowSet) -> npt.NDArray[np.float64]:
    """The score of the best row of each document, for each query."""
    best = np.zeros((scores.shape[0], len(rows.firsts)))
    for line, (start, end) in zip(best, pairwise(scores.indptr.tolist()), strict=True):
        np.maximum.at(line, rows.places[scores.indices[start:end]], scores.data[start:end])
    return best


def _best(scores: npt.NDArray[np.float64], documents: Ints, window: int) -> Iterator[RankedList]:
    queries, count = scores.shape
    single = scores.astype(np.float32)
    taken = scores > 0
    size = count // (2 * window)
    if size > 1:  # the best scores of `window` groups are at least the bound, and so are those of that many documents
        groups = single[:, : size * 2 * window].reshape(queries, size, 2 * window).max(axis=1)
        taken &= single >= np.partition(groups, window, axis=1)[:, window, None]
    places = np.flatnonzero(taken)
    lines = places // max(1, count)
    # no score is below 0, so their bits are in their order; together with the document each key is distinct
    bits = single.ravel()[places].view(np.uint32).astype(np.uint64)
    keys = (bits << _SCORE) | (_DOCUMENT - documents[places - lines * count].astype(np.uint64))
    sizes = np.bincount(lines, minlength=queries)
    table = np.zeros((queries, max(int(sizes.max(initial=0)), 1)), dtype=np.uint64)
    table[lines, within(sizes)] = keys
    table.sort(axis=1)
    best = table[:, : -window - 1 : -1]
    found = (_DOCUMENT - (best & _DOCUMENT)).astype(np.int64)
    values = (best >> _SCORE).astype(np.uint32).view(np.float32).astype(np.float64)
    for line, hits in enumerate(np.minimum(sizes, window).tolist()):
        yield RankedList(found[line, :hits], values[line, :hits])
