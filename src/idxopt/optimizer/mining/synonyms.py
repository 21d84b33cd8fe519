"""Words that one corpus writes in two ways: `dataset` and `data set`, `email` and `e-mail`, `tumour` and `tumor`.

Only pairs of which the corpus has both forms are taken, and only those that the `english` analyzer keeps apart; plurals
are the stemmer's business.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.mining.sample import texts
from idxopt.optimizer.mining.spellings import other_spellings
from idxopt.program.schema import Source
from idxopt.text.analysis import analyzer
from idxopt.text.stop_words import STOP_WORDS

MAX_ENTRIES = 2_000
LEAST_DOCUMENTS = 2
"""Documents that must have each of the two forms."""
LEAST_RATIO = 0.01
"""The rarer form of a compound has at least this share of the documents of the other, else it is chance or a slip."""
MOST_LETTERS = 40

_TOKEN = re.compile(r"https?://[^\s)>\]]+|www\.[^\s)>\]]+|\]\([^)\s]*\)|[^\W_]+(?:-[^\W_]+)*|[^\w\s]")
"""Addresses stand first: their words are joined for another reason."""
_EMPTY_WORDS = STOP_WORDS | {"every"}
_PARTICLES = frozenset({"up", "out", "off", "down", "over"})
_ROMAN = {"ii": "2", "iii": "3", "iv": "4", "vi": "6", "vii": "7", "viii": "8", "ix": "9"}
_NUMERALS = frozenset({*_ROMAN, *_ROMAN.values()})
_LEAST_LETTERS, _LEAST_JOINED, _LEAST_PART = 4, 6, 3

Pair = tuple[str, str]
Counts = Mapping[str, int]


def synonym_table(
    corpus: Corpus, source: Source, fields: Sequence[str] | None = None, *, limit: int = MAX_ENTRIES
) -> dict[str, list[str]]:
    """Each form to its other forms, in both directions, pairs with the commonest rarer form first; at most `limit`
    terms.

    For `enrich synonyms`, or `normalize terms` with `keep_original`. Empty where the corpus is consistent. `fields` are
    names of the program (None: all).
    """
    words = _known(set(_tokens(text)) for text in texts(corpus, source, fields))
    parts = {split: joined for joined in words for split in _splits(joined, words)}
    phrases = _known(_phrases(_tokens(text), parts) for text in texts(corpus, source, fields))
    pairs = {*_compounds(words, parts, phrases), *_spellings(words), *_numbered(phrases)}
    return _table(pairs, {**phrases, **words}, limit)


def _tokens(text: str) -> list[str]:
    """Words in lower case (hyphens inside them stay) and signs, which keep words apart."""
    return _TOKEN.findall(text.lower())


def _known(found: Iterable[set[str]]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for terms in found:
        counts.update(terms)
    return {term: count for term, count in counts.items() if count >= LEAST_DOCUMENTS and len(term) <= MOST_LETTERS}


def _splits(joined: str, words: Counts) -> Iterator[Pair]:
    """The ways to read a word as two words of the corpus that say something."""
    if len(joined) < _LEAST_JOINED or not joined.isalpha():
        return
    for cut in range(_LEAST_PART, len(joined) - 1):
        first, second = joined[:cut], joined[cut:]
        if first in words and second in words and first not in _EMPTY_WORDS and _is_second(second):
            yield first, second


def _is_second(word: str) -> bool:
    return word in _PARTICLES or (len(word) >= _LEAST_PART and word not in _EMPTY_WORDS)


def _phrases(tokens: Sequence[str], parts: Mapping[Pair, str]) -> set[str]:
    return {
        f"{first} {second}"
        for first, second in pairwise(tokens)
        if (first, second) in parts or (second in _NUMERALS and first.isalpha() and first not in _EMPTY_WORDS)
    }


def _compounds(words: Counts, parts: Mapping[Pair, str], phrases: Counts) -> Iterator[Pair]:
    """`data set` and `dataset`, `e-mail` and `email`."""
    for split, joined in parts.items():
        phrase = " ".join(split)
        if phrase in phrases and _comparable(phrases[phrase], words[joined]):
            yield joined, phrase
    for word in words:
        joined = word.replace("-", "")
        if (
            joined != word
            and len(joined) >= _LEAST_LETTERS
            and joined in words
            and joined.isalpha()
            and _comparable(words[word], words[joined])
        ):
            yield joined, word


def _comparable(one: int, other: int) -> bool:
    return min(one, other) >= LEAST_RATIO * max(one, other)


def _spellings(words: Counts) -> Iterator[Pair]:
    for word in words:
        for other in other_spellings(word):
            if other in words and other != word:
                yield word, other


def _numbered(phrases: Counts) -> Iterator[Pair]:
    """`type ii` and `type 2`."""
    for phrase in phrases:
        name, _, numeral = phrase.rpartition(" ")
        other = f"{name} {_ROMAN.get(numeral)}"
        if numeral in _ROMAN and other in phrases and _comparable(phrases[phrase], phrases[other]):
            yield phrase, other


def _table(pairs: Iterable[Pair], counts: Counts, limit: int) -> dict[str, list[str]]:
    english = analyzer("english")
    ranked = sorted(pairs, key=lambda pair: (-min(counts[pair[0]], counts[pair[1]]), pair))
    table: dict[str, list[str]] = {}
    for one, other in ranked:
        if english(one) == english(other):
            continue
        if len(table) + (one not in table) + (other not in table) > limit:
            break
        for term, value in ((one, other), (other, one)):
            values = table.setdefault(term, [])
            if value not in values:
                values.append(value)
    return table
