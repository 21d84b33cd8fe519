"""The frozen document frequencies that an ingest pipeline carries in its `params`, and how they are shown.

A table has tens of thousands of terms: a reader gets their number and digest instead (`without_terms`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from idxopt.hashing import digest
from idxopt.operators.frequencies import EMPTY
from idxopt.operators.tables import Tables
from idxopt.program.steps import PrimeTerms, Step

_TO_COME = "the document frequencies are counted and put here by apply"


def table_name(step: PrimeTerms) -> str:
    """Under which the step's table stands in `params.tables`: `body`, or `body:1000` with `max_idf_terms`."""
    return step.field if step.max_idf_terms is None else f"{step.field}:{step.max_idf_terms}"


def needs_tables(steps: Iterable[Step]) -> bool:
    """Whether a pipeline of these steps carries tables."""
    return any(isinstance(step, PrimeTerms) for step in steps)


def pipeline_tables(steps: Iterable[Step], tables: Tables | None) -> dict[str, Any]:
    """The tables that the steps read, by name; where they are not known yet, a text that says so.

    `terms`: document frequency by term; `idf`: IDF by document frequency; `absent`: the frequency of every other term.
    """
    made: dict[str, Any] = {}
    for step in steps:
        if isinstance(step, PrimeTerms):
            made[table_name(step)] = _TO_COME if tables is None else _plain(step, tables)
    return made


def _plain(step: PrimeTerms, tables: Tables) -> dict[str, Any]:
    table = tables.frequencies.get(("prime", step.field), EMPTY).limited(step.max_idf_terms)
    return {
        "tables": tables.digest,
        "documents": table.documents,
        "absent": table.absent(),
        "idf": {str(count): idf for count, idf in table.idf_by_count().items()},
        "terms": dict(table.counts),
    }


def lacks_tables(pipeline: Mapping[str, Any]) -> bool:
    """Whether a placeholder stands where a table belongs."""
    tables = pipeline["processors"][0]["script"]["params"].get("tables", {})
    return any(isinstance(table, str) for table in tables.values())


def without_terms(pipeline: Mapping[str, Any]) -> dict[str, Any]:
    """A pipeline body to be read: what its tables hold is told by number and digest."""
    return {**pipeline, "processors": [_short_processor(one) for one in pipeline["processors"]]}


def _short_processor(processor: Mapping[str, Any]) -> dict[str, Any]:
    script = processor["script"]
    tables = script["params"].get("tables")
    if tables is None:
        return dict(processor)
    shown = {name: table if isinstance(table, str) else _short(table) for name, table in tables.items()}
    return {**processor, "script": {**script, "params": {**script["params"], "tables": shown}}}


def _short(table: Mapping[str, Any]) -> dict[str, Any]:
    terms, idf = table["terms"], table["idf"]
    return {
        **table,
        "idf": f"{len(idf)} values, sha256 {digest(idf)[:16]}",
        "terms": f"{len(terms)} terms, sha256 {digest(terms)[:16]}",
    }
