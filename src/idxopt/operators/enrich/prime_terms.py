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
from collections import Counter
from collections.abc import Callable, Mapping

from idxopt.operators.frequencies import EMPTY, IDF_DIGITS
from idxopt.operators.markup import prime_markup
from idxopt.operators.outline import split_level
from idxopt.operators.streams import STOP_WORDS, prime_terms_of, prime_tokens
from idxopt.operators.transform import Context, Transform, adding
from idxopt.program.schema import Markup
from idxopt.program.steps import PrimeTerms
from idxopt.text.structure import PRIME_LEVEL

_UNITS = 1e9
_FACTORS = tuple(range(10, 0, -1))
_HALVINGS = 6


def compile_prime_terms(step: PrimeTerms, context: Context) -> Transform:
    """The step as a function over rows."""
    table = context.tables.frequencies.get(("prime", step.field), EMPTY).limited(step.max_idf_terms)
    return adding(step.field, step.into, _terms(step, context.markup, *table.idf()))


def _terms(step: PrimeTerms, markup: Markup, idf: Mapping[str, float], absent: float) -> Callable[[str], list[str]]:
    def terms(text: str) -> list[str]:
        scores = prime_scores(step, text, markup, idf, absent)
        return sorted(scores, key=lambda term: (-scores[term], term))[: step.top]

    return terms


def prime_scores(
    step: PrimeTerms, text: str, markup: Markup, idf: Mapping[str, float], absent: float
) -> dict[str, int]:
    """The score of every term that is no stop word, in units of 10^-9. `absent`: IDF of a term that `idf` lacks."""
    stop_words = stop_words_of(step)
    rate = decay_rate(step)
    tokens = prime_terms_of(text, markup)
    in_heading = heading_terms(text, markup)
    first = dict(zip(reversed(tokens), range(len(tokens) - 1, -1, -1), strict=True))
    scores: dict[str, int] = {}
    for term, count in Counter(tokens).items():
        if term not in stop_words:
            early = decay(rate, first[term] / len(tokens))
            boost = 1 + step.beta if term in in_heading else 1.0
            scores[term] = math.floor(count * idf.get(term, absent) * early * boost * _UNITS + 0.5)
    return scores


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


def heading_terms(text: str, markup: Markup) -> frozenset[str]:
    """The tokens of the headings at the level of the document's sections."""
    headings = prime_markup(text, markup).headings
    level = split_level(headings, PRIME_LEVEL)
    return frozenset(token for heading in headings if heading.level == level for token in prime_tokens(heading.text))
