"""The token streams of corpus tables and of the steps that read them: PRIME's (metadata synthesis), and words.

PRIME's stream is specified by fixed lists, so that an ingest script can make the same one: markup removed (from
Markdown by the rules of `text.markdown_prime`), lower case by code point (`text.identifiers.lowercase`), the code
points of `DELETED` deleted (nothing put in their place), split at `text.identifiers.WHITE_SPACE`, empty tokens dropped.
The words stream is Lucene's standard tokenizer, lower case, without the stop words and without single characters and
bare numbers.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections import Counter
from dataclasses import dataclass
from itertools import compress

from idxopt.operators.markup import plain_of, prime_markup
from idxopt.operators.remembering import once
from idxopt.program.schema import Markup
from idxopt.text.analysis import standard_tokens
from idxopt.text.identifiers import WHITE_IN_PYTHON_ONLY, WHITE_SPACE, lowercase
from idxopt.text.stop_words import STOP_WORDS

__all__ = ["DELETED", "STOP_WORDS", "Places", "prime_places", "prime_terms_of", "prime_tokens", "word_counts"]

DELETED = (
    "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    "\u00a1\u00a6\u00a7\u00a9\u00ab\u00ac\u00ae\u00b0\u00b1\u00b6\u00b7\u00bb\u00bf\u00d7\u00f7"
    "\u2010\u2011\u2012\u2013\u2014\u2015\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u2020\u2021\u2022\u2026"
    "\u2030\u2032\u2033\u2039\u203a\u2044\u20ac\u2122\u2190\u2191\u2192\u2193\u2212\u2264\u2265"
    "\u00ad\u200b\u200c\u200d\u2060\ufeff"
    "\u3001\u3002\u3008\u3009\u300a\u300b\u300c\u300d\u300e\u300f\u3010\u3011\uff01\uff08\uff09\uff0c\uff0e\uff1a\uff1b\uff1f"
)
"""What PRIME's stream deletes: ASCII's 32 signs, the commonest of Latin and CJK text, invisible code points."""

_MAP: dict[int, str | None] = {ord(character): None for character in DELETED} | {
    ord(space): " " for space in WHITE_SPACE
}

_DELETED_IN_ASCII = {ord(character): None for character in DELETED if character.isascii()}
_DELETED_RUN = re.compile(f"[{re.escape(DELETED)}]+")

_MIN_LETTERS = 2
_MOST_WORDS = 200_000


@dataclass(frozen=True, slots=True)
class Places:
    """The distinct tokens of a text in their order: how often each stands there and where first (token number, from 0).

    `length`: how many tokens there are. Equal tokens of all texts are one object, so that many can be kept.
    """

    terms: tuple[str, ...]
    counts: tuple[int, ...]
    first: array[int]
    length: int


def prime_tokens(text: str) -> list[str]:
    """The tokens of a text without markup, in order."""
    text = lowercase(text)
    if any(sign in text for sign in WHITE_IN_PYTHON_ONLY):
        return [token for token in text.translate(_MAP).split(" ") if token]
    # `translate` is fast for ASCII alone
    left = text.translate(_DELETED_IN_ASCII) if text.isascii() else _DELETED_RUN.sub("", text)
    return left.split()


def prime_terms_of(text: str, markup: Markup) -> list[str]:
    """The tokens of a document in PRIME's stream, in order."""
    return prime_tokens(prime_markup(text, markup).plain)


def prime_places(text: str, markup: Markup) -> Places:
    """The distinct tokens of a document in PRIME's stream."""
    return once(f"prime places {markup}", text, lambda text: _places(prime_terms_of(text, markup)))


def _places(tokens: list[str]) -> Places:
    first: dict[str, int] = {}
    counts = Counter(map(first.setdefault, tokens, range(len(tokens))))  # by first place, in the order of `first`
    return Places(tuple(map(sys.intern, first)), tuple(counts.values()), array("I", counts), len(tokens))


def word_counts(text: str, markup: Markup) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """The distinct words of a document, and how often each stands there."""
    return once(f"words {markup}", text, lambda text: _word_counts(text, markup))


def _word_counts(text: str, markup: Markup) -> tuple[tuple[str, ...], tuple[int, ...]]:
    counts = Counter(standard_tokens(lowercase(plain_of(text, markup))))
    words = list(map(_words.__getitem__, counts))
    return tuple(filter(None, words)), tuple(compress(counts.values(), words))


class _Words(dict[str, str]):
    """Token -> the word, one object for all texts, or "" for what is no word; emptied when full."""

    def __missing__(self, token: str) -> str:
        if len(self) >= _MOST_WORDS:
            self.clear()
        is_word = len(token) >= _MIN_LETTERS and token not in STOP_WORDS and not token.isdigit()
        word = self[token] = token if is_word else ""
        return word


_words = _Words()
