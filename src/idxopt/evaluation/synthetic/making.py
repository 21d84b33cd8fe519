"""Whole sets of synthetic judgments, from documents, from questions that were written about them, or from clicks."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from idxopt.errors import EvaluationError
from idxopt.evaluation.synthetic.clicks import ClickJudgments, ClickModel, Shown, judge
from idxopt.evaluation.synthetic.folder import Made, Making
from idxopt.evaluation.synthetic.known_items import Candidate, Cut, Kind, candidates, of_kinds
from idxopt.evaluation.synthetic.lexical import LexicalIndex
from idxopt.evaluation.synthetic.selection import Settings, documents_by_terms, joined, select
from idxopt.evaluation.synthetic.wording import cleaned, content_terms
from idxopt.models.ports import Progress
from idxopt.operators.row import Document
from idxopt.program.schema import Source

_NAMES: Mapping[Kind, str] = {"title": "titles", "heading": "headings", "sentence": "first sentences"}


@dataclass(frozen=True)
class Collection:
    """Documents by id, in memory, as `source` reads them. `place`: where they are from."""

    place: str
    source: Source
    documents: Mapping[str, Document]
    rejected: int = 0

    @property
    def facts(self) -> dict[str, Any]:
        return {
            "source": self.place,
            "fields": dict(self.source.fields),
            "markup": self.source.markup,
            "read_documents": len(self.documents),
            "rejected_documents": self.rejected,
        }


def known_items(
    collection: Collection, kinds: Sequence[Kind], settings: Settings, on_progress: Progress | None = None
) -> Making:
    """Queries from texts of the documents. Raises EvaluationError where none is left."""
    every = {id_: candidates(document, collection.source) for id_, document in collection.documents.items()}
    found = {id_: of_kinds(of_one, kinds) for id_, of_one in every.items()}
    names = [_NAMES[kind] for kind in _NAMES if kind in kinds]
    mark = f"known-item from {', '.join(names[:-1]) + ' and ' if len(names) > 1 else ''}{names[-1]}"
    return _selected(collection, found, documents_by_terms(every.values()), mark, settings, on_progress)


def from_questions(
    collection: Collection,
    questions: Mapping[str, Sequence[str]],
    model: str,
    settings: Settings,
    on_progress: Progress | None = None,
) -> Making:
    """Queries from questions about documents (by document id). Raises EvaluationError where none is left."""
    found: dict[str, list[Candidate]] = {}
    for id_, texts in questions.items():
        of_one = [Candidate(id_, "question", text, content_terms(text)) for text in map(cleaned, texts)]
        found[id_] = [candidate for candidate in of_one if candidate.terms]
    mark, held = f"questions by {model}", documents_by_terms(found.values())
    return _selected(collection, found, held, mark, settings, on_progress, asked_documents=len(questions))


def from_clicks(
    collection: Collection, log: Iterable[Shown], what: str, model: ClickModel, queries: int | None, seed: int
) -> Making:
    """Queries with grades from clicks; at most `queries`, drawn by `seed`. Raises EvaluationError."""
    found = judge(log, model, collection.documents.keys())
    if not found.qrels:
        raise EvaluationError(
            f"no query of the log has a relevant document (left out: {_listed(found.dropped)})",
            remedy="lower --least-shown, or give SOURCE and --id so that document ids are those of the log",
        )
    texts = sorted(found.qrels)
    if queries is not None and len(texts) > queries:
        texts = sorted(random.Random(seed).sample(texts, queries))
    made = tuple(Made(text, "clicks", found.qrels[text]) for text in texts)
    facts = {
        **collection.facts,
        "seed": seed,
        "click_model": asdict(model),
        "queries_with_judgments": len(found.qrels),
        "rates_by_position": {str(position): round(rate, 6) for position, rate in found.rates.items()},
        "grades": _grades(found, texts),
        "dropped": _sorted(found.dropped),
    }
    return Making(f"grades from clicks {what}", made, facts)


def _selected(
    collection: Collection,
    found: Mapping[str, Sequence[Candidate]],
    held: Mapping[frozenset[str], int],
    mark: str,
    settings: Settings,
    on_progress: Progress | None,
    **more: Any,
) -> Making:
    index = LexicalIndex(
        (id_, joined(document, collection.source)) for id_, document in sorted(collection.documents.items())
    )
    selection = select(collection.documents, collection.source, found, held, index, settings, on_progress)
    count = sum(map(len, found.values()))
    if not selection.chosen:
        raise EvaluationError(
            f"none of the {count} candidates can be a query (left out: {_listed(selection.dropped)})",
            remedy="add other kinds with --from, or check --field and --markup",
        )
    cuts: dict[str, list[Cut]] = defaultdict(list)
    for one in selection.chosen:
        if one.cuts:
            cuts[one.candidate.document] += one.cuts
    made = tuple(Made(one.candidate.text, one.candidate.kind, {one.candidate.document: 1}) for one in selection.chosen)
    facts = {
        **collection.facts,
        **more,
        **asdict(settings),
        "wanted_queries": settings.queries,
        "candidates": count,
        "candidates_looked_at": selection.looked_at,
        "dropped": _sorted(selection.dropped),
        "made": _sorted(Counter(one.candidate.kind for one in selection.chosen)),
    }
    del facts["queries"]
    return Making(mark, made, facts, {id_: tuple(dict.fromkeys(places)) for id_, places in cuts.items()})


def _grades(found: ClickJudgments, texts: Sequence[str]) -> dict[str, int]:
    counts = Counter(grade for text in texts for grade in found.qrels[text].values())
    return {str(grade): counts[grade] for grade in sorted(counts)}


def _sorted(counts: Mapping[Any, int]) -> dict[str, int]:
    return {str(reason): count for reason, count in sorted(counts.items()) if count}


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{reason.replace('_', ' ')} {count}" for reason, count in _sorted(counts).items()) or "nothing"
