"""How much a candidate may make of a corpus before it is refused: an index would hold as much."""

from __future__ import annotations

from dataclasses import dataclass

from idxopt.errors import BuildError, IdxoptError, ProgramError
from idxopt.operators.row import Document

MAX_ROWS_A_DOCUMENT = 200
"""Rows a document in the mean from which a candidate is refused: it would be many times the corpus."""
_FREE_ROWS = 10_000
MAX_GROWTH = 8
"""How many times the characters of all source fields a candidate is refused from: what a step writes, or what all rows
hold of a searched field (a whole document in each of its rows).
"""
_FREE_CHARACTERS = 2_000_000


def check_held(characters: int, source: int, place: str) -> None:
    """Refuses a searched field of which all rows together hold too much, for a corpus of `source` characters."""
    if characters > _most_characters(source):
        raise ProgramError(
            f"all rows together hold more than {MAX_GROWTH} times the text that there is",
            place=place,
            remedy="search a shorter field in rows, or use larger windows",
        )


def _most_characters(source: int) -> int:
    return _FREE_CHARACTERS + MAX_GROWTH * source


@dataclass
class Growth:
    """What a step has made so far; `op` is its name, `documents` how many it gets, `source` their characters."""

    op: str
    documents: int
    source: int
    rows: int = 0
    written: int = 0

    def add(self, rows: int, written: int) -> None:
        """Of one document: its rows now, and the characters that the step wrote. Raises ProgramError when too many."""
        self.rows += rows
        self.written += written
        if self.rows > _FREE_ROWS + MAX_ROWS_A_DOCUMENT * self.documents:
            raise ProgramError(
                f"a step makes more than {MAX_ROWS_A_DOCUMENT} rows a document",
                place=self.op,
                remedy="use larger windows",
            )
        if self.written > _most_characters(self.source):
            raise ProgramError(
                f"a step writes more than {MAX_GROWTH} times the text that there is",
                place=self.op,
                remedy="use shorter replacements, smaller tables, or less overlap",
            )


def refused(document: Document, error: Exception) -> BuildError:
    """What a step cannot take ends the candidate, by name, not the study; as in a build."""
    if isinstance(error, IdxoptError):
        return BuildError(f"document {document.id!r}: {error.message}", place=error.place, remedy=error.remedy)
    return BuildError(
        f"document {document.id!r} cannot be transformed: {error}", remedy="leave out this step, or the document"
    )
