"""`enrich entities`: runs of capitalised words, the most frequent first.

A word is a run of letters, digits, inner apostrophes and hyphens; it is capitalised when its first character is an
upper-case letter. A run is capitalised words with one space between them; `of`, `the`, `and`, `de`, `van`, `von` may
stand inside. A run of one word at the beginning of a sentence counts only where the word stands elsewhere within one,
and only with another letter in it. Ties by the first place in the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from idxopt.operators.transform import Context, Transform, adding
from idxopt.program.steps import Entities

_WORD = re.compile(r"[^\W_](?:[^\W_]|['\u2019-](?=[^\W_]))*+")
_INNER = frozenset("of the and de van von".split())
_BEGINS = re.compile(r"(?:^|[.!?:;\u3002\uff01\uff1f]|\n|^[#>*+-]+)[\s\"'(\[*_#>+-]*$")
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
    for start, run in _runs(text):
        name = " ".join(run)
        if len(name) < 2:
            continue
        order.setdefault(name, start)
        (leading if len(run) == 1 and _begins_sentence(text, start) else certain)[name] += 1
    counts = {name: count + leading[name] for name, count in certain.items()}
    return sorted(counts, key=lambda name: (-counts[name], order[name]))[:top]


def _runs(text: str) -> list[tuple[int, list[str]]]:
    runs: list[tuple[int, list[str]]] = []
    run: list[str] = []
    start, end = 0, -1
    for match in _WORD.finditer(text):
        word = match[0]
        adjoining = bool(run) and match.start() == end + 1 and text[end] == " "
        if not adjoining and run:
            runs.append((start, _trimmed(run)))
            run = []
        if word[0].isupper():
            start = match.start() if not run else start
            run.append(word)
        elif run and word in _INNER:
            run.append(word)
        elif run:
            runs.append((start, _trimmed(run)))
            run = []
        end = match.end()
    if run:
        runs.append((start, _trimmed(run)))
    return runs


def _trimmed(run: list[str]) -> list[str]:
    while run[-1] in _INNER:
        run = run[:-1]
    return run


def _begins_sentence(text: str, start: int) -> bool:
    before = text[max(0, start - _LOOK_BACK) : start]
    return start == 0 or _BEGINS.search(before) is not None
