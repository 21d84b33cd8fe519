"""Estimates from sampled documents: rows, bytes, time. They say so, and the corpus is never scanned (contract 6)."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

from idxopt.builds.vectors import embedded_text
from idxopt.compiler.dense import dense_text
from idxopt.compiler.lowered import DenseText
from idxopt.deploy.generation import Counting, later_steps, models_at
from idxopt.deploy.intent import Estimate, Plan
from idxopt.errors import ConfigError, SourceError
from idxopt.models.opening import Models
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document
from idxopt.operators.step_models import StepModels
from idxopt.operators.tables import build_tables
from idxopt.operators.texts import NotGenerated
from idxopt.program.schema import Dense, Program
from idxopt.sources.rejects import Rejects
from idxopt.sources.source import Source

SAMPLED = 1_000
LOAD_BYTES_PER_SECOND = 4_000_000
"""What a small node indexes on one core; a guess that errs on the slow side."""
JSON_BYTES = 12
"""Of one number of a vector in the JSON of a row: normalised ones take eleven digits and a comma."""
INDEX_FACTOR = 0.6
"""Index bytes a byte of stored rows: .60 on awsdocs_small and .56 on scifact (2.19.1, one shard)."""


def vector_bytes(dimension: int, m: int) -> float:
    """Of one vector in an HNSW graph, in memory as on disk (k-NN's own estimate)."""
    return 1.1 * (4 * dimension + 8 * m)


@dataclass(slots=True)
class Known:
    """What an estimate may know of the program's models, and where generated texts are. `problems`: why texts of some
    generators cannot be counted.
    """

    models: Models | None = None
    cache: Path | None = None
    problems: list[str] = field(default_factory=list)

    def steps(self, program: Program) -> StepModels:
        return models_at(program, self.models, self.cache) if self.cache is not None else StepModels()


def with_estimate(plan: Plan, program: Program, source: Source, known: Known | None = None) -> Plan:
    """The plan with what its builds will cost; unchanged when it builds nothing."""
    views = [step.view for step in plan.builds]
    if not views:
        return plan
    rejects, known = Rejects(), known or Known()
    made = estimate(program, views, source, plan.intent.layout.shards, rejects, known)
    notes = plan.notes + tuple(f"! {problem}" for problem in known.problems)
    if rejects.count:
        first = rejects.first[0]
        notes += (
            (
                f"! {rejects.count} of the first {rejects.count + made.sampled} documents cannot be indexed, "
                f"{first.place}: {first.reason}; apply refuses more than --allow-rejected says (0)"
            ),
        )
    return plan.model_copy(update={"estimate": made, "source": source.place, "notes": notes})


@dataclass(slots=True)
class _Seen:
    """Of sampled documents: rows, bytes of their JSON, vectors and the bytes of their graph."""

    rows: int = 0
    size: int = 0
    vectors: int = 0
    graphs: float = 0.0

    def add(self, bodies: Sequence[Mapping[str, Any]], dense: Dense | None, text: DenseText | None) -> None:
        self.rows += len(bodies)
        self.size += sum(len(orjson.dumps(body, option=orjson.OPT_NON_STR_KEYS)) for body in bodies)
        if dense is not None and text is not None:
            vectors = sum(bool(embedded_text(body, text)) for body in bodies)
            self.vectors += vectors
            self.size += vectors * text.dimension * JSON_BYTES
            self.graphs += vectors * vector_bytes(text.dimension, dense.hnsw.m)


def estimate(
    program: Program, views: Sequence[str], source: Source, shards: int, rejects: Rejects, known: Known
) -> Estimate:
    """Transforms the first documents of the source and scales up by documents, or bytes where their number is unknown.

    `rejects` gets those that cannot be indexed. A document whose texts are still to be generated counts as one row of
    its own size. Raises SourceError where none of them can be read.
    """
    sample = source.sample(SAMPLED, rejects)
    if not sample and rejects.count:
        raise rejects.first[0].error()
    began = time.perf_counter()
    texts = Counting(known.models) if known.models is not None else None
    seen = _transformed(program, views, sample, known, texts)
    spent = time.perf_counter() - began
    documents, exact = _documents(source, sample)
    scale = documents / len(sample) if sample else 0.0
    stored = seen.size * scale
    return Estimate(
        sampled=len(sample),
        documents=documents,
        documents_exact=exact,
        rows=round(seen.rows * scale),
        bytes=round(stored * INDEX_FACTOR + seen.graphs * scale),
        seconds=spent * scale + stored / LOAD_BYTES_PER_SECOND,
        shards=shards * len(views),
        vectors=round(seen.vectors * scale),
        generated=texts.estimates(scale) if texts is not None else (),
    )


def _transformed(
    program: Program, views: Sequence[str], sample: Sequence[Document], known: Known, texts: Counting | None
) -> _Seen:
    tables = build_tables(program, sample)
    models = known.steps(program)
    seen = _Seen()
    for view in views:
        interpreter = Interpreter(program, view, tables, models=models)
        dense, text = program.views[view].dense, dense_text(program, view)
        for document in sample:
            try:
                bodies = [row.body for row in interpreter.stored(document)]
            except SourceError:  # apply counts and names what cannot be indexed
                continue
            except NotGenerated as missing:
                _count(missing, models, program, known, texts)
                if texts is not None:
                    texts.come_later(missing.generator, later_steps(program, view, missing))
                bodies = [document.source]
            seen.add(bodies, dense, text)
    return seen


def _count(missing: NotGenerated, models: StepModels, program: Program, known: Known, texts: Counting | None) -> None:
    if texts is None:
        return
    identity = models.identity(missing.generator, program.models)
    try:
        for request in missing.requests:
            texts.add(request.key(identity), (missing.generator, request))
    except ConfigError as error:
        problem = f"texts of the generator {missing.generator} are needed, and cannot be estimated: {error.message}"
        if problem not in known.problems:
            known.problems.append(problem)


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
