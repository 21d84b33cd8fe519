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
from itertools import islice

from idxopt.operators.transform import Context, Transform, adding
from idxopt.program.steps import Lead
from idxopt.text.identifiers import WHITE_IN_PYTHON_ONLY, WHITE_SPACE

CJK_TERMINATORS = "\u3002\uff01\uff1f\uff61"
TERMINATORS = ".!?\u2026" + CJK_TERMINATORS
CLOSING = "\"')]}\u00bb\u2019\u201d\u203a\u300d\u300f\u3011\uff09"

_WHITE = "".join(sorted(WHITE_SPACE))
_IN_LINE = re.escape(_WHITE.replace("\n", ""))
_ANY_WHITE = re.escape(_WHITE)
_WORD = re.compile(f"[^{_ANY_WHITE}]+")
_OTHERS = re.escape("".join(sign for sign in TERMINATORS if sign not in CJK_TERMINATORS))
_SIGNS = re.escape(TERMINATORS + CLOSING)
_END = re.compile(
    rf"[{re.escape(TERMINATORS)}\n](?:"
    rf"(?<=\n)[{_IN_LINE}]*+\n[{_ANY_WHITE}]*+()"
    rf"|(?<=[{CJK_TERMINATORS}])[{_SIGNS}]*+()[{_ANY_WHITE}]*+"
    rf"|(?<!\n)[{re.escape(CLOSING)}{_OTHERS}]*+"
    rf"(?:(?:[{CJK_TERMINATORS}][{_SIGNS}]*+|(?=[{_ANY_WHITE}]|\Z))()[{_ANY_WHITE}]*+)?+)"
)
"""The end of a sentence, with the white space behind it: group 1 of a blank line, group 2 or 3 behind terminators.

Terminators that end nothing match without a group, so that their run is passed over at once.
"""


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
    if any(sign in text for sign in WHITE_IN_PYTHON_ONLY):
        return _first_words_by_rule(text, count)
    words = text.split(None, count)
    behind = len(words[count]) if len(words) > count else 0
    return text[: len(text) - behind].strip(_WHITE)


def _first_words_by_rule(text: str, count: int) -> str:
    text = text.strip(_WHITE)
    last = next(islice(_WORD.finditer(text), count - 1, None), None)
    return text if last is None else text[: last.end()]


def first_sentences(text: str, count: int) -> str:
    """The text up to the end of its sentence number `count`."""
    text = text.strip(_WHITE)
    for match in _END.finditer(text):
        kind = match.lastindex
        if kind is not None:
            count -= 1
            if count == 0:
                return text[: match.start()].rstrip(_WHITE) if kind == 1 else text[: match.start(kind)]
    return text
