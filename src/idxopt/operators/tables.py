"""Frozen corpus tables: document frequencies, repeated lines, titles of neighbours. Made in one pass over the sources.

Tables read SOURCE fields only (a step's own input may have been rewritten by the steps before it): so one pass serves
all views, and the tables do not depend on the steps. They belong to the build's manifest; the program never has them.

Memory is bounded by `frequencies.MAX_ENTRIES` counted terms a field (and as many lines): when there are more, those
with the lowest counts are dropped and counted anew should they come again, so that a count may be too low by the
table's `floor`. A table that is cut, by this or by `max_idf_terms`, keeps the terms of the highest document
frequencies (ties by code point), and every term that is not in it takes the lowest document frequency that is in it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import islice
from typing import Any, Literal

from idxopt.errors import BuildError
from idxopt.hashing import digest
from idxopt.operators.frequencies import BoundedCounts, DocumentFrequencies
from idxopt.operators.paths import value_at
from idxopt.operators.row import Document, text_of
from idxopt.operators.streams import prime_terms_of, words_of
from idxopt.program.schema import Markup, Program
from idxopt.program.steps import Discard, Keywords, Neighbours, PrimeTerms
from idxopt.text.identifiers import WHITE_SPACE

SCHEMA = "idxopt-tables/1"
_CHUNK = 256
_STRUCTURE = ("```", "~~~", "#")

Stream = Literal["prime", "words"]


@dataclass(frozen=True, slots=True)
class TablesNeeded:
    """What the steps of a program ask for, all by source field. False when nothing is asked for.

    `frequencies`: the most terms any step wants (None: all) by (stream, field). `lines`: the lowest `min_docs` by
    field. `titles`: fields whose neighbours are wanted.
    """

    frequencies: Mapping[tuple[Stream, str], int | None] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)
    titles: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.frequencies or self.lines or self.titles)


@dataclass(frozen=True)
class Tables:
    """The tables of one corpus. `lines` maps a field to the digests of its repeated lines and their documents.

    `titles` maps a field to (document id, title) of all documents that have one, by folder and id.
    """

    documents: int = 0
    frequencies: Mapping[tuple[Stream, str], DocumentFrequencies] = field(default_factory=dict)
    lines: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    titles: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The tables as a JSON object; `from_json` gives them back."""
        return {
            "schema": SCHEMA,
            "documents": self.documents,
            "frequencies": [
                {"stream": stream, "field": name, "cut": table.cut, "counts": dict(table.counts)}
                for (stream, name), table in sorted(self.frequencies.items())
            ],
            "lines": {name: dict(lines) for name, lines in self.lines.items()},
            "titles": {name: [list(pair) for pair in pairs] for name, pairs in self.titles.items()},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Tables:
        """Raises BuildError for what `to_json` did not write."""
        try:
            if value["schema"] != SCHEMA:
                raise ValueError(f"schema {value['schema']!r}")
            documents = int(value["documents"])
            return cls(
                documents,
                {
                    (entry["stream"], entry["field"]): DocumentFrequencies(documents, entry["counts"], entry["cut"])
                    for entry in value["frequencies"]
                },
                value["lines"],
                {name: tuple((id_, title) for id_, title in pairs) for name, pairs in value["titles"].items()},
            )
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise BuildError(
                f"the corpus tables are damaged ({type(error).__name__}: {error})",
                remedy="make them anew: idxopt refresh",
            ) from error

    @cached_property
    def digest(self) -> str:
        """sha256 (64 hex digits) of the canonical JSON."""
        return digest(self.to_json())


EMPTY_TABLES = Tables()
"""Tables of a program that needs none."""


def tables_needed(program: Program) -> TablesNeeded:
    """The tables that the steps of all views ask for."""
    frequencies: dict[tuple[Stream, str], int | None] = {}
    lines: dict[str, int] = {}
    titles: set[str] = set()
    for step in (step for view in program.views.values() for step in view.steps):
        match step:
            case PrimeTerms():
                _want(frequencies, ("prime", step.field), step.max_idf_terms)
            case Keywords(generator=None):
                _want(frequencies, ("words", step.field), None)
            case Neighbours():
                titles.add(step.field)
            case Discard() if step.span.repeated_lines is not None:
                least = step.span.repeated_lines.min_docs
                lines[step.field] = min(least, lines.get(step.field, least))
            case _:
                pass
    return TablesNeeded(frequencies, lines, frozenset(titles))


def _want(frequencies: dict[tuple[Stream, str], int | None], key: tuple[Stream, str], terms: int | None) -> None:
    before = frequencies.get(key, 0)
    frequencies[key] = None if terms is None or before is None else max(before, terms)


def build_tables(program: Program, documents: Iterable[Document]) -> Tables:
    """The tables that `program` needs, in one pass over `documents` (none is read when it needs none)."""
    needed = tables_needed(program)
    if not needed:
        return EMPTY_TABLES
    counting = _Counting(program, needed)
    remaining = iter(documents)
    while chunk := list(islice(remaining, _CHUNK)):
        counting.add(chunk)
    return counting.tables()


class _Counting:
    """The tables while they are being made."""

    def __init__(self, program: Program, needed: TablesNeeded) -> None:
        self._source = program.source
        self._needed = needed
        self._documents = 0
        self._frequencies = {key: BoundedCounts() for key in needed.frequencies}
        self._lines = {name: BoundedCounts() for name in needed.lines}
        self._titles: dict[str, list[tuple[str, str]]] = {name: [] for name in needed.titles}

    def add(self, chunk: list[Document]) -> None:
        self._documents += len(chunk)
        for (stream, name), counts in self._frequencies.items():
            found: Counter[str] = Counter()
            for _, text in self._texts(name, chunk):
                found.update(set(terms_of(stream, text, self._source.markup)))
            counts.add(found)
        for name, counts in self._lines.items():
            found = Counter()
            for _, text in self._texts(name, chunk):
                found.update({line_digest(line) for line in text.split("\n") if is_counted(line)})
            counts.add(found)
        for name, pairs in self._titles.items():
            pairs.extend(self._texts(name, chunk))

    def _texts(self, name: str, chunk: list[Document]) -> Iterator[tuple[str, str]]:
        path = self._source.fields[name]
        for document in chunk:
            value = value_at(document.source, path)
            if value is not None:
                yield document.id, text_of(value)

    def tables(self) -> Tables:
        return Tables(
            self._documents,
            {key: self._frozen(counts, self._needed.frequencies[key]) for key, counts in self._frequencies.items()},
            {name: self._repeated(name, counts) for name, counts in self._lines.items()},
            {
                name: tuple(sorted(pairs, key=lambda pair: folder_order(pair[0])))
                for name, pairs in self._titles.items()
            },
        )

    def _frozen(self, counts: BoundedCounts, terms: int | None) -> DocumentFrequencies:
        every = dict(sorted(counts.counts.items()))
        return DocumentFrequencies(self._documents, every, cut=counts.floor > 0).limited(terms)

    def _repeated(self, name: str, counts: BoundedCounts) -> dict[str, int]:
        least = self._needed.lines[name]
        return {line: count for line, count in sorted(counts.counts.items()) if count >= least}


def terms_of(stream: Stream, text: str, markup: Markup) -> list[str]:
    """The tokens of a text in one of the two streams."""
    return prime_terms_of(text, markup) if stream == "prime" else words_of(text, markup)


def is_counted(line: str) -> bool:
    """Whether a line can be boilerplate: it has a letter or digit, and is neither a heading nor a code fence."""
    text = line.strip(WHITE_SPACE)
    return not text.startswith(_STRUCTURE) and any(character.isalnum() for character in text)


def line_digest(line: str) -> str:
    """16 hex digits that stand for a line without the white space around it."""
    return blake2b(line.strip(WHITE_SPACE).encode("utf-8"), digest_size=8).hexdigest()


def folder_order(doc_id: str) -> tuple[str, str]:
    """Ids split at the last `/`: the order of documents in their folders."""
    folder, _, name = doc_id.rpartition("/")
    return folder, name
