"""Where the tokens of the standard tokenizer start, for texts without what is hard (see `word_break`): all at once."""

from __future__ import annotations

from array import array
from functools import cache

import numpy as np
import numpy.typing as npt

from idxopt.text.word_break import EASY_KINDS, MAX_TOKEN
from idxopt.text.word_classes import RANGES

# What a code point is; letters and digits have the bits of what joins them, shifted.
_LETTER, _DIGIT, _JOINS_LETTERS, _JOINS_DIGITS, _PART, _HARD = (1 << bit for bit in range(6))
_JOINS = 2  # the shift
_BITS = {
    "A": _LETTER | _PART,
    "0": _DIGIT | _PART,
    "_": _PART,
    ":": _JOINS_LETTERS,
    ",": _JOINS_DIGITS,
    ".": _JOINS_LETTERS | _JOINS_DIGITS,
    "'": _JOINS_LETTERS | _JOINS_DIGITS,
}
_HIGHEST = 0x10000
"""Stands for all code points beyond the BMP."""


@cache
def _table() -> npt.NDArray[np.uint8]:
    """The bits of each code point."""
    table = np.zeros(_HIGHEST + 1, np.uint8)
    for kind, ranges in RANGES.items():
        for low, _, high in (part.partition("-") for part in ranges.split()):
            first, last = int(low, 16), int(high or low, 16)
            table[first : last + 1] = _HARD if kind not in EASY_KINDS and first > 0x7F else _BITS.get(kind, 0)
    table[_HIGHEST] = _HARD
    return table


@cache
def _ascii_table() -> bytes:
    return _table()[:256].tobytes()


def easy_starts(text: str) -> array[int] | None:
    """None for a text that has anything hard, a token that is too long included."""
    padded = f" {text} "
    if text.isascii():
        bits = np.frombuffer(padded.encode("ascii").translate(_ascii_table()), np.uint8)
    else:
        points = np.frombuffer(padded.encode("utf-32-le", "surrogatepass"), np.uint32)
        bits = _table()[np.minimum(points, _HIGHEST)]
        if (bits & _HARD).any():
            return None
    joined = bits[:-2] & (bits[1:-1] >> _JOINS) & bits[2:] & (_LETTER | _DIGIT)
    part = (bits & _PART) != 0
    part[1:-1] |= joined != 0
    edges = np.flatnonzero(part[1:] != part[:-1])  # where tokens start and end, in turn
    starts = edges[::2]
    if len(starts) and (edges[1::2] - starts).max() > MAX_TOKEN:
        return None
    if len(starts) and "_" in text:  # connectors alone are no token
        starts = starts[np.bitwise_or.reduceat(bits[1:] & (_LETTER | _DIGIT), starts) != 0]
    found = array("q")
    found.frombytes(starts.astype(np.int64).tobytes())
    return found
