"""Sentences and paragraphs as spans that partition a text. Rules for prose in European and CJK scripts; linear time."""

from __future__ import annotations

import re
from itertools import pairwise

Span = tuple[int, int]

_CLOSING = "\"'\u2019\u201d\u00bb)\\]}"
_CJK_STOPS = r"\u3002\uff01\uff1f\uff61"
_STOPS = r".!?\u2026"
_LINE_END = r"(?:(?<=\r)\n|(?<=\n)|(?<=\r)(?!\n))"  # the rest of a line break behind its first character
_BLANK_LINES = rf"{_LINE_END}(?:[ \t]*+(?:\r\n|\n|\r))++"

# Both patterns begin with a set of characters, which `re` finds quickly. No sentence ends where a stop is followed by
# anything but white space, or by white space within a line and a small ASCII letter: such stops do not even match.
# A run of stops is looked at from its first one only: linear.
_TERMINATOR = re.compile(
    rf"[{_STOPS}{_CJK_STOPS}\r\n](?:"
    rf"(?<=[{_STOPS}])(?<![{_STOPS}].)(?P<more>[{_STOPS}]*+)[{_CLOSING}]*+"
    r"(?P<stop>[^\S\r\n]++(?![a-z\r\n])|[^\S\r\n]*+[\r\n]\s*+|\Z)"
    rf"|(?<=[{_CJK_STOPS}])(?P<cjk>[{_CJK_STOPS}]*+[{_CLOSING}\u300d\u300f\u3011\uff09]*+)\s*+"
    rf"|(?P<break>{_BLANK_LINES}\s*+)"
    rf"|{_LINE_END}(?P<item>[ \t]*+(?=(?:[-*+\u2022>|]|#{{1,6}}|\d{{1,3}}[.)])[ \t]))"
    ")"
)
_PARAGRAPH_BREAK = re.compile(rf"[\r\n]{_BLANK_LINES}")
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

_LONGER = 1 + max(map(len, ABBREVIATIONS | BEFORE_NUMBERS))
"""Letters in a row that no abbreviation has."""


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
        kind, end = match.lastgroup, match.end()
        if kind == "stop":
            if not _ends_sentence(text, match, end):
                continue
        else:
            end = match.start("item") if kind == "item" else end
            if text[start:end].isspace():
                continue
        spans.append((start, end))
        start = end
    if start < len(text):
        spans.append((start, len(text)))
    return spans


def paragraph_spans(text: str) -> list[Span]:
    """Start and end of each paragraph with the blank lines behind it; together they are the whole text."""
    if "\n" not in text and "\r" not in text:
        return [(0, len(text))] if text else []
    first = len(text) - len(text.lstrip())
    ends = [match.end() for match in _PARAGRAPH_BREAK.finditer(text, first) if match.end() < len(text)]
    return [(start, end) for start, end in pairwise([0, *ends, len(text)]) if end > start]


def _ends_sentence(text: str, match: re.Match[str], end: int) -> bool:
    if end == len(text):
        return True
    more, space = match["more"], match["stop"]
    if len(space) > 1 and _PARAGRAPH_BREAK.search(space):
        return True
    following = text[end]
    if following.islower():
        return False
    stop = match.start()
    return bool(more) or text[stop] != "." or not _is_abbreviation(text, stop, following)


def _is_abbreviation(text: str, stop: int, following: str) -> bool:
    if text[max(0, stop - _LONGER) : stop].isalpha() and stop >= _LONGER:
        return False
    before = text[max(0, stop - _LOOK_BACK) : stop]
    word = before[before.rfind(" ") + 1 :]
    if not word.isalpha():
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
