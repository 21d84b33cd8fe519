"""`enrich entities`: runs of capitalised words, the most frequent first.

A word is a run of letters, digits, inner apostrophes and hyphens; it is capitalised when its first character is an
upper-case letter. A run is capitalised words with one space between them; `of`, `the`, `and`, `de`, `van`, `von` may
stand inside. At the beginning of a sentence a function word before other words is left out, and a run of one word
counts only where the word stands elsewhere within a sentence. Runs of one character are left out. Ties by the first
place in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

import regex

from idxopt.operators.remembering import once
from idxopt.operators.streams import STOP_WORDS
from idxopt.operators.transform import Context, Transform, adding
from idxopt.program.steps import Entities
from idxopt.text.identifiers import WHITE_IN_PYTHON_ONLY, WHITE_SPACE

_INNER = "(?:of|the|and|de|van|von) "
_MORE = rf"(?: (?:{_INNER})*+{{word}})*+"
_ASCII_WORD = "[A-Z][A-Za-z0-9]*+(?:['-][A-Za-z0-9]++)*+"
_ASCII_RUN = re.compile(
    rf"[A-Z](?<![A-Za-z0-9][A-Z])(?<![A-Za-z0-9]['-][A-Z])"
    rf"[A-Za-z0-9]*+(?:['-][A-Za-z0-9]++)*+{_MORE.format(word=_ASCII_WORD)}"
)
"""Runs of a text in ASCII, as `_RUN` finds them."""
_WORD = r"\p{Lu}[^\W_]*+(?:['\u2019-][^\W_]++)*+"
_RUN = regex.compile(rf"(?<![^\W_]['\u2019-]?){_WORD}{_MORE.format(word=_WORD)}")
_WITHOUT_INNER = re.compile(f"^(?:{_INNER})+")
_LOOK_BACK = 20
_ENDS = ".!?:;\u3002\uff01\uff1f"
_BETWEEN = WHITE_SPACE + WHITE_IN_PYTHON_ONLY + "\"'([*_#>+-"
"""What may stand between the end of a sentence and the first word of the next."""


def compile_entities(step: Entities, _: Context) -> Transform:
    """The step as a function over rows."""
    return adding(step.field, step.into, _top(step.top))


def _top(number: int) -> Callable[[str], list[str]]:
    return lambda text: list(once("entities", text, _ranked)[:number])


def entities(text: str, top: int) -> list[str]:
    """The most frequent runs of capitalised words."""
    return list(_ranked(text)[:top])


def _ranked(text: str) -> tuple[str, ...]:
    """All of them."""
    runs = (_ASCII_RUN if text.isascii() else _RUN).finditer(text)
    names: list[str] = []
    certain: set[str] = set()
    for match in runs:
        name = match[0]
        if " " in name:
            first, _, rest = name.partition(" ")
            if first.lower() in STOP_WORDS and _begins_sentence(text, match.start()):
                name = _WITHOUT_INNER.sub("", rest)
            certain.add(name)
        elif name not in certain and not _begins_sentence(text, match.start()):
            certain.add(name)
        names.append(name)
    counts = Counter(names)
    found = [name for name in counts if name in certain and len(name) > 1]
    return tuple(sorted(found, key=counts.__getitem__, reverse=True))


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - _LOOK_BACK) : start]
    end = before.rstrip(_BETWEEN)
    return not end or end[-1] in _ENDS or "\n" in before[len(end) :]
