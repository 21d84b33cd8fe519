"""Ranked lists of one leg: the best rows of each query, a document by its best one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from idxopt.optimizer.scoring.chunks import Ints
from idxopt.optimizer.scoring.fields import Matrix
from idxopt.optimizer.scoring.texts import RowSet

_DOCUMENT = np.uint64(0xFFFFFFFF)
_SCORE = np.uint64(32)


@dataclass(frozen=True, slots=True)
class RankedList:
    """One leg's documents (numbers in the corpus), best first, with their scores."""

    documents: Ints
    scores: npt.NDArray[np.float64]


def ranked(parts: Sequence[Matrix], rows: RowSet, window: int) -> Iterator[RankedList]:
    """The `window` best documents of each query; equal scores in the order of documents.

    `parts`: scores of queries (lines) in rows (columns) a field, summed in this order and then rounded to single
    precision. What has no entry in any is no hit.
    """
    total = parts[0].toarray()
    for part in parts[1:]:
        total += part.toarray()
    if rows.several:
        total = np.maximum.reduceat(total, rows.firsts, axis=1)
    return _best(total, rows.documents[rows.firsts], window)


def _best(scores: npt.NDArray[np.float64], documents: Ints, window: int) -> Iterator[RankedList]:
    single = scores.astype(np.float32)
    taken = scores > 0
    size = single.shape[1] // (2 * window)
    if (
        size > 1
    ):  # of so many blocks, `window` have a best score that is at least the bound: so have that many documents
        blocks = single[:, : size * 2 * window].reshape(len(single), 2 * window, size).max(axis=2)
        taken &= single >= np.partition(blocks, window, axis=1)[:, window, None]
    lines, columns = np.nonzero(taken)
    # no score is below 0, so their bits are in their order; together with the document each key is distinct
    bits = single[lines, columns].view(np.uint32).astype(np.uint64)
    keys = (bits << _SCORE) | (_DOCUMENT - documents[columns].astype(np.uint64))
    ends = np.searchsorted(lines, np.arange(len(single) + 1)).tolist()
    for start, end in pairwise(ends):
        best = np.sort(keys[start:end])[::-1][:window]
        found = (best >> _SCORE).astype(np.uint32).view(np.float32)
        yield RankedList((_DOCUMENT - (best & _DOCUMENT)).astype(np.int64), found.astype(np.float64))
