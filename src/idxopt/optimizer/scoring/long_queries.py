"""Queries of more terms than engines take: cut for each leg to their rarest words, as a live search cuts them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from idxopt.compiler.lowered import Leg
from idxopt.optimizer.scoring.fields import Field, QueryTerms
from idxopt.search.clauses import cut_to_rarest, words_of

MAX_CLAUSES = 1024
"""Terms times fields that an engine takes in one query, unless its setting says otherwise."""


class LongQueries:
    """The queries that some leg may have to cut, with what was cut already."""

    def __init__(self, texts: Sequence[str]) -> None:
        self._words = {place: len(words_of(text)) for place, text in enumerate(texts)}
        self._texts = texts
        self._longest = max(self._words.values(), default=0)
        self._made: dict[tuple[tuple[str, str], ...], Mapping[int, str]] = {}

    def cut(
        self, leg: Leg, key: tuple[tuple[str, str], ...], fields: Mapping[str, tuple[Field, QueryTerms]]
    ) -> Mapping[int, str]:
        """The text by place of each query that is cut in this leg; empty for nearly all.

        `fields`: what the leg searches, by path; `key` says the same of their contents and analyzers.
        """
        if self._longest * len(leg.fields) <= MAX_CLAUSES:
            return {}
        if key not in self._made:
            self._made[key] = {
                place: self._shortened(self._texts[place], leg, fields)
                for place, words in self._words.items()
                if words * len(leg.fields) > MAX_CLAUSES
            }
        return self._made[key]

    def _shortened(self, text: str, leg: Leg, fields: Mapping[str, tuple[Field, QueryTerms]]) -> str:
        frequencies = {path: terms.frequencies(field, text) for path, (field, terms) in fields.items()}
        return cut_to_rarest(text, leg, frequencies, MAX_CLAUSES)
