"""`enrich keywords`: the words of a text that stand out against the corpus, by TF-IDF.

Words are those of `streams.word_counts`. The score of a word is its count times `ln((N + 1) / (df + 1)) + 1` over the
frozen table of the source field, rounded to 9 decimals; ties by code point.
"""

from __future__ import annotations

from operator import mul

from idxopt.operators.enrich.best_terms import TermWeights, best_terms
from idxopt.operators.frequencies import EMPTY
from idxopt.operators.streams import word_counts
from idxopt.operators.transform import Context, Transform, adding
from idxopt.program.steps import Keywords


def compile_keywords(step: Keywords, context: Context) -> Transform:
    """The step as a function over rows."""
    weights = TermWeights(*context.tables.frequencies.get(("words", step.field), EMPTY).idf())

    def keywords(text: str) -> list[str]:
        words, counts = word_counts(text, context.markup)
        values = list(map(mul, counts, map(weights.__getitem__, words)))
        return best_terms(words, values, step.top, _rounded)

    return adding(step.field, step.into, keywords)


def _rounded(score: float) -> float:
    return round(score, 9)
