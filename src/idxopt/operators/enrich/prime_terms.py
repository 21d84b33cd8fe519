"""`enrich prime_terms` (PRIME, metadata synthesis): the discriminative terms of a text.

`score(t) = TF(t) * IDF(t) * (1 - alpha)^(first_pos(t) / n) * (1 + beta * in_heading(t))`, with
`IDF(t) = ln((N + 1) / (df(t) + 1)) + 1` over the frozen table of the source field. `first_pos` counts tokens from 0,
`n` is the number of tokens, TF the raw count; stop words are left out of the result and counted in `first_pos` and `n`.
`in_heading` is 1 for terms of the headings at level 2 (at the most frequent level where there is none of level 2).
Scores are rounded to 9 decimals; ties by code point.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from idxopt.operators.enrich.keywords import EMPTY
from idxopt.operators.markup import parsed_markup
from idxopt.operators.outline import split_level
from idxopt.operators.streams import STOP_WORDS, prime_terms_of, prime_tokens
from idxopt.operators.transform import Context, Transform, adding
from idxopt.program.schema import Markup
from idxopt.program.steps import PrimeTerms


def compile_prime_terms(step: PrimeTerms, context: Context) -> Transform:
    """The step as a function over rows."""
    table = context.tables.frequencies.get(("prime", step.field), EMPTY).limited(step.max_idf_terms)
    return adding(step.field, step.into, _terms(step, context.markup, *table.idf()))


def _terms(step: PrimeTerms, markup: Markup, idf: dict[str, float], absent: float) -> Callable[[str], list[str]]:
    stop_words = STOP_WORDS if step.stopwords == "english" else frozenset()

    def terms(text: str) -> list[str]:
        tokens = prime_terms_of(text, markup)
        in_heading = heading_terms(text, markup)
        first = dict(zip(reversed(tokens), range(len(tokens) - 1, -1, -1), strict=True))
        scores: dict[str, float] = {}
        for term, count in Counter(tokens).items():
            if term not in stop_words:
                early = (1 - step.alpha) ** (first[term] / len(tokens))
                scores[term] = round(count * idf.get(term, absent) * early * (1 + step.beta * (term in in_heading)), 9)
        return sorted(scores, key=lambda term: (-scores[term], term))[: step.top]

    return terms


def heading_terms(text: str, markup: Markup) -> frozenset[str]:
    """The tokens of the headings at the level of the document's sections."""
    headings = parsed_markup(text, markup).headings
    level = split_level(headings, 2)
    return frozenset(token for heading in headings if heading.level == level for token in prime_tokens(heading.text))
