"""Queries of more terms than the engine's clause limit: cut to their rarest terms, the same way on every engine.

A `most_fields` query makes one clause a term and field; OpenSearch refuses more than
`indices.query.bool.max_clause_count`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from idxopt.compiler.lowered import Leg
from idxopt.engines.port import Reader
from idxopt.text.analysis import analyzer, standard_spans


def words_of(text: str) -> list[str]:
    """The words that the standard tokenizer sees, as written."""
    return [text[start:end] for start, end in standard_spans(text)]


def too_long(text: str, legs: Sequence[Leg], max_clauses: int) -> bool:
    """True when some leg would pass the limit. A text shorter than the limit cannot."""
    widest = max((len(leg.boosts) for leg in legs), default=0)
    if widest == 0 or len(text) < max_clauses // widest:
        return False
    return len(words_of(text)) * widest > max_clauses


def cut_to_rarest(text: str, leg: Leg, frequencies: Mapping[str, Mapping[str, int]], max_clauses: int) -> str:
    """The text with only the rarest words left, in their order.

    `frequencies`: document frequency of analysed terms by field path. A word counts as its rarest form over the fields;
    words that no field holds go first, then the most frequent; equal ones from the end of the text.
    """
    words = words_of(text)
    keep = max(1, max_clauses // max(1, len(leg.boosts)))
    if len(words) <= keep:
        return text
    rarity = {word: _rarity(word, leg, frequencies) for word in set(words)}
    order = sorted(range(len(words)), key=lambda n: (rarity[words[n]] == 0, rarity[words[n]], n))
    return " ".join(words[n] for n in sorted(order[:keep]))


def leg_frequencies(reader: Reader, leg: Leg, text: str) -> dict[str, dict[str, int]]:
    """Document frequencies of the text's terms in each field of a leg."""
    return {path: reader.document_frequencies(leg.index, path, text) for path in leg.boosts}


def _rarity(word: str, leg: Leg, frequencies: Mapping[str, Mapping[str, int]]) -> int:
    found = [
        frequencies[path][term]
        for path, field in leg.fields.items()
        for term in analyzer(field.analyzer)(word)
        if frequencies.get(path, {}).get(term, 0) > 0
    ]
    return min(found, default=0)
