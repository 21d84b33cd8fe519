"""Estimates from sampled documents: rows, bytes, time. They say so, and the corpus is never scanned (contract 6)."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence

import orjson

from idxopt.deploy.intent import Estimate, Plan
from idxopt.errors import SourceError
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document
from idxopt.operators.tables import build_tables
from idxopt.program.schema import Program
from idxopt.sources.rejects import Rejects
from idxopt.sources.source import Source

SAMPLED = 1_000
LOAD_BYTES_PER_SECOND = 4_000_000
"""What a small node indexes on one core; a guess that errs on the slow side."""
INDEX_FACTOR = 0.6
"""Index bytes a byte of stored rows: .60 on awsdocs_small and .56 on scifact (2.19.1, one shard)."""


def with_estimate(plan: Plan, program: Program, source: Source) -> Plan:
    """The plan with what its builds will cost; unchanged when it builds nothing."""
    views = [step.view for step in plan.builds]
    if not views:
        return plan
    rejects = Rejects()
    made = estimate(program, views, source, plan.intent.layout.shards, rejects)
    notes = plan.notes
    if rejects.count:
        first = rejects.first[0]
        notes += (
            (
                f"! {rejects.count} of the first {rejects.count + made.sampled} documents cannot be indexed, "
                f"{first.place}: {first.reason}; apply refuses more than --allow-rejected says (0)"
            ),
        )
    return plan.model_copy(update={"estimate": made, "source": source.place, "notes": notes})


def estimate(program: Program, views: Sequence[str], source: Source, shards: int, rejects: Rejects) -> Estimate:
    """Transforms the first documents of the source and scales up by documents, or bytes where their number is unknown.

    `rejects` gets those that cannot be indexed. Raises SourceError where none of them can.
    """
    sample = source.sample(SAMPLED, rejects)
    if not sample and rejects.count:
        raise rejects.first[0].error()
    began = time.perf_counter()
    rows, size = _transformed(program, views, sample)
    spent = time.perf_counter() - began
    documents, exact = _documents(source, sample)
    scale = documents / len(sample) if sample else 0.0
    stored = size * scale
    return Estimate(
        sampled=len(sample),
        documents=documents,
        documents_exact=exact,
        rows=round(rows * scale),
        bytes=round(stored * INDEX_FACTOR),
        seconds=spent * scale + stored / LOAD_BYTES_PER_SECOND,
        shards=shards * len(views),
    )


def _transformed(program: Program, views: Sequence[str], sample: Sequence[Document]) -> tuple[int, int]:
    tables = build_tables(program, sample)
    rows = size = 0
    for view in views:
        interpreter = Interpreter(program, view, tables)
        for document in sample:
            with contextlib.suppress(SourceError):  # apply counts and names what cannot be indexed
                for row in interpreter.stored(document):
                    rows += 1
                    size += len(orjson.dumps(row.body, option=orjson.OPT_NON_STR_KEYS))
    return rows, size


def _documents(source: Source, sample: Sequence[Document]) -> tuple[int, bool]:
    known = source.estimate()
    if len(sample) < SAMPLED:
        return len(sample), True
    if known.documents is not None:
        return known.documents, known.exact
    sampled_bytes = sum(len(orjson.dumps(dict(document.source))) for document in sample)
    if known.bytes is None or not sampled_bytes:
        return len(sample), False
    return max(len(sample), round(known.bytes / sampled_bytes * len(sample))), False
