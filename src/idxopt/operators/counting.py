"""Counting for corpus tables: what a program asks for, and the counts of a chunk of documents.

Counts are of SOURCE fields (a step's own input may have been rewritten by the steps before it), so one pass serves all
views. Each term, and each line, counts once a document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from typing import Literal

from idxopt.operators.paths import value_at
from idxopt.operators.row import Document, text_of
from idxopt.operators.streams import prime_places, word_counts
from idxopt.program.schema import Markup, Source
from idxopt.text.identifiers import WHITE_SPACE

Stream = Literal["prime", "words"]
_STRUCTURE = ("```", "~~~", "#")


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

    def beyond(self, made: TablesNeeded) -> TablesNeeded:
        """What tables that were made for `made` lack."""
        return TablesNeeded(
            {key: terms for key, terms in self.frequencies.items() if not _enough(made, key, terms)},
            {name: least for name, least in self.lines.items() if made.lines.get(name, least + 1) > least},
            self.titles - made.titles,
        )


def _enough(made: TablesNeeded, key: tuple[Stream, str], terms: int | None) -> bool:
    if key not in made.frequencies:
        return False
    has = made.frequencies[key]
    return has is None or (terms is not None and terms <= has)


@dataclass(frozen=True, slots=True)
class ChunkCounts:
    """The counts of one chunk of documents. `titles`: (document id, title) of those that have one."""

    documents: int
    frequencies: Mapping[tuple[Stream, str], Counter[str]]
    lines: Mapping[str, Counter[str]]
    titles: Mapping[str, list[tuple[str, str]]]


def make_chunk_function(work: tuple[Source, TablesNeeded]) -> Callable[[list[list[Document]]], list[ChunkCounts]]:
    """For a pool of processes: from chunks to their counts."""
    source, needed = work
    return lambda chunks: [count_chunk(source, needed, chunk) for chunk in chunks]


def count_chunk(source: Source, needed: TablesNeeded, chunk: Sequence[Document]) -> ChunkCounts:
    """The counts of some documents. A text that cannot be read is left out here; the interpreter rejects it by name."""
    frequencies = {
        (stream, name): _count(_texts(source, name, chunk), partial(_terms, stream, source.markup))
        for stream, name in needed.frequencies
    }
    lines = {name: _count(_texts(source, name, chunk), _line_digests) for name in needed.lines}
    titles = {name: list(_texts(source, name, chunk)) for name in needed.titles}
    return ChunkCounts(len(chunk), frequencies, lines, titles)


def _count(texts: Iterator[tuple[str, str]], keys: Callable[[str], Iterable[str]]) -> Counter[str]:
    """In how many texts each key stands; `keys` gives those of a text, each once."""
    found: Counter[str] = Counter()
    for _, text in texts:
        try:
            found.update(keys(text))
        except Exception:  # noqa: BLE001, S112 - the interpreter meets the same document, and rejects it by name
            continue
    return found


def _texts(source: Source, name: str, chunk: Sequence[Document]) -> Iterator[tuple[str, str]]:
    path = source.fields[name]
    for document in chunk:
        try:
            text = text_of(value_at(document.source, path))
            text.encode("utf-8")
        except (RecursionError, UnicodeEncodeError):
            continue
        if text:
            yield document.id, text


def _terms(stream: Stream, markup: Markup, text: str) -> tuple[str, ...]:
    return prime_places(text, markup).terms if stream == "prime" else word_counts(text, markup)[0]


def _line_digests(text: str) -> set[str]:
    return {line_digest(line) for line in text.split("\n") if is_counted(line)}


def is_counted(line: str) -> bool:
    """Whether a line can be boilerplate: it has a letter or digit, and is neither a heading nor a code fence."""
    text = line.strip(WHITE_SPACE)
    return not text.startswith(_STRUCTURE) and any(character.isalnum() for character in text)


def line_digest(line: str) -> str:
    """16 hex digits that stand for a line without the white space around it."""
    return blake2b(line.strip(WHITE_SPACE).encode("utf-8"), digest_size=8).hexdigest()
