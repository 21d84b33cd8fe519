"""Sentences and paragraphs as spans that partition a text. Rules for prose in European and CJK scripts; linear time."""

from __future__ import annotations

import re
from itertools import pairwise

Span = tuple[int, int]

_CLOSING = "\"'\u2019\u201d\u00bb)\\]}"
_TERMINATOR = re.compile(
    rf"(?P<cjk>[\u3002\uff01\uff1f\uff61]++[{_CLOSING}\u300d\u300f\u3011\uff09]*+)\s*+"
    rf"|(?P<stop>[.!?\u2026]++)[{_CLOSING}]*+(?P<space>\s*+)"
    r"|(?P<break>(?:\r\n|\n|\r)(?:[ \t]*+(?:\r\n|\n|\r))++\s*+)"
    r"|(?:\r\n|\n|\r)(?P<item>[ \t]*+(?=(?:[-*+\u2022>|]|#{1,6}|\d{1,3}[.)])[ \t]))"
)
_PARAGRAPH_BREAK = re.compile(r"(?:\r\n|\n|\r)(?:[ \t]*+(?:\r\n|\n|\r))++")
_WORD_BEFORE = re.compile(r"(?:[^\W\d_]\.?)+$")
_NUMBER_BEFORE = re.compile(r"(?:^|[\r\n])[ \t]*\d{1,3}$")
_LOOK_BACK = 24

_ABBREVIATION_LIST = (
    "adj al approx apr aug ave blvd bros ca capt cf ch co col corp dec dept dr ed eds eq eqs est etc ex feb fig "
    "figs gen  gov hon inc jan jr jul jun lt ltd mar messrs mr mrs ms mt nov oct op p pp ph prof pt ref refs resp "
    "rev sec sect sen  sep sept sgt sr st ste univ viz vol vols vs e.g i.e a.m p.m u.s u.k u.n ph.d b.sc m.sc"
)
ABBREVIATIONS = frozenset(_ABBREVIATION_LIST.split())
"""Words, in lower case, whose full stop ends no sentence. Those in ENDING do when a capital follows."""

ENDING = frozenset(["etc", "inc", "ltd", "co", "corp", "jr", "sr", "a.m", "p.m", "u.s", "u.k", "u.n", "ph.d", "al"])
"""Abbreviations that often end a sentence too."""

BEFORE_NUMBERS = frozenset(["no", "nos", "art", "para", "table", "tab", "line"])
"""Words whose full stop ends no sentence when a digit follows."""


def sentence_spans(text: str) -> list[Span]:
    """Start and end of each sentence with the white space behind it; together they are the whole text.

    A sentence ends behind `.`, `!`, `?`, an ellipsis and closing quotes or brackets when white space or the end follows
    and the next character is no lower-case letter; not behind abbreviations, initials (`J. Smith`) and the number of a
    list item. It ends behind a CJK full stop at once, at a blank line, and before a line that begins a list item, a
    quote, a heading or a table row.
    """
    spans = []
    start = 0
    for match in _TERMINATOR.finditer(text):
        end = match.end()
        if match["stop"] is not None and not _ends_sentence(text, match):
            continue
        if match["item"] is not None:
            end = match.start("item")
        if not text[start:end].isspace() and end > start:
            spans.append((start, end))
            start = end
    if start < len(text):
        spans.append((start, len(text)))
    return spans


def paragraph_spans(text: str) -> list[Span]:
    """Start and end of each paragraph with the blank lines behind it; together they are the whole text."""
    first = len(text) - len(text.lstrip())
    ends = [match.end() for match in _PARAGRAPH_BREAK.finditer(text, first) if match.end() < len(text)]
    return [(start, end) for start, end in pairwise([0, *ends, len(text)]) if end > start]


def _ends_sentence(text: str, match: re.Match[str]) -> bool:
    following = text[match.end() : match.end() + 1]
    if not following or _PARAGRAPH_BREAK.search(match["space"]):
        return True
    if not match["space"] or following.islower():
        return False
    return match["stop"] != "." or not _is_abbreviation(text, match.start(), following)


def _is_abbreviation(text: str, stop: int, following: str) -> bool:
    before = text[max(0, stop - _LOOK_BACK) : stop]
    if _NUMBER_BEFORE.search(before):
        return True
    found = _WORD_BEFORE.search(before)
    if not found:
        return False
    word = found.group()
    if len(word) == 1 and word.isupper() and word != "I":
        return True
    word = word.lower()
    if word in BEFORE_NUMBERS:
        return following.isdigit()
    return word in ABBREVIATIONS and not (word in ENDING and following.isupper())
