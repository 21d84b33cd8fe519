"""`enrich lead`: the first words or sentences of a text, by rules that an ingest script can follow.

White space is the fixed list of `idxopt.text.identifiers.WHITE_SPACE`. The text is first trimmed of it at both ends;
the result is the beginning of what is left, unchanged.

- words: a word is a run of characters that are no white space; the result ends with word number `words`.
- sentences: a terminator is one of `.!?` or `\u2026\u3002\uff01\uff1f\uff61`. A terminator and all terminators and
  closing signs right behind it end a sentence if one of the run is a CJK terminator, or if white space or the end of
  the text follows. White space with two or more line feeds ends a sentence that has begun. The result ends with
  sentence number `sentences`.

A text with fewer words or sentences is taken whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from idxopt.operators.transform import Context, Transform, adding
from idxopt.program.steps import Lead
from idxopt.text.identifiers import WHITE_SPACE

CJK_TERMINATORS = "\u3002\uff01\uff1f\uff61"
TERMINATORS = ".!?\u2026" + CJK_TERMINATORS
CLOSING = "\"')]}\u00bb\u2019\u201d\u203a\u300d\u300f\u3011\uff09"

_WHITE = "".join(sorted(WHITE_SPACE))
_WORD = re.compile(f"[^{re.escape(_WHITE)}]+")
_EVENT = re.compile(f"[{re.escape(TERMINATORS)}][{re.escape(TERMINATORS + CLOSING)}]*+|[{re.escape(_WHITE)}]++")


def compile_lead(step: Lead, _: Context) -> Transform:
    """The step as a function over rows."""
    return adding(step.field, step.into, _lead(step))


def _lead(step: Lead) -> Callable[[str], str]:
    if step.words is not None:
        count = step.words
        return lambda text: first_words(text, count)
    sentences = step.sentences or 1
    return lambda text: first_sentences(text, sentences)


def first_words(text: str, count: int) -> str:
    """The text up to the end of its word number `count`."""
    start, end = None, 0
    for number, match in enumerate(_WORD.finditer(text), 1):
        start = match.start() if start is None else start
        end = match.end()
        if number == count:
            break
    return text[start or 0 : end]


def first_sentences(text: str, count: int) -> str:
    """The text up to the end of its sentence number `count`."""
    text = text.strip(_WHITE)
    found, begun = 0, 0
    for match in _EVENT.finditer(text):
        start, end = match.span()
        if text[start] in WHITE_SPACE:
            ends = start > begun and match.group().count("\n") >= 2
            stop = start
            begun = end if start == begun else begun
        else:
            ends = (
                end == len(text) or text[end] in WHITE_SPACE or any(sign in CJK_TERMINATORS for sign in match.group())
            )
            stop = end
        if ends:
            found += 1
            begun = end
            if found == count:
                return text[:stop]
    return text
