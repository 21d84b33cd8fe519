"""The documents of a study: read once, kept in memory, with the frozen corpus tables that programs ask for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property

from idxopt.hashing import content_digest, digest
from idxopt.operators.row import Document
from idxopt.operators.tables import EMPTY_TABLES, Tables, build_tables, tables_needed
from idxopt.program.canonical import canonical
from idxopt.program.schema import Program


@dataclass(frozen=True)
class Corpus:
    """Documents in the order of their ids (by code point: the order that decides ties).

    Candidates of one study share the program's `source`, so tables are kept by what they hold.
    """

    documents: tuple[Document, ...]
    _tables: dict[str, Tables] = field(default_factory=dict, repr=False, compare=False)

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Corpus:
        return cls(tuple(sorted(documents, key=lambda document: document.id)))

    @cached_property
    def by_id(self) -> dict[str, Document]:
        return {document.id: document for document in self.documents}

    @cached_property
    def digest(self) -> str:
        """64 hex digits over ids and contents."""
        total = hashlib.sha256()
        for document in self.documents:
            total.update(f"{document.id}\0{content_digest(document.source)}\n".encode("utf-8", "surrogatepass"))
        return total.hexdigest()

    def tables(self, program: Program) -> Tables:
        """The frozen tables that the steps of `program` need over these documents."""
        needed = tables_needed(program)
        if not needed:
            return EMPTY_TABLES
        plain = {
            "source": canonical(program)["source"],
            "frequencies": sorted([stream, name, terms or 0] for (stream, name), terms in needed.frequencies.items()),
            "lines": dict(needed.lines),
            "titles": sorted(needed.titles),
        }
        key = digest(plain)
        if key not in self._tables:
            self._tables[key] = build_tables(program, self.documents)
        return self._tables[key]
