"""`enrich acronyms`: acronyms with their expansions, as the text itself defines them.

Found: `Elastic Block Store (EBS)`, and `EBS (Elastic Block Store)`. The letters of the acronym must be the first
letters of the words before it (of the words inside the parentheses), one word a letter; a word may be skipped when it
is one of `and`, `of`, `the`, `for`, `in`, `on`, `to`, `a`, `an`, and parts of a hyphenated word count as words. The
result lists `Elastic Block Store (EBS)` once for each acronym and expansion, in the order of the text.
"""

from __future__ import annotations

import re

from idxopt.operators.transform import Context, Transform, adding
from idxopt.program.steps import Acronyms

_MAX_LETTERS = 10
_AFTER = re.compile(rf"\(\s?([A-Z][A-Z0-9&]{{1,{_MAX_LETTERS - 1}}})s?\s?\)")
_BEFORE = re.compile(rf"(?<![\w-])([A-Z][A-Z0-9&]{{1,{_MAX_LETTERS - 1}}})s?\s\(([^()\n]{{3,200}})\)")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_SKIPPED = frozenset("a an and for in of on the to".split())
_LOOK_BACK = 300


def compile_acronyms(step: Acronyms, _: Context) -> Transform:
    """The step as a function over rows."""
    return adding(step.field, step.into, acronyms)


def acronyms(text: str) -> list[str]:
    """`Expansion (ACRONYM)` for each one that the text defines."""
    found: list[tuple[int, str]] = []
    for match in _AFTER.finditer(text):
        start = _expansion_start(text, max(0, match.start() - _LOOK_BACK), match.start(), match[1])
        if start is not None:
            found.append((start, f"{_one_line(text[start : match.start()])} ({match[1]})"))
    for match in _BEFORE.finditer(text):
        start = _expansion_start(text, match.start(2), match.end(2), match[1])
        if start is not None and not text[match.start(2) : start].strip():
            found.append((match.start(), f"{_one_line(match[2])} ({match[1]})"))
    return list(dict.fromkeys(name for _, name in sorted(found)))


def _expansion_start(text: str, start: int, end: int, acronym: str) -> int | None:
    """Where the words that end at `end` begin whose first letters are those of the acronym."""
    letters = [letter for letter in acronym.lower() if letter != "&"]
    words = list(_WORD.finditer(text, start, end))
    if not words or text[words[-1].end() : end].strip(" \t\r\n\"'\u201d\u2019*_`"):
        return None
    position: int | None = None
    while letters and words:
        word = words.pop()
        if word[0][0].lower() == letters[-1]:
            letters.pop()
            position = word.start()
        elif word[0].lower() not in _SKIPPED or position is None:
            return None
    return position if not letters else None


def _one_line(text: str) -> str:
    return " ".join(text.split()).strip("\"'\u201c\u201d\u2018\u2019*_` ")
