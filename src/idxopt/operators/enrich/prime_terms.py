"""`enrich prime_terms` (PRIME, metadata synthesis): the discriminative terms of a text.

`score(t) = TF(t) * IDF(t) * (1 - alpha)^(first_pos(t) / n) * (1 + beta * in_heading(t))`, with
`IDF(t) = ln((N + 1) / (df(t) + 1)) + 1` over the frozen table of the source field. `first_pos` counts tokens from 0,
`n` is the number of tokens, TF the raw count; stop words are left out of the result and counted in `first_pos` and `n`.
`in_heading` is 1 for terms of the headings at level 2 (at the most frequent level where there is none of level 2).
Scores are rounded to 9 decimals (`floor(score * 10^9 + 1/2)`); ties by code point.

An ingest script gives the same terms, so nothing here may depend on a machine's `pow` and `log`: IDF values and
`ln(1 - alpha)` are rounded to 12 decimals where they are made and handed to the script, and the power is `decay`.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from operator import mul

from idxopt.operators.enrich.best_terms import TermWeights, best_terms
from idxopt.operators.frequencies import EMPTY, IDF_DIGITS
from idxopt.operators.markup import prime_markup
from idxopt.operators.outline import split_level
from idxopt.operators.streams import STOP_WORDS, Places, prime_places, prime_tokens
from idxopt.operators.transform import Context, Transform, adding
from idxopt.program.schema import Markup
from idxopt.program.steps import PrimeTerms
from idxopt.text.structure import PRIME_LEVEL

_UNITS = 1e9
_FACTORS = tuple(range(10, 0, -1))
_HALVINGS = 6
_TABLED_LENGTH = 1024
_TABLES = 1024
"""Texts of at most `_TABLED_LENGTH` tokens take their powers from tables by length; so many are kept (8 MB at most)."""


def compile_prime_terms(step: PrimeTerms, context: Context) -> Transform:
    """The step as a function over rows."""
    table = context.tables.frequencies.get(("prime", step.field), EMPTY).limited(step.max_idf_terms)
    return adding(step.field, step.into, _terms(step, context.markup, *table.idf()))


def _terms(step: PrimeTerms, markup: Markup, idf: Mapping[str, float], absent: float) -> Callable[[str], list[str]]:
    weights = TermWeights(idf, absent, without=stop_words_of(step))

    def terms(text: str) -> list[str]:
        places = prime_places(text, markup)
        return best_terms(places.terms, prime_scores(step, text, markup, places, weights), step.top, in_units)

    return terms


def prime_scores(
    step: PrimeTerms, text: str, markup: Markup, places: Places, weights: Mapping[str, float]
) -> list[float]:
    """The score of every term of `places`, the text's."""
    early = _decays(decay_rate(step), places.first, places.length)
    scores = list(map(mul, map(mul, places.counts, map(weights.__getitem__, places.terms)), early))
    in_heading = heading_terms(text, markup)
    if in_heading:
        for number, term in enumerate(places.terms):
            if term in in_heading:
                scores[number] *= 1 + step.beta
    return scores


def in_units(score: float) -> int:
    """A score in units of 10^-9."""
    return math.floor(score * _UNITS + 0.5)


def stop_words_of(step: PrimeTerms) -> frozenset[str]:
    """The terms that the step leaves out of its result."""
    return STOP_WORDS if step.stopwords == "english" else frozenset()


def decay_rate(step: PrimeTerms) -> float:
    """`ln(1 - alpha)`."""
    return round(math.log(1 - step.alpha), IDF_DIGITS)


def decay(rate: float, share: float) -> float:
    """`exp(rate * share)`, that is `(1 - alpha)^share`, by additions, products and quotients of doubles alone.

    Ten terms of the series at a 64th of the argument, then six squarings: within 1e-13 of the exact value for alpha up
    to .999.
    """
    part = rate * share / (1 << _HALVINGS)
    power = 1.0
    for factor in _FACTORS:
        power = 1.0 + part * power / factor
    for _ in range(_HALVINGS):
        power *= power
    return power


def _decays(rate: float, first: Sequence[int], length: int) -> Iterable[float]:
    if length > _TABLED_LENGTH:
        return (decay(rate, place / length) for place in first)
    return map(_decay_table(rate, length).__getitem__, first)


@lru_cache(_TABLES)
def _decay_table(rate: float, length: int) -> array[float]:
    """`decay` for every place in a text of `length` tokens."""
    return array("d", (decay(rate, place / length) for place in range(length)))


def heading_terms(text: str, markup: Markup) -> frozenset[str]:
    """The tokens of the headings at the level of the document's sections."""
    headings = prime_markup(text, markup).headings
    if not headings:
        return frozenset()
    level = split_level(headings, PRIME_LEVEL)
    return frozenset(token for heading in headings if heading.level == level for token in prime_tokens(heading.text))
