"""The texts that a representation of a document is embedded as, outside any build: for profiles and small experiments.

They come out of the one interpreter. `offline` is title, terms and heading tree joined by a line feed (PRIME, metadata
synthesis); windows of the body compete by their best one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from idxopt.evaluation.judgments import Ranking
from idxopt.models.ports import Vectors
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document, text_of
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.operators.tables import build_tables
from idxopt.program.schema import Markup, ModelSpec, Program
from idxopt.program.validate import program_from

TITLE, TERMS, HEADINGS = "title", "terms", "headings"
OFFLINE = (TITLE, TERMS, HEADINGS)
"""The fields of PRIME's metadata embedding, in its order."""

_VIEW = "content"


@dataclass(frozen=True, slots=True)
class Text:
    """One document: its id, title and body."""

    id: str
    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Represented:
    """Texts to embed and, for each, the number of its document. Documents without text have none."""

    texts: tuple[str, ...]
    owners: tuple[int, ...]


def metadata(
    texts: Sequence[Text], markup: Markup, fields: Sequence[str] = OFFLINE, *, chosen: Sequence[int] | None = None
) -> Represented:
    """A text a document of its title, PRIME terms (scored over these documents) and heading tree; `fields` chooses.

    `chosen`: numbers of the documents that are represented, None: all of them.
    """
    steps: list[dict[str, Any]] = []
    if TERMS in fields:
        steps.append({"op": "enrich", "with": "prime_terms", "into": TERMS})
    if HEADINGS in fields:
        steps.append({"op": "enrich", "with": "heading_tree", "into": HEADINGS})
    return _represented(texts, markup, steps, fields, chosen=chosen)


def windows(
    texts: Sequence[Text],
    markup: Markup,
    *,
    size: int,
    unit: str = "words",
    specs: Mapping[str, ModelSpec] | None = None,
    models: StepModels = NO_MODELS,
) -> Represented:
    """The bodies in windows of `size` units without overlap. `unit` may be a name in `specs` whose tokenizer `models`
    has: then its tokens count, special ones left out.
    """
    step = {"op": "slice", "field": "body", "unit": unit, "window": size, "overlap": 0}
    return _represented(texts, markup, [step], ["body"], specs or {}, models)


def best_first(
    queries: Vectors, rows: Vectors, represented: Represented, ids: Sequence[str], *, depth: int = 100
) -> list[Ranking]:
    """By query the documents in the order of their best text (cosine of normalised vectors), ties by document id."""
    by_id = np.argsort(np.array(ids))
    place = np.empty(len(ids), dtype=np.int64)
    place[by_id] = np.arange(len(ids))
    owners = place[np.array(represented.owners, dtype=np.int64)]
    similarity: npt.NDArray[np.float32] = queries @ rows.T
    rankings: list[Ranking] = []
    for of_query in similarity:
        best = np.full(len(ids), -np.inf, dtype=np.float32)
        np.maximum.at(best, owners, of_query)
        order = np.argsort(-best, kind="stable")[:depth]
        rankings.append([(ids[by_id[number]], float(best[number])) for number in order if np.isfinite(best[number])])
    return rankings


def _represented(
    texts: Sequence[Text],
    markup: Markup,
    steps: Sequence[Mapping[str, Any]],
    fields: Sequence[str],
    specs: Mapping[str, ModelSpec] | None = None,
    models: StepModels = NO_MODELS,
    *,
    chosen: Sequence[int] | None = None,
) -> Represented:
    program = _program(markup, steps, specs or {})
    documents = [Document(text.id, {"title": text.title, "body": text.body}) for text in texts]
    interpreter = Interpreter(program, _VIEW, build_tables(program, documents), models=models)
    joined: list[str] = []
    owners: list[int] = []
    for number in range(len(documents)) if chosen is None else chosen:
        for row in interpreter.rows(documents[number]):
            text = "\n".join(_nonempty(row.fields.get(name) for name in fields))
            if text.strip():
                joined.append(text)
                owners.append(number)
    return Represented(tuple(joined), tuple(owners))


def _program(markup: Markup, steps: Sequence[Mapping[str, Any]], specs: Mapping[str, ModelSpec]) -> Program:
    """Rows of any number a document: the view with the steps is not the primary one."""
    searched: dict[str, Any] = {"lexical": {"fields": {"title": {}}}}
    return program_from(
        {
            "schema": "idxopt/1",
            "name": "representation",
            "primary": "documents",
            "source": {"fields": {"title": "title", "body": "body"}, "markup": markup},
            "models": {name: spec.model_dump(exclude_defaults=True) for name, spec in specs.items()},
            "views": {"documents": searched, _VIEW: {"steps": [dict(step) for step in steps], **searched}},
        },
        "representation",
    )


def _nonempty(values: Iterable[Any]) -> list[str]:
    return [text for text in map(text_of, values) if text]
