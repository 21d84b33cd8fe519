"""Lucene's StandardTokenizer (UAX #29 and UTS #51 by longest match) in linear time.

A text is first written as a string of character classes, one letter a code point (`word_classes`); the grammar is a
regular expression over that. Every alternative begins with classes of its own, and what may follow a repetition cannot
begin with what it repeats, so that possessive repetition finds the longest match. Three things need more than that:

- tokens beyond MAX_TOKEN: Lucene matches inside a window, so that what follows a cut is tokenised afresh;
- a pictograph that is also a letter (U+2139, U+24C2...) before a ZERO WIDTH JOINER: word or emoji, the longer wins;
- a run of connectors (`_`) that begins no word, with the beginning of a token inside its combining characters.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import cache

from idxopt.text.word_classes import OTHER, RANGES

MAX_TOKEN = 255
"""UTF-16 units in a token of the standard tokenizer (Lucene's default)."""

_SAFE_LENGTH = MAX_TOKEN // 2  # so many code points never pass MAX_TOKEN UTF-16 units

Span = tuple[int, int]


class _Classes(dict[int, str]):
    """Code point -> class, filled as code points are met; made for `str.translate`."""

    def __init__(self) -> None:
        super().__init__()
        ends = []
        for name, ranges in RANGES.items():
            for low, _, high in (part.partition("-") for part in ranges.split()):
                ends.append((int(low, 16), int(high or low, 16), name))
        self._ranges = [(-1, -1, OTHER), *sorted(ends)]
        self._starts = [low for low, _, _ in self._ranges]

    def __missing__(self, code_point: int) -> str:
        _, high, name = self._ranges[bisect_right(self._starts, code_point) - 1]
        found = self[code_point] = name if code_point <= high else OTHER
        return found


_CLASSES = _Classes()

_X = "[ektvgqzms]*+"  # extends any character (WB4)
_STYLED = "[ekgqzms]*+"  # the same inside emoji, where variation selectors have their own place
_LETTER = f"[AHP]{_X}"
_DIGIT = f"0{_X}"
_RUN = (
    f"(?:(?:H{_X}(?:\"{_X}H{_X}|'{_X})|{_LETTER}(?:[:.']{_X}{_LETTER})*+|{_DIGIT}(?:[,.']{_X}{_DIGIT})*+)++"
    f"|(?:K{_X})++)"
)
_WORD = f"(?:_{_X})*+{_RUN}(?:(?:_{_X})++{_RUN})*+(?:_{_X})*+"
_ONWARD = "z++(?=[EP])|z(?=m)"
_EMOJI = (
    f"(?:z*+[EP]{_STYLED}(?:v(?:{_ONWARD}|g++q)?+)?+|m{_STYLED})"
    f"(?:(?<=z)(?:[EP]{_STYLED}(?:v(?:{_ONWARD})?+)?+|m{_STYLED}))*+"
    f"|#(?:{_STYLED}vk|[egqzms]*+k){_STYLED}"
    f"|(?:R{_X}){{2}}"
)
_EMOJI_PATTERN = re.compile(_EMOJI)
_TOKEN = re.compile(f"({_WORD}|(?:[Ss]{_X})++|C{_X}|{_EMOJI})|((?:_{_X})++)|z++")
_INSIDE = "szm"
_TOKEN_INSIDE = re.compile(f"[{_INSIDE}]")
_RUN_WITHOUT_TOKEN = re.compile(f"(?:_{_X})++|z++")

_PICTOGRAPH_OR_LETTER = "P"

# Most text needs no classes: ASCII, and what is in the BMP a letter, joins letters or digits, or is in no class at all.
# Any other character makes a text, or a word, hard.
EASY_KINDS = "A:.,"
"""The classes that are not hard beyond ASCII, besides OTHER."""


def _beyond_ascii(kinds: Iterable[str]) -> list[tuple[int, int]]:
    """The ranges of some classes beyond ASCII and within the BMP."""
    parts = (part.partition("-") for kind in kinds for part in RANGES[kind].split())
    spans = [(max(int(low, 16), 0x80), min(int(high or low, 16), 0xFFFF)) for low, _, high in parts]
    return [(low, high) for low, high in spans if low <= high]


def _in_set(kinds: Iterable[str]) -> str:
    """The same as the inside of a regular expression's set."""
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in _beyond_ascii(kinds))


def _easy_pattern(letters: str, between: str, between_letters: str, between_digits: str) -> re.Pattern[str]:
    """The grammar without what is hard, but for connectors alone: those are no token."""
    letter, part = f"[A-Za-z{letters}]", f"[0-9A-Z_a-z{letters}]++"
    joins_letters = f"[.':{between}{between_letters}](?<={letter}.)(?={letter})"
    joins_digits = f"[.,;'{between}{between_digits}](?<=[0-9].)(?=[0-9])"
    return re.compile(f"{part}(?:(?:{joins_letters}|{joins_digits}){part})*+")


class _Easy:
    """Patterns for text beyond ASCII; made when the first such text comes."""

    def __init__(self) -> None:
        hard = f"[{_in_set(RANGES.keys() - set(EASY_KINDS))}\U00010000-\U0010ffff]"
        self.token = _easy_pattern(_in_set("A"), _in_set("."), _in_set(":"), _in_set(","))
        self.hard = re.compile(hard)
        # No token reaches over a space or a control character, so words (runs without them) that are hard are looked at
        # by their classes, and what is between them without. Looked for from the start of each word only: linear.
        self.hard_word = re.compile(rf"(?<![^\x00-\x20\x7f])(?:(?!{hard})[^\x00-\x20\x7f])*+{hard}[^\x00-\x20\x7f]*+")


_ASCII = _easy_pattern("", "", "", "")
_easy = cache(_Easy)


def standard_tokens(text: str) -> list[str]:
    """Tokens of Lucene's StandardTokenizer as written (not lowercased), in order."""
    if text.isalnum() and text.isascii() and len(text) <= MAX_TOKEN:
        return [text]
    if (token := _easy_token(text)) is not None:
        tokens = token.findall(text)
        if "_" in text:
            tokens = [token for token in tokens if token.strip("_")]
        if max(map(len, tokens), default=0) <= MAX_TOKEN:
            return tokens
    return [text[start:end] for start, end in standard_spans(text)]


def _easy_token(text: str) -> re.Pattern[str] | None:
    if text.isascii():
        return _ASCII
    easy = _easy()
    return None if easy.hard.search(text) else easy.token


def standard_spans(text: str) -> Iterator[Span]:
    """Start and end, in code points, of each token of Lucene's StandardTokenizer, in order."""
    if (token := _easy_token(text)) is not None:
        return iter(_easy_spans(token, text, 0, len(text)))
    return _mixed_spans(text)


def _mixed_spans(text: str) -> Iterator[Span]:
    position = 0
    easy = _easy()
    for hard in easy.hard_word.finditer(text):
        start, end = hard.span()
        yield from _easy_spans(easy.token, text, position, start)
        for first, last in _spans_by_class(text[start:end]):
            yield start + first, start + last
        position = end
    yield from _easy_spans(easy.token, text, position, len(text))


def _easy_spans(token: re.Pattern[str], text: str, position: int, stop: int) -> Sequence[Span]:
    """Those of a part that begins and ends between words."""
    spans = [match.span() for match in token.finditer(text, position, stop)]
    if text.find("_", position, stop) >= 0:
        spans = [(start, end) for start, end in spans if text[start:end].strip("_")]
    if all(end - start <= MAX_TOKEN for start, end in spans):
        return spans
    return [(position + start, position + end) for start, end in _spans_by_class(text[position:stop])]


def _spans_by_class(text: str) -> Iterator[Span]:
    kinds = text.translate(_CLASSES)
    position = 0
    while position < len(kinds):
        for match in _TOKEN.finditer(kinds, position):
            start, end = match.span()
            if _is_plain(match, kinds):
                if match.start(1) >= 0:
                    yield start, end
            else:
                position = yield from _scan(text, kinds, start, end)
                break
        else:
            return


def _is_plain(match: re.Match[str], kinds: str) -> bool:
    """Whether the match holds as it is: not too long, not ambiguous, no token inside a run of connectors."""
    start, end = match.span()
    if match.start(1) < 0:
        return match.start(2) < 0 or not _TOKEN_INSIDE.search(kinds, start, end)
    if end - start > _SAFE_LENGTH:
        return False
    return kinds[start] != _PICTOGRAPH_OR_LETTER or kinds[end - 1] != "z"


def _scan(text: str, kinds: str, position: int, stop: int) -> Generator[Span, None, int]:
    """Spans from `position` on, each the longest match inside its own window; returns where it stopped."""
    run_end = position  # of the run of connectors that `position` is in
    while position < stop:
        if position + MAX_TOKEN < run_end and kinds[position] not in _INSIDE:
            inside = _TOKEN_INSIDE.search(kinds, position, run_end - MAX_TOKEN)
            position = inside.start() if inside else run_end - MAX_TOKEN
            continue
        window = _window_end(text, position)
        match = _TOKEN.search(kinds, position, window)
        if match is None:
            position = window
        elif match.start() > position:
            position = match.start()
        elif match.start(1) >= 0:
            end = match.end()
            if kinds[position] == _PICTOGRAPH_OR_LETTER and (emoji := _EMOJI_PATTERN.match(kinds, position, window)):
                end = max(end, emoji.end())
            yield position, end
            position = end
        else:
            whole = _RUN_WITHOUT_TOKEN.match(kinds, position) if position >= run_end else None
            if whole and kinds[position] == "z":
                position = max(position + 1, whole.end() - MAX_TOKEN)
            else:
                run_end = whole.end() if whole else run_end
                position += 1
    return position


def _window_end(text: str, start: int) -> int:
    """The end of the longest run of whole code points from `start` with at most MAX_TOKEN UTF-16 units."""
    window = text[start : start + MAX_TOKEN]
    end = start + len(window)
    if window.isascii():
        return end
    excess = len(window) + sum(character > "\uffff" for character in window) - MAX_TOKEN
    while excess > 0:
        end -= 1
        excess -= 2 if text[end] > "\uffff" else 1
    return end
