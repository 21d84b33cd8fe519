"""The incremental evaluator: scores equal to the embedded engine's, at the price of what a candidate changes.

Rows, postings and ranked lists are kept by what decides them. New weights re-score postings; a new last step runs
alone; a new field is made alone; a query that has no term in a new field keeps its list. Nothing here is approximate:
a fresh evaluator gives equal bits.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from idxopt.compiler.fields import stored_path
from idxopt.compiler.legs import legs
from idxopt.compiler.lowered import Leg, LegField, Target
from idxopt.errors import EvaluationError
from idxopt.evaluation.judgments import Qrels, Query, Run
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import METRICS, LegRanks, Scores, Size
from idxopt.optimizer.scoring.chunks import Ints
from idxopt.optimizer.scoring.fields import Field, Matrix, QueryTerms
from idxopt.optimizer.scoring.figures import Judged
from idxopt.optimizer.scoring.long_queries import LongQueries
from idxopt.optimizer.scoring.texts import RowSet, Texts
from idxopt.program.canonical import program_hash
from idxopt.program.effects import view_fields
from idxopt.program.schema import Program
from idxopt.search.fusion import LegList, fuse_views

_EMBEDDED = Target("embedded", bm25_factor=False, pipelines=False)
_CELLS = 20_000_000
"""Scores in memory at a time."""
_KEPT_PLACES = 30_000_000
"""Places of documents in kept lists (16 bytes each); those used longest ago go first."""
_KEPT_POSTINGS = 60_000_000
"""Postings and rows of kept fields (at most 12 bytes each); those used longest ago go first, the last one stays."""
_POSTING_BYTES = 3
"""Bytes a token takes in an index beside the text, about."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One searched field of a leg. Equal `identity`, equal contribution to every row. `cut`: the text by place of
    queries that are too long for the leg; `terms` has it.
    """

    identity: tuple[str, str, float, float, float]
    field: Field
    terms: QueryTerms
    searched: LegField
    cut: Mapping[int, str]


@dataclass(frozen=True, slots=True)
class RankedList:
    """One leg's documents (numbers in the corpus), best first, with their scores."""

    documents: npt.NDArray[np.int64]
    scores: npt.NDArray[np.float64]


class IncrementalEvaluator:
    """See `optimizer.ports.Evaluator`. In memory; one thread.

    Judges what BM25 finds: a program with a dense leg is refused with EvaluationError, and what a program says of
    reranking is left out. Raises EvaluationError where two queries have one id.
    """

    def __init__(self, corpus: Corpus, queries: Sequence[Query], qrels: Qrels, models: StepModels = NO_MODELS) -> None:
        self._corpus = corpus
        self._queries = tuple(queries)
        self._places = _places(self._queries)
        self._judged = [Judged(qrels.get(query.id, {})) for query in self._queries]
        self._long = LongQueries([query.text for query in self._queries])
        self._texts = Texts(corpus, models)
        self._ids = [document.id for document in corpus.documents]
        self._terms: dict[str, QueryTerms] = {}
        self._fields: OrderedDict[tuple[str, str], Field] = OrderedDict()
        self._posted = 0
        self._row_sets: dict[str, RowSet] = {}
        self._lists: OrderedDict[tuple[object, ...], RankedList] = OrderedDict()
        self._listed = 0
        self._scores: dict[str, Scores] = {}

    @property
    def queries(self) -> Sequence[Query]:
        return self._queries

    def scores(self, program: Program) -> Scores:
        """See `Evaluator.scores`."""
        key = program_hash(program)
        if key not in self._scores:
            ranked = self._ranked(program, np.arange(len(self._queries)))
            figures = np.array([one.figures(documents) for one, documents in zip(self._judged, ranked, strict=True)])
            values = figures.reshape(-1, len(METRICS))
            self._scores[key] = Scores(
                {metric: values[:, number] for number, metric in enumerate(METRICS)}, self.size(program)
            )
        return self._scores[key]

    def rankings(self, program: Program, query_ids: Sequence[str], depth: int) -> Run:
        """See `Evaluator.rankings`. Scores count down: fusion mixes scales. Raises EvaluationError for unknown ids."""
        places = np.array([self._place(query_id) for query_id in query_ids], dtype=np.int64)
        ranked = self._ranked(program, places)
        return {
            query_id: [(doc_id, float(len(documents) - rank)) for rank, doc_id in enumerate(documents[:depth])]
            for query_id, documents in zip(query_ids, ranked, strict=True)
        }

    def leg_ranks(self, program: Program, query_ids: Sequence[str], depth: int) -> LegRanks:
        """See `LegRanking.leg_ranks`."""
        places = np.array([self._place(query_id) for query_id in query_ids], dtype=np.int64)
        lists = {leg.key: self._leg_lists(program, leg, places) for leg in self._legs(program)}
        found: dict[str, dict[str, dict[str, int]]] = {}
        for number, (query_id, documents) in enumerate(zip(query_ids, self._ranked(program, places), strict=True)):
            ranks: dict[str, dict[str, int]] = {doc_id: {} for doc_id in documents[:depth]}
            for key, of_queries in lists.items():
                for rank, document in enumerate(of_queries[number].documents.tolist(), 1):
                    if self._ids[document] in ranks:
                        ranks[self._ids[document]][key] = rank
            found[query_id] = ranks
        return found

    def size(self, program: Program) -> Size:
        """What the program costs to keep: the source once, and of each leg its texts and postings."""
        rows, total = 0, self._texts.source_characters
        for leg in self._legs(program):
            parts = self._parts(program, leg)
            rows += self._row_set(program, leg.view).count
            total += sum(part.field.characters * leg.many_rows for part in parts)
            total += sum(part.field.tokens * _POSTING_BYTES for part in parts)
        return Size(rows, total, len(program.views))

    def _place(self, query_id: str) -> int:
        if query_id not in self._places:
            raise EvaluationError(f"there is no query {query_id!r}", remedy="name one of the evaluator's queries")
        return self._places[query_id]

    def _legs(self, program: Program) -> tuple[Leg, ...]:
        found = legs(program, {name: name for name in program.views}, _EMBEDDED)
        for leg in found:
            if leg.dense is not None:
                raise EvaluationError(
                    "a study judges programs by BM25, and this one has a dense leg",
                    place=leg.key,
                    remedy="leave `dense` out; the staged table adds it afterwards",
                )
        return found

    def _ranked(self, program: Program, places: Ints) -> list[list[str]]:
        """The documents of each query, best first."""
        found = self._legs(program)
        lists = [self._leg_lists(program, leg, places) for leg in found]
        ids = self._ids
        if len(found) == 1:
            return [[ids[number] for number in one.documents.tolist()] for one in lists[0]]
        ranked = []
        for query in range(len(places)):
            made = [
                LegList(
                    leg.key,
                    leg.weight,
                    [*zip([ids[n] for n in one[query].documents.tolist()], one[query].scores.tolist(), strict=True)],
                )
                for leg, one in zip(found, lists, strict=True)
            ]
            ranked.append([fused.doc_id for fused in fuse_views(made, program)])
        return ranked

    def _leg_lists(self, program: Program, leg: Leg, places: Ints) -> list[RankedList]:
        """The lists of some queries, kept by the parts that can change them."""
        parts = self._parts(program, leg)
        rows = self._row_set(program, leg.view)
        window = program.fusion.window
        active = np.stack([part.terms.active(part.field)[places] for part in parts], axis=1)
        keys = [
            (
                rows.key,
                window,
                int(place),
                parts[0].cut.get(int(place)),
                *(part.identity for part, on in zip(parts, line, strict=True) if on),
            )
            for place, line in zip(places, active.tolist(), strict=True)
        ]
        missing = [number for number, key in enumerate(keys) if key not in self._lists]
        made: dict[int, RankedList] = {}
        step = max(1, _CELLS // max(1, rows.count))
        for start in range(0, len(missing), step):
            numbers = missing[start : start + step]
            made.update(zip(numbers, self._score(parts, rows, window, places[numbers]), strict=True))
        lists = [made[number] if number in made else self._lists[key] for number, key in enumerate(keys)]
        self._keep(keys, lists)
        return lists

    def _keep(self, keys: Sequence[tuple[object, ...]], lists: Sequence[RankedList]) -> None:
        for key, one in zip(keys, lists, strict=True):
            if key not in self._lists:
                self._lists[key] = one
                self._listed += len(one.documents)
            self._lists.move_to_end(key)
        while self._listed > _KEPT_PLACES:
            _, gone = self._lists.popitem(last=False)
            self._listed -= len(gone.documents)

    def _score(self, parts: Sequence[_Part], rows: RowSet, window: int, places: Ints) -> list[RankedList]:
        total: Matrix | None = None
        for part in parts:
            searched = part.searched
            scores = part.terms.scores(part.field, searched.weight, searched.k1, searched.b, places)
            total = scores if total is None else total + scores
        assert total is not None
        if rows.several:
            total.sort_indices()
        values = total.data.astype(np.float32)
        return [
            _best(total.indices[start:end], values[start:end], rows, window)
            for start, end in zip(total.indptr[:-1].tolist(), total.indptr[1:].tolist(), strict=True)
        ]

    def _parts(self, program: Program, leg: Leg) -> list[_Part]:
        view = program.views[leg.view]
        assert view.lexical is not None
        at = view_fields(program, view)
        names = {stored_path(program, leg.view, name, at): name for name in view.lexical.fields}
        parts = []
        for path, searched in leg.fields.items():
            name = names[path]
            key = self._texts.column_key(program, leg.view, name)
            field, terms = self._field(program, leg.view, name, key, searched.analyzer)
            identity = (key, searched.analyzer, searched.weight, searched.k1, searched.b)
            parts.append(_Part(identity, field, terms, searched, {}))
        return self._without_too_many_words(leg, parts)

    def _without_too_many_words(self, leg: Leg, parts: list[_Part]) -> list[_Part]:
        fields = {part.searched.path: (part.field, part.terms) for part in parts}
        cut = self._long.cut(leg, tuple(part.identity[:2] for part in parts), fields)
        return [replace(part, terms=part.terms.cut(cut), cut=cut) for part in parts] if cut else parts

    def _field(self, program: Program, view: str, name: str, key: str, analyzer: str) -> tuple[Field, QueryTerms]:
        if analyzer not in self._terms:
            self._terms[analyzer] = QueryTerms(analyzer, [query.text for query in self._queries])
        terms = self._terms[analyzer]
        if (key, analyzer) not in self._fields:
            column = self._texts.column(program, view, name)
            self._fields[key, analyzer] = field = terms.field(column.values, keep=not column.rows.several)
            self._posted += field.entries
            while self._posted > _KEPT_POSTINGS and len(self._fields) > 1:
                _, gone = self._fields.popitem(last=False)
                self._posted -= gone.entries
        self._fields.move_to_end((key, analyzer))
        return self._fields[key, analyzer], terms

    def _row_set(self, program: Program, view: str) -> RowSet:
        key = self._texts.rows_key(program, view)
        if key not in self._row_sets:
            self._row_sets[key] = self._texts.row_set(program, view)
        return self._row_sets[key]


def _places(queries: Sequence[Query]) -> dict[str, int]:
    places = {query.id: place for place, query in enumerate(queries)}
    if len(places) < len(queries):
        twice = next(query.id for place, query in enumerate(queries) if places[query.id] != place)
        raise EvaluationError(f"two queries have the id {twice!r}", remedy="give every query an id of its own")
    return places


def _best(rows: npt.NDArray[np.int32], scores: npt.NDArray[np.float32], of: RowSet, window: int) -> RankedList:
    """The `window` best documents: each by its best row; equal scores in the order of documents.

    `rows` rise where documents have several, so that those of a document stand together.
    """
    documents = of.documents[rows]
    if of.several and len(documents):
        starts = np.flatnonzero(np.concatenate(([True], documents[1:] != documents[:-1])))
        documents, scores = documents[starts], np.maximum.reduceat(scores, starts)
    # no score is below 0, so their bits are in their order; together with the document each key is distinct
    keys = (scores.view(np.uint32).astype(np.uint64) << np.uint64(32)) | (
        np.uint64(0xFFFFFFFF) - documents.astype(np.uint64)
    )
    if len(keys) > window:
        chosen = np.argpartition(keys, len(keys) - window)[len(keys) - window :]
        keys, documents, scores = keys[chosen], documents[chosen], scores[chosen]
    order = np.argsort(keys)[::-1]
    return RankedList(documents[order], scores[order].astype(np.float64))
