"""Texts as counts of the terms that queries ask for.

No analyzer here makes a token across white space (but U+202F, see `chunks_of`), so the terms of a text are those of its
chunks between white space, one after the other. Each distinct chunk is analysed once in the life of a study; a text is
then a row of chunk numbers, and its counts are looked up in arrays. Only lengths, and the terms of the queries, are
kept.
"""

from __future__ import annotations

import re
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from idxopt.text.analysis import analyzer

Ints = npt.NDArray[np.int64]
_LONG = 200
"""Characters from which the counts of a text are kept: shorter ones are counted faster than found."""
_KEPT_BYTES = 240_000_000
"""Characters and bytes of texts whose counts are kept; beyond that all are forgotten."""
_NUMBERED_CHARACTERS = 100_000_000
"""Of chunks that are known; beyond that all are forgotten. Texts without white space are chunks, and so are all parts
of them that are cut out.
"""

JOINING_SPACE = "\u202f"
_JOINED = re.compile(rf"(?:\S|{JOINING_SPACE})+")


@dataclass(frozen=True, slots=True)
class Counts:
    """Occurrences: `counts[i]` times the query term `columns[i]` in `rows[i]` (a triple may come in parts)."""

    rows: Ints
    columns: npt.NDArray[np.integer[Any]]
    counts: npt.NDArray[np.integer[Any]]


def chunks_of(text: str) -> list[str]:
    """The stretches of a text between white space, none of which shares a token with another.

    NARROW NO-BREAK SPACE does not count: to the standard tokenizer it is a connector as `_` is (UAX #29, ExtendNumLet).
    """
    return text.split() if JOINING_SPACE not in text else _JOINED.findall(text)


class _Numbers(dict[str, int]):
    """Chunks numbered in the order of their first use; new ones are collected for analysis."""

    def __init__(self) -> None:
        super().__init__()
        self.new: list[str] = []
        self.characters = 0

    def __missing__(self, chunk: str) -> int:
        number = self[chunk] = len(self)
        self.new.append(chunk)
        self.characters += len(chunk)
        return number


class _Values:
    """Values of rows, one after the other."""

    def __init__(self) -> None:
        self.rows, self.values = array("q"), list[str]()

    def add(self, row: int, value: str) -> None:
        self.rows.append(row)
        self.values.append(value)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Lengths in tokens of texts, and their query terms; a row is the place of a text."""

    lengths: Ints
    terms: Counts


_Kept = tuple[int, bytes, bytes]
"""Of one text: tokens, query terms (int32), and how often each (int32); a term may come in parts."""


def _by_text(sizes: Ints, lengths: Ints, terms: Counts) -> _Counted:
    """The lengths and terms of chunks, by the texts that have them, one after the other."""
    rows = np.repeat(np.arange(len(sizes)), sizes)
    total = np.bincount(rows, weights=lengths, minlength=len(sizes)).astype(np.int64)
    return _Counted(total, Counts(rows[terms.rows], terms.columns, terms.counts))


def _apart(found: _Counted) -> Iterator[_Kept]:
    """By text; the rows of the terms ascend."""
    terms, counts = (values.astype(np.int32).tobytes() for values in (found.terms.columns, found.terms.counts))
    ends = np.searchsorted(found.terms.rows, np.arange(len(found.lengths) + 1)) * 4
    for length, (start, end) in zip(found.lengths.tolist(), pairwise(ends.tolist()), strict=True):
        yield length, terms[start:end], counts[start:end]


def _joined(kept: Sequence[_Kept]) -> _Counted:
    sizes = np.array([len(terms) for _, terms, _ in kept], dtype=np.int64) // 4
    terms = np.frombuffer(b"".join([terms for _, terms, _ in kept]), dtype=np.int32)
    counts = np.frombuffer(b"".join([counts for _, _, counts in kept]), dtype=np.int32)
    lengths = np.array([length for length, _, _ in kept], dtype=np.int64)
    return _Counted(lengths, Counts(np.repeat(np.arange(len(kept)), sizes), terms, counts))


class Chunks:
    """The chunks of one analyzer. `columns`: query terms and their numbers."""

    def __init__(self, name: str, columns: Mapping[str, int]) -> None:
        self._analyze = analyzer(name)
        self._whole = name == "keyword"  # its one token may hold white space
        self._columns = columns
        self._forget()
        self._kept: dict[str, _Kept] = {}
        self._kept_bytes = 0

    def count(self, texts: Sequence[tuple[str, ...]], *, keep: bool) -> tuple[Ints, Counts]:
        """Lengths in tokens of texts (each one or several values, counted together), and their query terms.

        `keep`: long texts are likely to come again in other columns, so what they hold is kept.
        """
        short, long = _Values(), _Values()
        for row, values in enumerate(texts):
            for value in values if self._whole or len(values) < 2 else ("\n".join(values),):
                (long if keep and len(value) >= _LONG else short).add(row, value)
        once = self._counted(short.values)
        kept = _joined(self._remembered(long.values))
        rows = np.concatenate((integers(short.rows)[once.terms.rows], integers(long.rows)[kept.terms.rows]))
        lengths = np.zeros(len(texts), dtype=np.int64)
        np.add.at(lengths, integers(short.rows), once.lengths)
        np.add.at(lengths, integers(long.rows), kept.lengths)
        columns = np.concatenate((once.terms.columns, kept.terms.columns))
        counts = np.concatenate((once.terms.counts, kept.terms.counts))
        return lengths, Counts(rows, columns, counts)

    def _forget(self) -> None:
        self._numbers = _Numbers()
        self._lengths, self._sizes = array("q"), array("q")
        self._terms, self._counts = array("q"), array("q")

    def _forget_too_many(self) -> None:
        if self._numbers.characters > _NUMBERED_CHARACTERS:
            self._forget()

    def numbers(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """The numbers of the chunks of texts, one after the other, and how many each text has; good until the next
        call of a method that takes texts.
        """
        self._forget_too_many()
        numbers, sizes = array("q"), array("q")
        for text in texts:
            before = len(numbers)
            numbers.extend(map(self._numbers.__getitem__, [text] if self._whole else chunks_of(text)))
            sizes.append(len(numbers) - before)
        return integers(numbers), integers(sizes)

    def keep(self, texts: Sequence[str], sizes: Ints, lengths: Ints, terms: Counts) -> None:
        """Keeps what texts hold: how many chunks each has, and lengths and terms of all, one after the other."""
        found = zip(texts, _apart(_by_text(sizes, lengths, terms)), strict=True)
        new = {text: one for text, one in found if len(text) >= _LONG}
        self._keep(new)

    def count_parts(self, parts: Sequence[str]) -> tuple[Ints, Counts]:
        """Lengths in tokens of parts of chunks, and their query terms."""
        self._forget_too_many()
        numbers = integers(array("q", map(self._numbers.__getitem__, parts)))
        return self.lengths(numbers), self.terms(numbers)

    def lengths(self, chunks: Ints) -> Ints:
        """The tokens of each chunk, by number."""
        self._learn()
        return np.array(self._lengths, dtype=np.int64)[chunks]

    def terms(self, chunks: Ints) -> Counts:
        """The query terms in chunks, by number; the rows are places in `chunks`, ascending."""
        self._learn()
        each = np.array(self._sizes, dtype=np.int64)
        starts = np.cumsum(each) - each
        having = np.flatnonzero(each[chunks])
        held = chunks[having]
        times = each[held]
        places = np.repeat(starts[held], times) + within(times)
        terms, counts = np.array(self._terms, dtype=np.int64), np.array(self._counts, dtype=np.int64)
        return Counts(np.repeat(having, times), terms[places], counts[places])

    def _counted(self, texts: Sequence[str]) -> _Counted:
        chunks, sizes = self.numbers(texts)
        return _by_text(sizes, self.lengths(chunks), self.terms(chunks))

    def _remembered(self, texts: Sequence[str]) -> list[_Kept]:
        new = [text for text in dict.fromkeys(texts) if text not in self._kept]
        fresh = dict(zip(new, _apart(self._counted(new)), strict=True))
        found = [self._kept[text] if text in self._kept else fresh[text] for text in texts]
        self._keep(fresh)
        return found

    def _keep(self, fresh: Mapping[str, _Kept]) -> None:
        if self._kept_bytes > _KEPT_BYTES:
            self._kept.clear()
            self._kept_bytes = 0
        self._kept.update(fresh)
        self._kept_bytes += sum(len(text) + len(terms) + len(counts) for text, (_, terms, counts) in fresh.items())

    def _learn(self) -> None:
        for chunk in self._numbers.new:
            tokens = self._analyze(chunk)
            found = Counter(self._columns[token] for token in tokens if token in self._columns)
            self._lengths.append(len(tokens))
            self._sizes.append(len(found))
            self._terms.extend(found.keys())
            self._counts.extend(found.values())
        self._numbers.new.clear()


def integers(values: array[int]) -> Ints:
    """As an array that shares the memory."""
    return np.frombuffer(values, dtype=np.int64) if values else np.zeros(0, dtype=np.int64)


def within(sizes: Ints) -> Ints:
    """0..n-1 for each size n, one after the other."""
    total = int(sizes.sum())
    ends = np.cumsum(sizes)
    return np.arange(total) - np.repeat(ends - sizes, sizes)
