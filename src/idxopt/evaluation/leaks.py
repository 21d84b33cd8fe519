"""What makes judged figures say less than they seem to: missing documents, near-duplicates, copied queries.

All of it is counted over normalised words (lower case, letters and digits), in time that grows with the text.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from idxopt.errors import EvaluationError
from idxopt.evaluation.judgments import Qrels, Query

SHINGLE_WORDS = 5
NEAR = 0.9
"""Jaccard similarity of two documents' word 5-shingles from which they are near-duplicates."""
COPIED_WORDS = 6
"""A shorter query may stand in a document by chance."""
EXAMPLES = 5
MOST_DOCUMENTS = 200_000
"""Documents that are compared for near-duplicates, the first in the order of ids: 8 bytes of memory a word."""
_BANDS, _BAND_ROWS = 12, 8
"""Documents meet where a band of MinHashes is equal: 99.9% of pairs at Jaccard .9, 5% at .5."""
_LEADERS = 20
_AT_ONCE = 4_096
_WORD = re.compile(r"[^\W_]+")

Hashes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class MissingDocuments:
    """Judged documents that the corpus lacks: `judgments` over `documents`, of `judged` documents in all."""

    documents: int
    judgments: int
    judged: int
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class NearDuplicates:
    """Groups of documents that are equal or nearly so, the largest first, then by id.

    `exact`: documents that have the same words as another; `compared`: documents that were looked at.
    """

    groups: tuple[tuple[str, ...], ...]
    exact: int
    compared: int

    @property
    def documents(self) -> int:
        """Documents in all groups."""
        return sum(len(group) for group in self.groups)


@dataclass(frozen=True, slots=True)
class CopiedQueries:
    """Queries of COPIED_WORDS words or more that stand word for word in a document relevant to them: (query id,
    document id), by query. `eligible`: queries that are long enough and have a relevant document in the corpus.
    """

    copies: tuple[tuple[str, str], ...]
    eligible: int


@dataclass(frozen=True, slots=True)
class Leaks:
    """All three checks. `sentences` has one for each that found something."""

    missing: MissingDocuments
    duplicates: NearDuplicates
    copied: CopiedQueries

    @property
    def sentences(self) -> tuple[str, ...]:
        missing, duplicates, copied = self.missing, self.duplicates, self.copied
        found = []
        if missing.documents:
            found.append(
                f"{missing.documents} of {missing.judged} judged documents are not in the corpus and cannot be found "
                f"({', '.join(missing.examples)})"
            )
        if duplicates.groups:
            groups = "1 group" if len(duplicates.groups) == 1 else f"{len(duplicates.groups)} groups"
            found.append(
                f"{duplicates.documents} of {duplicates.compared} documents are near-duplicates of another, in "
                f"{groups} ({duplicates.exact} with equal words): of a group only one may be judged"
            )
        if copied.copies:
            found.append(
                f"{len(copied.copies)} of {copied.eligible} queries of {COPIED_WORDS} words or more stand word for "
                f"word in a relevant document: they measure less than users' own words would"
            )
        return tuple(found)


def find_leaks(
    texts: Mapping[str, str], queries: Sequence[Query], qrels: Qrels, *, allow_missing: bool = False
) -> Leaks:
    """The three checks over the documents' texts by id. Raises EvaluationError as `missing_documents` does."""
    missing = missing_documents(qrels, texts.keys(), allow_missing=allow_missing)
    return Leaks(missing, near_duplicates(texts), copied_queries(queries, qrels, texts))


def missing_documents(qrels: Qrels, documents: Collection[str], *, allow_missing: bool = False) -> MissingDocuments:
    """Judged documents that are not in the corpus (`documents`: its ids).

    Raises EvaluationError, naming some, where there are any and `allow_missing` is not set: a relevant document that
    cannot be found lowers every figure, whatever is changed. Where all are missing it is raised all the same: every
    figure would be zero.
    """
    known = documents if isinstance(documents, set | frozenset | dict) else frozenset(documents)
    judged = [doc_id for graded in qrels.values() for doc_id in graded]
    absent = [doc_id for doc_id in judged if doc_id not in known]
    found = MissingDocuments(len(set(absent)), len(absent), len(set(judged)), tuple(sorted(set(absent))[:EXAMPLES]))
    if absent and found.documents == found.judged:
        raise EvaluationError(
            f"none of the {found.judged} judged documents is in the corpus, for example "
            f"{', '.join(map(repr, found.examples))}",
            remedy="give the corpus that the judgments were made on, or check that ids are written alike (--id)",
        )
    if absent and not allow_missing:
        raise EvaluationError(
            f"{found.documents} of {found.judged} judged documents are not in the corpus, for example "
            f"{', '.join(map(repr, found.examples))}",
            remedy="give the corpus that the judgments were made on, or check that ids are written alike; documents "
            "that are gone on purpose must be allowed explicitly",
        )
    return found


def copied_queries(queries: Sequence[Query], qrels: Qrels, texts: Mapping[str, str]) -> CopiedQueries:
    """Queries that stand word for word, as one run, in a relevant document (the first by id is named)."""
    copies, eligible = [], 0
    padded: dict[str, str] = {}
    for query in sorted(queries, key=lambda query: query.id):
        words = _words(query.text)
        relevant = [doc_id for doc_id, grade in qrels.get(query.id, {}).items() if grade > 0 and doc_id in texts]
        if len(words) < COPIED_WORDS or not relevant:
            continue
        eligible += 1
        run = f" {' '.join(words)} "
        for doc_id in sorted(relevant):
            if doc_id not in padded:
                padded[doc_id] = f" {' '.join(_words(texts[doc_id]))} "
            if run in padded[doc_id]:
                copies.append((query.id, doc_id))
                break
    return CopiedQueries(tuple(copies), eligible)


def near_duplicates(texts: Mapping[str, str], *, near: float = NEAR) -> NearDuplicates:
    """Groups of documents with a Jaccard similarity of word 5-shingles of `near` or more to one of their group.

    Pairs are found by MinHash and checked by the shingles themselves, so that none is reported wrongly. Documents
    without words are left out; those of fewer than five words are compared as a whole.
    """
    hasher = _WordHashes()
    signatures = _Signatures()
    ids: list[str] = []
    shingles: list[Hashes] = []
    first_with: dict[bytes, int] = {}
    groups = _Groups()
    compared = sorted(texts)[:MOST_DOCUMENTS]
    for doc_id in compared:
        words = hasher.of(_words(texts[doc_id]))
        if not len(words):
            continue
        number = len(ids)
        ids.append(doc_id)
        first = first_with.setdefault(hashlib.blake2b(words.tobytes(), digest_size=16).digest(), number)
        if first != number:
            groups.join(first, number)
            shingles.append(shingles[first])
            continue
        shingles.append(_shingles(words))
        signatures.add(number, shingles[number])
    exact = groups.size
    for one, other in signatures.pairs(shingles, near):
        groups.join(one, other)
    found = sorted((tuple(ids[number] for number in group) for group in groups.all()), key=lambda g: (-len(g), g))
    return NearDuplicates(tuple(found), exact, len(compared))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


class _WordHashes:
    """A 64-bit number for every word, the same in every process."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def of(self, words: Sequence[str]) -> Hashes:
        known = self._known
        for word in set(words).difference(known):
            plain = word.encode("utf-8", "surrogatepass")
            known[word] = int.from_bytes(hashlib.blake2b(plain, digest_size=8).digest(), "little")
        return np.fromiter((known[word] for word in words), dtype=np.uint64, count=len(words))


def _shingles(words: Hashes) -> Hashes:
    """The distinct hashes of runs of five words, sorted; one of the whole text where it is shorter."""
    width = min(SHINGLE_WORDS, len(words))
    count = len(words) - width + 1
    total = np.zeros(count, dtype=np.uint64)
    for offset in range(width):
        total = _mixed(total * np.uint64(0x9E3779B97F4A7C15) + words[offset : offset + count])
    return np.unique(total)


def _mixed(values: Hashes) -> Hashes:
    """The finaliser of splitmix64: nearby numbers become unrelated ones."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


class _Signatures:
    """MinHash signatures in bands: documents that share a band are worth comparing."""

    def __init__(self) -> None:
        generator = np.random.default_rng(20_240_229)
        size = (_BANDS * _BAND_ROWS, 1)
        self._factors = generator.integers(1, 2**63, size=size, dtype=np.uint64) | np.uint64(1)
        self._buckets: dict[tuple[int, bytes], list[int]] = {}

    def add(self, number: int, shingles: Hashes) -> None:
        least = np.full(len(self._factors), np.iinfo(np.uint64).max, dtype=np.uint64)
        for start in range(0, len(shingles), _AT_ONCE):
            # The high bits of a product with an odd number order the shingles anew for every factor.
            part = (shingles[start : start + _AT_ONCE] * self._factors).min(axis=1)
            least = np.minimum(least, part)
        for band, rows in enumerate(least.reshape(_BANDS, _BAND_ROWS)):
            self._buckets.setdefault((band, rows.tobytes()), []).append(number)

    def pairs(self, shingles: Sequence[Hashes], near: float) -> Iterator[tuple[int, int]]:
        """Pairs that are near each other. In a bucket each document is compared with those that began a group of
        their own there, of which there are few: buckets of any size stay cheap.
        """
        checked: dict[tuple[int, int], bool] = {}
        for bucket in self._buckets.values():
            leaders: list[int] = []
            for number in bucket:
                for leader in leaders:
                    pair = (leader, number)
                    if pair not in checked:
                        checked[pair] = _jaccard(shingles[leader], shingles[number]) >= near
                    if checked[pair]:
                        yield pair
                        break
                else:
                    if len(leaders) < _LEADERS:
                        leaders.append(number)


def _jaccard(one: Hashes, other: Hashes) -> float:
    both = len(np.intersect1d(one, other, assume_unique=True))
    return both / (len(one) + len(other) - both)


class _Groups:
    """Numbers that belong together, by union-find."""

    def __init__(self) -> None:
        self._parent: dict[int, int] = {}

    def join(self, one: int, other: int) -> None:
        first, second = sorted((self._root(one), self._root(other)))
        self._parent[second] = first

    @property
    def size(self) -> int:
        """Numbers that belong with another."""
        return len(self._parent)

    def all(self) -> list[list[int]]:
        members: dict[int, list[int]] = {}
        for number in sorted(self._parent):
            members.setdefault(self._root(number), []).append(number)
        return list(members.values())

    def _root(self, number: int) -> int:
        parent = self._parent.setdefault(number, number)
        while parent != number:
            self._parent[number] = self._parent[parent]
            number, parent = parent, self._parent[parent]
        return number
