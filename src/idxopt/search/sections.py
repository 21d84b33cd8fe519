"""The texts that a reranker scores: the sections of a document, in pieces that fit the model. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from idxopt.compiler.fields import stored_path
from idxopt.models.ports import Tokenizer
from idxopt.operators.enrich.heading_tree import tree_sections
from idxopt.operators.paths import value_at
from idxopt.operators.row import text_of
from idxopt.program.effects import view_fields
from idxopt.program.schema import Markup, Program, Rerank
from idxopt.text.analysis import standard_spans
from idxopt.text.structure import plain_text

PAIR_TOKENS = 4
"""Special tokens around a query and a text, at most."""

TOKENS_A_WORD = 1.5
"""Upper estimate of a word's tokens, where a model's tokenizer is not known."""

_LEAST = 16
_OVERLAP = 4


@dataclass(frozen=True, slots=True)
class Unit:
    """One section of a field: its heading path, its span (code points), and its text without markup."""

    path: tuple[str, ...]
    start: int
    end: int
    plain: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A text to score; `start` to `end` is where it is in the field."""

    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Places:
    """Where the stored rows of the primary view keep what is scored, and what is handed over instead (None: that)."""

    field: str
    context: str | None
    markup: Markup


def places(program: Program, rerank: Rerank) -> Places:
    """From the program alone."""
    fields = view_fields(program, program.views[program.primary])
    context = rerank.context
    return Places(
        field=stored_path(program, program.primary, rerank.field, fields),
        context=None if context is None else stored_path(program, program.primary, context, fields),
        markup=program.source.markup,
    )


def text_at(source: Mapping[str, Any], path: str) -> str:
    """The text of a stored row at a path, empty where there is none."""
    return text_of(value_at(source, path))


@lru_cache(maxsize=512)
def units(text: str, markup: Markup, unit: str, level: int) -> tuple[Unit, ...]:
    """The sections of a text, as `enrich heading_tree` cuts them; as `document`, all of it. Those without words are
    left out.
    """
    spans: list[tuple[tuple[str, ...], int, int]] = [((), 0, len(text))]
    if unit == "section":
        spans = [(one.path, one.start, one.end) for one in tree_sections(text, markup, level, level)]
    found = (Unit(path, start, end, plain_text(text[start:end], markup)) for path, start, end in spans)
    return tuple(one for one in found if one.plain.strip())


class Cutter:
    """Cuts sections longer than a reranker's window into windows that overlap by a quarter.

    `max_tokens`: of a pair of query and text, None: any length. Without a tokenizer words are counted instead.
    """

    def __init__(self, query: str, max_tokens: int | None, tokenizer: Tokenizer | None, markup: Markup) -> None:
        self._tokenizer = tokenizer
        self._markup = markup
        self._size: int | None = None
        if max_tokens is not None:
            room = max_tokens - PAIR_TOKENS
            if tokenizer is None:
                room = int(room / TOKENS_A_WORD)
            self._size = max(_LEAST, room - len(self._spans(query)))

    def pieces(self, text: str, unit: Unit) -> list[Piece]:
        """The section whole where it fits, else its windows."""
        whole = [Piece(unit.plain, unit.start, unit.end)]
        if self._size is None or len(self._spans(unit.plain)) <= self._size:
            return whole
        own = text[unit.start : unit.end]
        spans = self._spans(own)
        pieces = []
        for first in range(0, len(spans), self._size - self._size // _OVERLAP):
            window = spans[first : first + self._size]
            start, end = window[0][0], window[-1][1]
            plain = plain_text(own[start:end], self._markup)
            if plain.strip():
                pieces.append(Piece(plain, unit.start + start, unit.start + end))
            if first + self._size >= len(spans):
                break
        return pieces or whole

    def _spans(self, text: str) -> Sequence[tuple[int, int]]:
        return self._tokenizer.spans(text) if self._tokenizer is not None else list(standard_spans(text))


def matching(sections: Sequence[Unit], number: int, others: Sequence[Unit]) -> Unit | None:
    """The section of another text under the same headings as section `number`; of several, the one at its place."""
    path = sections[number].path
    place = sum(one.path == path for one in sections[:number])
    same = [one for one in others if one.path == path]
    return same[place] if place < len(same) else None
