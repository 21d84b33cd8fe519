"""Counts of rows cut out of texts, from the chunks of the texts: only chunks that are cut through are analysed anew."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from idxopt.optimizer.scoring.chunks import JOINING_SPACE, Chunks, Counts, Ints, chunks_of, integers, within
from idxopt.optimizer.scoring.cuts import Spans

_SPACES = np.array([chr(code).isspace() and chr(code) != JOINING_SPACE for code in range(0x3002)])
"""By code point; the last stands for all behind it, of which none is white space."""


@dataclass(frozen=True)
class Placed:
    """The chunks of texts laid end to end, a line feed between them.

    Chunk i reaches from `starts[i]` to `ends[i]` (code points), text n begins at `offsets[n]`. `tokens[i]`: tokens
    before chunk i; `terms`: its rows are places of chunks.
    """

    texts: Sequence[str]
    offsets: Ints
    starts: Ints
    ends: Ints
    tokens: Ints
    terms: Counts

    @property
    def size(self) -> int:
        """Bytes, about."""
        return 8 * (3 * len(self.tokens) + 3 * len(self.terms.rows))

    @classmethod
    def of(cls, texts: Sequence[str], chunks: Chunks) -> Placed:
        """Not for the analyzer `keyword`, whose tokens hold white space."""
        numbers, each = chunks.numbers(texts)
        lengths, terms = chunks.lengths(numbers), chunks.terms(numbers)
        chunks.keep(texts, each, lengths, terms)
        starts, ends = _edges("\n".join(texts))
        sizes = np.array([len(text) for text in texts], dtype=np.int64) + 1
        tokens = np.concatenate(([0], np.cumsum(lengths)))
        return cls(texts, np.cumsum(sizes) - sizes, starts, ends, tokens, terms)

    def count(self, spans: Spans, chunks: Chunks) -> tuple[Ints, Counts]:
        """As `Chunks.count`, of stretches of these texts."""
        begins = self.offsets[spans.parents] + spans.starts
        stops = self.offsets[spans.parents] + np.maximum(spans.ends, spans.starts)
        first = np.searchsorted(self.ends, begins, side="right")
        last = np.where(begins < stops, np.searchsorted(self.starts, stops, side="left"), first)
        some = np.flatnonzero(last > first)
        left, right = np.zeros(spans.count, dtype=bool), np.zeros(spans.count, dtype=bool)
        left[some] = self.starts[first[some]] < begins[some]
        right[some] = self.ends[last[some] - 1] > stops[some]

        rows, parts = array("q"), list[str]()
        for row, text in self._pieces(spans, first, last, left, right):
            rows.append(row)
            parts.append(text)
        for row, header in spans.headers:
            for text in chunks_of(header):
                rows.append(row)
                parts.append(text)
        low = first + left
        return self._counted(low, np.maximum(last - right, low), integers(rows), *chunks.count_parts(parts))

    def _pieces(
        self, spans: Spans, first: Ints, last: Ints, left: npt.NDArray[np.bool_], right: npt.NDArray[np.bool_]
    ) -> Iterator[tuple[int, str]]:
        """What rows hold of chunks that are cut through."""
        if not (left.any() or right.any()):
            return
        ends = self.ends[np.minimum(first, len(self.ends) - 1)] - self.offsets[spans.parents]
        starts = self.starts[np.maximum(last - 1, 0)] - self.offsets[spans.parents]
        for row in np.flatnonzero(left).tolist():
            text = self.texts[spans.parents[row]]
            yield row, text[spans.starts[row] : min(ends[row], spans.ends[row])]
        for row in np.flatnonzero(right & ~(left & (last - first == 1))).tolist():
            text = self.texts[spans.parents[row]]
            yield row, text[max(starts[row], spans.starts[row]) : spans.ends[row]]

    def _counted(self, low: Ints, high: Ints, rows: Ints, lengths: Ints, added: Counts) -> tuple[Ints, Counts]:
        """Rows of the chunks from `low` to `high`, and of parts with these lengths and terms."""
        tokens = self.tokens[high] - self.tokens[low]
        np.add.at(tokens, rows, lengths)
        terms = self.terms
        begin, end = np.searchsorted(terms.rows, low), np.searchsorted(terms.rows, high)
        sizes = end - begin
        places = np.repeat(begin, sizes) + within(sizes)
        return tokens, Counts(
            np.concatenate((np.repeat(np.arange(len(low)), sizes), rows[added.rows])),
            np.concatenate((terms.columns[places], added.columns)),
            np.concatenate((terms.counts[places], added.counts)),
        )


def _edges(text: str) -> tuple[Ints, Ints]:
    """Starts and ends of the chunks of a text, as `chunks_of` finds them."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
    spaces = _SPACES[np.minimum(codes, len(_SPACES) - 1)]
    changes = np.flatnonzero(np.diff(np.concatenate(([True], spaces, [True]))))
    return changes[::2], changes[1::2]
