"""Frozen corpus tables: document frequencies, repeated lines, titles of neighbours. Made in one pass over the sources.

They belong to the build's manifest, one frozen set a build; the program never has them.

Memory is bounded by `frequencies.MAX_ENTRIES` counted terms a field (and as many lines): when there are more, those
with the lowest counts are dropped and counted anew should they come again, so that a count may be too low by the
highest count that was dropped. A table that is cut, by this or by `max_idf_terms`, keeps the terms of the highest
document frequencies (ties by code point), and every term that is not in it takes the lowest document frequency in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Any

from idxopt.errors import BuildError, ProgramError
from idxopt.hashing import digest
from idxopt.operators.counting import ChunkCounts, Stream, TablesNeeded, count_chunk, make_chunk_function
from idxopt.operators.frequencies import BoundedCounts, DocumentFrequencies
from idxopt.operators.parallel import Crashed, Pool
from idxopt.operators.row import Document
from idxopt.program.schema import Program, View
from idxopt.program.steps import Discard, Keywords, Neighbours, PrimeTerms

SCHEMA = "idxopt-tables/1"
_CHUNK = 256


@dataclass(frozen=True)
class Tables:
    """The tables of one corpus of `documents`; `made` says what was asked for when they were made.

    `lines` maps a field to the digests of its repeated lines and their documents, `titles` to (document id, title) of
    all documents that have one, by folder and id.
    """

    documents: int = 0
    made: TablesNeeded = field(default_factory=TablesNeeded)
    frequencies: Mapping[tuple[Stream, str], DocumentFrequencies] = field(default_factory=dict)
    lines: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    titles: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)

    def missing(self, needed: TablesNeeded) -> TablesNeeded:
        """What of `needed` is not here."""
        return needed.beyond(self.made)

    def to_json(self) -> dict[str, Any]:
        """The tables as a JSON object; `from_json` gives them back."""
        return {
            "schema": SCHEMA,
            "documents": self.documents,
            "frequencies": [
                {
                    "stream": stream,
                    "field": name,
                    "terms": self.made.frequencies[stream, name],
                    "cut": table.cut,
                    "counts": dict(table.counts),
                }
                for (stream, name), table in sorted(self.frequencies.items())
            ],
            "lines": {
                name: {"min_docs": self.made.lines[name], "counts": dict(lines)} for name, lines in self.lines.items()
            },
            "titles": {name: [list(pair) for pair in pairs] for name, pairs in self.titles.items()},
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Tables:
        """Raises BuildError for what `to_json` did not write."""
        try:
            if value["schema"] != SCHEMA:
                raise ValueError(f"schema {value['schema']!r}")
            frequencies = {(entry["stream"], entry["field"]): entry for entry in value["frequencies"]}
            documents = int(value["documents"])
            return cls(
                documents,
                TablesNeeded(
                    {key: entry["terms"] for key, entry in frequencies.items()},
                    {name: entry["min_docs"] for name, entry in value["lines"].items()},
                    frozenset(value["titles"]),
                ),
                {
                    key: DocumentFrequencies(documents, entry["counts"], entry["cut"])
                    for key, entry in frequencies.items()
                },
                {name: entry["counts"] for name, entry in value["lines"].items()},
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
    return _needed(program.views.values())


def require(tables: Tables, program: Program, view_name: str) -> None:
    """Raises ProgramError where a view needs tables that are not there: its terms would be scored by nothing."""
    if tables.missing(_needed([program.views[view_name]])):
        raise ProgramError(
            "the frozen corpus tables lack what this view's steps need",
            remedy="make them with build_tables (apply and refresh do)",
            place=f"views.{view_name}",
        )


def _needed(views: Iterable[View]) -> TablesNeeded:
    frequencies: dict[tuple[Stream, str], int | None] = {}
    lines: dict[str, int] = {}
    titles: set[str] = set()
    for step in (step for view in views for step in view.steps):
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


def build_tables(program: Program, documents: Iterable[Document], *, workers: int = 1) -> Tables:
    """The tables that `program` needs, in one pass over `documents` (none is read when it needs none).

    `workers` 1 counts in this process.
    """
    needed = tables_needed(program)
    if not needed:
        return EMPTY_TABLES
    counting = _Counting(needed)
    chunks = _chunks(documents)
    if workers > 1:
        work = (program.source, needed)
        with Pool(f"{make_chunk_function.__module__}:{make_chunk_function.__name__}", work, workers) as pool:
            for (counts,) in pool.map([chunk] for chunk in chunks):
                if isinstance(counts, Crashed):
                    raise BuildError(
                        f"a worker process died while counting (exit code {counts.exit_code})",
                        remedy="free memory, or use fewer workers",
                    )
                counting.add(counts)
    else:
        for chunk in chunks:
            counting.add(count_chunk(program.source, needed, chunk))
    return counting.tables()


def _chunks(documents: Iterable[Document]) -> Iterator[list[Document]]:
    remaining = iter(documents)
    while chunk := list(islice(remaining, _CHUNK)):
        yield chunk


class _Counting:
    """Tables while they are being made."""

    def __init__(self, needed: TablesNeeded) -> None:
        self._needed = needed
        self._documents = 0
        self._frequencies = {key: BoundedCounts() for key in needed.frequencies}
        self._lines = {name: BoundedCounts() for name in needed.lines}
        self._titles: dict[str, list[tuple[str, str]]] = {name: [] for name in needed.titles}

    def add(self, counts: ChunkCounts) -> None:
        self._documents += counts.documents
        for key, found in counts.frequencies.items():
            self._frequencies[key].add(found)
        for name, found in counts.lines.items():
            self._lines[name].add(found)
        for name, pairs in counts.titles.items():
            self._titles[name].extend(pairs)

    def tables(self) -> Tables:
        return Tables(
            self._documents,
            self._needed,
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


def folder_order(doc_id: str) -> tuple[str, str]:
    """Ids split at the last `/`: the order of documents in their folders."""
    folder, _, name = doc_id.rpartition("/")
    return folder, name
