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

from idxopt.operators.streams import STOP_WORDS
from idxopt.operators.transform import Context, Transform, adding
from idxopt.program.steps import Entities

_WORD = r"\p{Lu}(?:[^\W_]|['\u2019-](?=[^\W_]))*+"
_RUN = regex.compile(rf"(?<![^\W_]['\u2019-]?){_WORD}(?: (?:(?:of|the|and|de|van|von) )*+{_WORD})*+")
_BEGINS = re.compile(r"(?:^|[.!?:;\u3002\uff01\uff1f]|\n|^[#>*+-]+)[\s\"'(\[*_#>+-]*$")
_WITHOUT_INNER = re.compile("^(?:(?:of|the|and|de|van|von) )+")
_LOOK_BACK = 20


def compile_entities(step: Entities, _: Context) -> Transform:
    """The step as a function over rows."""
    return adding(step.field, step.into, _top(step.top))


def _top(number: int) -> Callable[[str], list[str]]:
    return lambda text: entities(text, number)


def entities(text: str, top: int) -> list[str]:
    """The most frequent runs of capitalised words."""
    certain: Counter[str] = Counter()
    leading: Counter[str] = Counter()
    order: dict[str, int] = {}
    for match in _RUN.finditer(text):
        name, start = match[0], match.start()
        begins = _begins_sentence(text, start)
        first, _, rest = name.partition(" ")
        if begins and rest and first.lower() in STOP_WORDS:
            name, begins = _WITHOUT_INNER.sub("", rest), False
        if len(name) < 2:
            continue
        order.setdefault(name, start)
        (leading if " " not in name and begins else certain)[name] += 1
    counts = {name: count + leading[name] for name, count in certain.items()}
    return sorted(counts, key=lambda name: (-counts[name], order[name]))[:top]


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - _LOOK_BACK) : start]
    return start == 0 or _BEGINS.search(before) is not None
