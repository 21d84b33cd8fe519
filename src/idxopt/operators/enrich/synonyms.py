"""`enrich synonyms`: what `table` has for the terms found in a text: whole words, without regard to case.

The result lists the values of all terms found, each once, in the order of the text; the text itself stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from idxopt.operators.phrases import phrase_pattern
from idxopt.operators.transform import Context, Transform, adding
from idxopt.program.steps import Synonyms


def compile_synonyms(step: Synonyms, _: Context) -> Transform:
    """The step as a function over rows."""
    return adding(step.field, step.into, synonyms_from(step.table))


def synonyms_from(table: Mapping[str, str | list[str]]) -> Callable[[str], list[str]]:
    """A function from a text to the synonyms of the terms found in it."""
    values = {term.lower(): [value] if isinstance(value, str) else value for term, value in table.items()}
    pattern = phrase_pattern(values, whole_words=True, ignore_case=True)

    def synonyms(text: str) -> list[str]:
        found = dict.fromkeys(match.group().lower() for match in pattern.finditer(text))
        return list(dict.fromkeys(value for term in found for value in values.get(term, ())))

    return synonyms
