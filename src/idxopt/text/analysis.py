"""Lucene's `standard` tokenizer and its `standard`, `english`, `whitespace` and `keyword` analyzers, token for token.

The rules are UAX #29 word boundaries as Lucene's StandardTokenizer applies them: it keeps tokens of letters, digits,
kana, ideographs, hangul, South-East Asian runs and emoji, and matches inside a window of 255 UTF-16 units, so that a
longer token is cut and what follows the cut is tokenised afresh. All functions take any `str` and take linear time.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from typing import Any

import regex

from idxopt.errors import ProgramError
from idxopt.text.porter import stem

Analyzer = Callable[[str], list[str]]

MAX_TOKEN = 255
"""UTF-16 units in a token of the standard and whitespace tokenizers (Lucene's default)."""

ENGLISH_STOP_WORDS = frozenset(
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with".split()
)
"""The 33 stop words of Lucene's EnglishAnalyzer."""

_CACHE_SIZE = 200_000
_SAFE_LENGTH = MAX_TOKEN // 2  # no token of so many code points passes MAX_TOKEN UTF-16 units


def _patterns() -> tuple[Any, Any]:
    """A token (group 1; a match without it is a run of connectors, so that it is not scanned again), and such a run.

    Quantifiers are possessive: the classes on both sides of each are disjoint, so this changes nothing but time.
    """
    extend = r"[\p{WB=Extend}\p{WB=Format}\p{WB=ZWJ}]*+"

    def unit(characters: str) -> str:
        return f"(?:{characters}{extend})"

    letter, hebrew = unit(r"[\p{WB=ALetter}\p{WB=Hebrew_Letter}]"), unit(r"\p{WB=Hebrew_Letter}")
    digit, join, kana = unit(r"\p{WB=Numeric}"), unit(r"\p{WB=ExtendNumLet}"), unit(r"\p{WB=Katakana}")
    mid_letter = unit(r"[\p{WB=MidLetter}\p{WB=MidNumLet}\p{WB=Single_Quote}]")
    mid_digit = unit(r"[\p{WB=MidNum}\p{WB=MidNumLet}\p{WB=Single_Quote}]")
    letters = rf"(?:{hebrew}(?:\p{{WB=Double_Quote}}{extend}{hebrew})++|{letter})"
    word = rf"(?:{letters}(?:{mid_letter}?+{letters})*+|{digit}(?:{mid_digit}?+{digit})*+)"
    run = rf"(?:{word}++|{kana}++)"
    pictograph = r"\p{Extended_Pictographic}[\p{WB=Extend}\p{WB=Format}]*+"
    token = regex.compile(
        rf"({join}*+{run}(?:{join}++{run})*+{join}*+"
        rf"|[\p{{Script=Han}}\p{{Script=Hiragana}}]{extend}"
        rf"|\p{{WB=Regional_Indicator}}{{2}}{extend}"
        r"|\p{LB=SA}++"
        rf"|{pictograph}(?:\p{{WB=ZWJ}}{pictograph})*+)"
        rf"|{join}++"
    )
    return token, regex.compile(rf"{join}++")


_TOKEN, _CONNECTORS = _patterns()


def standard_spans(text: str) -> Iterator[tuple[int, int]]:
    """Start and end, in code points, of each token of Lucene's StandardTokenizer, in order."""
    position = 0
    while position < len(text):
        for match in _TOKEN.finditer(text, position):
            start, end = match.span(1)
            if start < 0:
                continue
            if end - start > _SAFE_LENGTH and _utf16_length(text[start:end]) > MAX_TOKEN:
                position = yield from _cut_spans(text, start, end)
                break
            yield start, end
        else:
            return


def _cut_spans(text: str, position: int, end: int) -> Generator[tuple[int, int], None, int]:
    """Spans from `position` on, each matched inside its own window of MAX_TOKEN units; returns where it stopped."""
    while position < end:
        window = _window_end(text, position)
        match = _TOKEN.search(text, position, window)
        if match is None:
            position = window
        elif match.start() > position:
            position = match.start()
        elif match.start(1) < 0:
            stop = _CONNECTORS.match(text, position).end()
            position = stop if stop < window else max(position + 1, stop - MAX_TOKEN)
        else:
            yield match.span(1)
            position = match.end()
    return position


def _utf16_length(text: str) -> int:
    return len(text) if text.isascii() else len(text) + sum(character > "\uffff" for character in text)


def _window_end(text: str, start: int) -> int:
    """The end of the longest run of whole code points from `start` with at most MAX_TOKEN UTF-16 units."""
    window = text[start : start + MAX_TOKEN]
    end = start + len(window)
    excess = _utf16_length(window) - MAX_TOKEN
    while excess > 0:
        end -= 1
        excess -= 2 if text[end] > "\uffff" else 1
    return end


def standard_tokens(text: str) -> list[str]:
    """Tokens of Lucene's StandardTokenizer as written (not lowercased), in order."""
    tokens = [token for token in _TOKEN.findall(text) if token]
    if max(map(len, tokens), default=0) > _SAFE_LENGTH:
        return [text[start:end] for start, end in standard_spans(text)]
    return tokens


class _TermCache(dict[str, str]):
    """Token -> indexed term ("" for none), computed once; emptied when full."""

    def __init__(self, term: Callable[[str], str]) -> None:
        super().__init__()
        self._term = term

    def __missing__(self, token: str) -> str:
        if len(self) >= _CACHE_SIZE:
            self.clear()
        term = self[token] = self._term(token)
        return term


def lower(token: str) -> str:
    """Java's `Character.toLowerCase`, code point by code point (no final sigma; U+0130 becomes `i`)."""
    return token.lower() if token.isascii() else "".join(character.lower()[0] for character in token)


def _english_term(token: str) -> str:
    if len(token) > 2 and token[-1] in "sS" and token[-2] in "'\u2019\uff07":
        token = token[:-2]
    token = lower(token)
    return "" if token in ENGLISH_STOP_WORDS else stem(token)


_standard_terms = _TermCache(lower)
_english_terms = _TermCache(_english_term)


def _standard(text: str) -> list[str]:
    return list(map(_standard_terms.__getitem__, standard_tokens(text)))


def _english(text: str) -> list[str]:
    return [term for term in map(_english_terms.__getitem__, standard_tokens(text)) if term]


def _keyword(text: str) -> list[str]:
    return [text]


ANALYZERS: Mapping[str, Analyzer] = {"english": _english, "keyword": _keyword, "standard": _standard}
"""Every analyzer that is exact, by the name that OpenSearch and Elasticsearch know it by."""


def analyzer(name: str) -> Analyzer:
    """The analyzer of that name; ProgramError for any other name."""
    try:
        return ANALYZERS[name]
    except KeyError:
        known = ", ".join(sorted(ANALYZERS))
        raise ProgramError(f"unknown analyzer {name!r}", remedy=f"use one of: {known}") from None
