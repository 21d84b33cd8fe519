"""BM25 as Lucene's BM25Similarity computes it: float32, with one byte of length a document.

Equal to OpenSearch 3.x; 2.x and Elasticsearch multiply each score by k1 + 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

K1, B = 1.2, 0.75
"""Lucene's defaults."""


def _long_to_int4(value: int) -> int:
    bits = value.bit_length()
    if bits < 4:
        return value
    shift = bits - 4
    return ((value >> shift) & 7) | ((shift + 1) << 3)


_FREE = 255 - _long_to_int4(2**31 - 1)


def length_code(length: int) -> int:
    """The byte that Lucene keeps of a field length in tokens (SmallFloat.intToByte4): exact to 40, then 42, 44, ..."""
    return length if length < _FREE else _FREE + _long_to_int4(length - _FREE)


def _decoded(code: int) -> int:
    if code < _FREE:
        return code
    low, shift = (code - _FREE) & 7, ((code - _FREE) >> 3) - 1
    return _FREE + (low if shift == -1 else (low | 8) << shift)


DECODED = np.array([_decoded(code) for code in range(256)], dtype=np.float32)
"""The length that each byte stands for."""


@dataclass(frozen=True, slots=True)
class FieldStatistics:
    """`documents` that have at least one token in the field, and their `tokens`, not quantised."""

    documents: int
    tokens: int


def inverse_norms(statistics: FieldStatistics, k1: float, b: float) -> npt.NDArray[np.float32]:
    """1 / (k1 * (1 - b + b * length / average)) by length byte. k1 = 0 gives infinity: frequency does not count."""
    one = np.float32(1)
    average = np.float32(statistics.tokens / max(statistics.documents, 1))
    with np.errstate(divide="ignore"):
        return one / (np.float32(k1) * ((one - np.float32(b)) + np.float32(b) * DECODED / average))


def term_weight(statistics: FieldStatistics, document_frequency: int, boost: float) -> np.float32:
    """boost * idf."""
    idf = math.log(1 + (statistics.documents - document_frequency + 0.5) / (document_frequency + 0.5))
    return np.float32(boost) * np.float32(idf)


def scores(
    weight: np.float32, frequencies: npt.NDArray[np.float32], inverse: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """The score of one term in each of its documents."""
    return weight - weight / (np.float32(1) + frequencies * inverse)
