"""What makes a text a query: its content words, what is cleaned from it, and what must never get into a file."""

from __future__ import annotations

import re

from idxopt.text.analysis import analyzer, standard_tokens
from idxopt.text.identifiers import lowercase
from idxopt.text.stop_words import STOP_WORDS

LEAST_WORDS, MOST_WORDS = 3, 12
"""Content words of a query."""

_english = analyzer("english")
_NUMBERING = re.compile(
    r"^(?:(?:step|chapter|section|part|appendix|figure|table)\s+)?(?:\d+(?:\.\d+)*|[A-Za-z]|[ivxIVX]+)[.):]\s+"
    r"|^(?:step|chapter|section|part|appendix|figure|table)\s+\d+(?:\.\d+)*[.:]?\s+",
    re.IGNORECASE,
)
_BEFORE_MARK = re.compile(r"\s+(?=[?!])")
_ENDS = " \t\r\n.,:;!\"'`*_#-\u2013\u2014"
_MAIL = re.compile(r"[^\s@]+@[^\s@]+\.[^\s@]+")
_LONG_NUMBER = re.compile(r"\d(?:[ ().+/-]{0,2}\d){6,}")


def cleaned(text: str) -> str:
    """On one line, without numbering (`2.1`, `Step 3:`) at the start and punctuation at the ends."""
    return _BEFORE_MARK.sub("", _NUMBERING.sub("", " ".join(text.split())).strip(_ENDS))


def content_words(text: str) -> list[str]:
    """The words that are no stop words, as written and in order."""
    return [word for word in standard_tokens(text) if lowercase(word) not in STOP_WORDS]


def content_terms(text: str) -> frozenset[str]:
    """What the analyzer `english` makes of the content words: equal for texts that differ in case, order, endings."""
    return frozenset(_english(" ".join(content_words(text))))


def is_personal(text: str) -> bool:
    """Whether it looks like an e-mail address, or has seven digits or more in a row (telephone, card, account)."""
    return _MAIL.search(text) is not None or _LONG_NUMBER.search(text) is not None


def jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    """Shared terms / all terms; 0 where both are empty."""
    every = len(one | other)
    return len(one & other) / every if every else 0.0
