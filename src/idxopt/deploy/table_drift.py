"""How far frozen corpus tables are from a corpus as it is now. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from idxopt.operators.frequencies import EMPTY, DocumentFrequencies
from idxopt.operators.tables import Tables

MOVED = 0.1
"""Least difference of two IDF values that counts: that of one document in ten more or less."""


@dataclass(frozen=True, slots=True)
class TableDrift:
    """One table of document frequencies, frozen and now.

    `moved`: share of the terms of either whose IDF differs by more than `MOVED` (0 to 1); `largest`: the term of the
    largest difference with both values, None where nothing differs.
    """

    field: str
    stream: str
    documents: tuple[int, int]
    terms: tuple[int, int]
    moved: float
    largest: tuple[str, float, float] | None


def table_drifts(frozen: Tables, now: Tables) -> tuple[TableDrift, ...]:
    """The drift of every table that either has, by field."""
    keys = sorted({*frozen.frequencies, *now.frequencies}, key=lambda key: (key[1], key[0]))
    return tuple(
        _drift(
            stream, field, frozen.frequencies.get((stream, field), EMPTY), now.frequencies.get((stream, field), EMPTY)
        )
        for stream, field in keys
    )


def _drift(stream: str, field: str, frozen: DocumentFrequencies, now: DocumentFrequencies) -> TableDrift:
    before, absent_before = frozen.idf()
    after, absent_after = now.idf()
    terms = before.keys() | after.keys()
    changes = {term: (before.get(term, absent_before), after.get(term, absent_after)) for term in terms}
    moved = sum(abs(one - other) > MOVED for one, other in changes.values())
    largest = min(changes, key=lambda term: (-abs(changes[term][0] - changes[term][1]), term), default=None)
    differs = largest is not None and changes[largest][0] != changes[largest][1]
    return TableDrift(
        field=field,
        stream=stream,
        documents=(frozen.documents, now.documents),
        terms=(len(frozen.counts), len(now.counts)),
        moved=moved / len(terms) if terms else 0.0,
        largest=(largest, *changes[largest]) if largest is not None and differs else None,
    )
