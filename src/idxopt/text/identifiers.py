"""Rewriting that an ingest pipeline must reproduce exactly (contract 2): identifiers, lower case, white space.

Each function is specified by code points and by fixed lists, so that a painless script without regular expressions can
do the same on any JVM, and a newer Python or Java changes nothing.
"""

from __future__ import annotations

import re

WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The 25 code points of Unicode's White_Space property, all in the BMP."""

WHITE_IN_PYTHON_ONLY = "\x1c\x1d\x1e\x1f"
"""What `str.split` and `str.isspace` take for white space besides."""

_WHITE_SPACE_RUN = re.compile(f"[{WHITE_SPACE}]+")
_NOT_PLAIN = ["  ", *WHITE_SPACE.replace(" ", "")]

# Capital letters added after Unicode 13, up to Unicode 17.
_NEWER_CAPITALS = (
    "\u1c89\u2c2f\ua7c0\ua7cb\ua7cc\ua7ce\ua7d0\ua7d2\ua7d4\ua7d6\ua7d8\ua7da\ua7dc"
    "\U00010570-\U0001057a\U0001057c-\U0001058a\U0001058c-\U00010592\U00010594\U00010595"
    "\U00010d50-\U00010d65\U00016ea0-\U00016eb8"
)
_UNLIKE_PYTHON = re.compile(f"[\u0130\u03a3{_NEWER_CAPITALS}]")
_IDENTIFIER = re.compile(r"[A-Za-z0-9_]+(?:\.(?=[A-Za-z_])[A-Za-z0-9_]+)*")
# A character at which an identifier may be split: `_BOUNDARY` by characters. Both change together. It may find more,
# for time alone; where it finds none, all identifiers stay as they are.
_SPLIT = re.compile(r"[A-Z_.](?:(?<=_)|(?<=[A-Za-z0-9_]\.)(?=[A-Za-z_])|(?<=[a-z][A-Z])|(?<=[A-Z0-9][A-Z])(?=[a-z]))")
_BOUNDARY = re.compile(
    r"[._]+|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))|(?<=[0-9])(?=[A-Z][a-z])"
)
_CACHE_SIZE = 100_000
_cache: dict[str, str] = {}


def lowercase(text: str) -> str:
    """Each code point by its simple lower-case mapping in Unicode 13: Java 17's `Character.toLowerCase(int)`.

    So the text keeps its length: a capital sigma becomes U+03C3 wherever it stands, U+0130 becomes `i`. Capitals newer
    than Unicode 13 and lone surrogates stay as they are. On a JVM of Unicode 13 this equals
    `text.replace("\\u0130", "i").replace("\\u03a3", "\\u03c3").toLowerCase(Locale.ROOT)`.
    """
    if text.isascii() or not _UNLIKE_PYTHON.search(text):
        return text.lower()
    return "".join(map(_lowercase_one, text))


def _lowercase_one(character: str) -> str:
    if character == "\u0130":
        return "i"
    if character == "\u03a3":
        return "\u03c3"
    return character if _UNLIKE_PYTHON.match(character) else character.lower()


def collapse_whitespace(text: str) -> str:
    """Runs of WHITE_SPACE as one U+0020; none at the beginning and the end."""
    if not any(map(text.__contains__, _NOT_PLAIN)):
        return text.strip(" ")
    if any(map(text.__contains__, WHITE_IN_PYTHON_ONLY)):
        return _WHITE_SPACE_RUN.sub(" ", text).strip(" ")
    return " ".join(text.split())


def split_identifiers(text: str, *, keep_original: bool = False) -> str:
    """Identifiers as their words: `getUserName` as `get User Name`, `os.path` as `os path`, `max_size` as `max size`.

    U is A-Z, L is a-z, D is 0-9; every other code point, all beyond ASCII included, passes unchanged.

    An identifier is a maximal run of U, L, D, `_` and inner dots. A dot is an inner one when the character before it is
    in the run and the character after it is U, L or `_` (so `3.14`, `v1.2` and the full stop of a sentence are none).
    Its words are what remains when it is split

    1. at each `.` and `_`, which vanish;
    2. between L and U: `get|User`;
    3. between U and a second U that L follows: `HTTP|Server`; but not when that L is an `s` with no L after it, as in
       the plurals `URLs` and `IDs`;
    4. between D and a U that L follows: `EC2|Instance`. Digits otherwise belong to the word before or after them:
       `EC2`, `utf8`, `3D`, `x86`.

    Empty words are left out. An identifier that is its own only word, or has no word (`___`), stays. Any other is
    replaced by its words joined by U+0020; with `keep_original` by itself, U+0020, and those words.
    """
    replacement = _with_words if keep_original else _only_words
    pieces: list[str] = []
    done = 0
    while found := _SPLIT.search(text, done):  # only what is between two spaces around such a character changes
        start = text.rfind(" ", done, found.start()) + 1 or done
        end = text.find(" ", found.end())
        end = len(text) if end < 0 else end
        pieces += text[done:start], _IDENTIFIER.sub(replacement, text[start:end])
        done = end
    return "".join([*pieces, text[done:]]) if pieces else text


def _only_words(match: re.Match[str]) -> str:
    return _words(match.group())


def _with_words(match: re.Match[str]) -> str:
    identifier = match.group()
    words = _words(identifier)
    return identifier if words == identifier else f"{identifier} {words}"


def _words(identifier: str) -> str:
    words = _cache.get(identifier)
    if words is None:
        if len(_cache) >= _CACHE_SIZE:
            _cache.clear()
        words = " ".join(word for word in _BOUNDARY.split(identifier) if word) or identifier
        if len(identifier) <= 100:
            _cache[identifier] = words
    return words
