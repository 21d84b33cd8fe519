"""The token streams of corpus tables and of the steps that read them: PRIME's (metadata synthesis), and words.

PRIME's stream is specified by fixed lists, so that an ingest script can make the same one: markup removed (from
Markdown by the rules of `text.markdown_prime`), lower case by code point (`text.identifiers.lowercase`), the code
points of `DELETED` deleted (nothing put in their place), split at `text.identifiers.WHITE_SPACE`, empty tokens dropped.
The words stream is Lucene's standard tokenizer, lower case, without the stop words and without single characters and
bare numbers.
"""

from __future__ import annotations

import sys

from idxopt.operators.markup import parsed_markup, prime_markup
from idxopt.operators.remembering import once
from idxopt.program.schema import Markup
from idxopt.text.analysis import standard_tokens
from idxopt.text.identifiers import WHITE_SPACE, lowercase
from idxopt.text.stop_words import STOP_WORDS

__all__ = ["DELETED", "STOP_WORDS", "prime_terms_of", "prime_tokens", "words_of"]

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

_MIN_LETTERS = 2


def prime_tokens(text: str) -> list[str]:
    """The tokens of a text without markup, in order."""
    return [token for token in lowercase(text).translate(_MAP).split(" ") if token]


def prime_terms_of(text: str, markup: Markup) -> list[str]:
    """The tokens of a document in PRIME's stream, in order."""
    return once(f"prime terms {markup}", text, lambda text: _interned(prime_tokens(prime_markup(text, markup).plain)))


def words_of(text: str, markup: Markup) -> list[str]:
    """The words of a document, in order."""
    return once(f"words {markup}", text, lambda text: _interned(_words(text, markup)))


def _interned(tokens: list[str]) -> list[str]:
    """Equal tokens as one object: where lists are kept, they then take a few bytes a token."""
    return list(map(sys.intern, tokens))


def _words(text: str, markup: Markup) -> list[str]:
    words = standard_tokens(lowercase(parsed_markup(text, markup).plain))
    return [word for word in words if len(word) >= _MIN_LETTERS and word not in STOP_WORDS and not word.isdigit()]
