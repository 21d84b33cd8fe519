"""`enrich keywords`: the words of a text that stand out against the corpus, by TF-IDF.

Words are those of `streams.words_of`. The score of a word is its count times `ln((N + 1) / (df + 1)) + 1` over the
frozen table of the source field, rounded to 9 decimals; ties by code point.
"""

from __future__ import annotations

from collections import Counter

from idxopt.operators.frequencies import EMPTY
from idxopt.operators.streams import words_of
from idxopt.operators.transform import Context, Transform, adding
from idxopt.program.steps import Keywords


def compile_keywords(step: Keywords, context: Context) -> Transform:
    """The step as a function over rows."""
    idf, absent = context.tables.frequencies.get(("words", step.field), EMPTY).idf()

    def keywords(text: str) -> list[str]:
        counts = Counter(words_of(text, context.markup))
        scores = {word: round(count * idf.get(word, absent), 9) for word, count in counts.items()}
        return sorted(scores, key=lambda word: (-scores[word], word))[: step.top]

    return adding(step.field, step.into, keywords)
