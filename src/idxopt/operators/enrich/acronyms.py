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
_ACRONYM = rf"([A-Z][A-Z0-9&]{{1,{_MAX_LETTERS - 1}}})s?"
_AFTER = re.compile(rf"\(\s?{_ACRONYM}\s?\)")
_EXPLAINED = re.compile(r"\((?<=[A-Z0-9&s]\s\()([^()\n]{3,200})\)")
_BEFORE = re.compile(rf"(?<![\w-]){_ACRONYM}\s\Z")
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_SKIPPED = frozenset("a an and for in of on the to".split())
_LOOK_BACK = 300


def compile_acronyms(step: Acronyms, _: Context) -> Transform:
    """The step as a function over rows."""
    return adding(step.field, step.into, acronyms)


def acronyms(text: str) -> list[str]:
    """`Expansion (ACRONYM)` for each one that the text defines."""
    if "(" not in text:
        return []
    found: list[tuple[int, str]] = []
    for match in _AFTER.finditer(text):
        start = _expansion_start(text, max(0, match.start() - _LOOK_BACK), match.start(), match[1])
        if start is not None:
            found.append((start, f"{_one_line(text[start : match.start()])} ({match[1]})"))
    for match in _EXPLAINED.finditer(text):
        before = _BEFORE.search(text, max(0, match.start() - _MAX_LETTERS - 2), match.start())
        if before is None:
            continue
        start = _expansion_start(text, match.start(1), match.end(1), before[1])
        if start is not None and not text[match.start(1) : start].strip():
            found.append((before.start(), f"{_one_line(match[1])} ({before[1]})"))
    return list(dict.fromkeys(name for _, name in sorted(found)))


def _expansion_start(text: str, start: int, end: int, acronym: str) -> int | None:
    """Where the words that end at `end` begin whose first letters are those of the acronym."""
    letters = [letter for letter in acronym.lower() if letter != "&"]
    backwards = text[start:end][::-1]  # a word is one from either side, and few are looked at
    position: int | None = None
    for match in _WORD.finditer(backwards):
        word = match[0]
        if position is None and backwards[: match.start()].strip(" \t\r\n\"'\u201d\u2019*_`"):
            return None
        if word[-1].lower() == letters[-1]:
            letters.pop()
            position = end - match.end()
            if not letters:
                return position
        elif position is None or word[::-1].lower() not in _SKIPPED:
            return None
    return None


def _one_line(text: str) -> str:
    return " ".join(text.split()).strip("\"'\u201c\u201d\u2018\u2019*_` ")
