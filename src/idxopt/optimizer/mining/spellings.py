"""Which other spellings a word may have: British and American forms, accents. Pure rules over one word."""

from __future__ import annotations

import re
from collections.abc import Iterator

from idxopt.operators.normalize import strip_accents

_ENDINGS = r"(?=(?:s|ed|ing|ings|ful|fully|less|al|ally|able|ably|ist|ists|ite|ites|er|ers|hood|ly)?$)"
_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(rf"(?<=[a-z]{{3}})our{_ENDINGS}"), "or"),  # colour, behavioural
    (re.compile(r"(?<=[a-z]{3})is(?=(?:e|es|ed|er|ers|ing|ation|ations|ational)$)"), "iz"),  # organise
    (re.compile(r"(?<=[a-z]{3})ys(?=(?:e|ed|er|ers|ing)$)"), "yz"),  # analyse
    (re.compile(r"(?<=[a-z]{2}[bcdt])re(?=(?:s|d)?$)"), "er"),  # centre, fibre
    (re.compile(r"(?<=[a-z]{2}[bt])re(?=(?:glass|board|line)$)"), "er"),
    (re.compile(r"(?<=[a-z]{3})ogue(?=s?$)"), "og"),  # catalogue
    (re.compile(r"(?<=[a-z]{2}[aeiou]n)ce(?=(?:s|less)?$)"), "se"),  # defence
    (re.compile(r"ae"), "e"),  # anaemia
    (re.compile(r"oe(?=[a-z]{3}|a$|as$|ic$|al$|ba$)"), "e"),  # oedema, diarrhoea; not poets
    (re.compile(r"ph(?=ur|ate|ide|onamide)"), "f"),  # sulphur
    (re.compile(r"amme(?=s?$)"), "am"),  # programme
    (re.compile(r"(?<=[a-z]{3})ement(?=s?$)"), "ment"),  # judgement
    (re.compile(r"^grey(?=s|ed|ish)?"), "gray"),
    (re.compile(r"(?<=umin)ium$"), "um"),  # aluminium
)
_LEAST_LETTERS = 4


def other_spellings(word: str) -> Iterator[str]:
    """Spellings that `word` (lower case) would have by one rule; whether they are words, the corpus must say."""
    if len(word) < _LEAST_LETTERS:
        return
    plain = strip_accents(word)
    if plain != word:
        yield plain
    for pattern, other in _RULES:
        changed = pattern.sub(other, plain)
        if changed != plain and len(changed) >= _LEAST_LETTERS:
            yield changed
