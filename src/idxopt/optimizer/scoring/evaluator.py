"""The incremental evaluator: scores equal to the embedded engine's, at the price of what a candidate changes.

Rows, postings and ranked lists are kept by what decides them. New weights re-score postings; a new last step runs
alone; a new field is made alone; a query that has no term in a new field keeps its list. Nothing here is approximate:
a fresh evaluator gives equal bits.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from idxopt.compiler.fields import stored_path
from idxopt.compiler.legs import legs
from idxopt.compiler.lowered import Leg, LegField, Target
from idxopt.errors import EvaluationError
from idxopt.evaluation.judgments import Qrels, Query, Run
from idxopt.operators.remembering import Kept
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import METRICS, LegRanks, Scores, Size
from idxopt.optimizer.scoring.chunks import Ints
from idxopt.optimizer.scoring.fields import Field, Matrix, QueryTerms
from idxopt.optimizer.scoring.figures import Judgments
from idxopt.optimizer.scoring.fusing import fused
from idxopt.optimizer.scoring.long_queries import LongQueries
from idxopt.optimizer.scoring.ranking import RankedList, Scored, ranked
from idxopt.optimizer.scoring.searched import SearchedFields
from idxopt.optimizer.scoring.texts import RowSet, Texts
from idxopt.program.canonical import program_hash
from idxopt.program.effects import view_fields
from idxopt.program.schema import Program
from idxopt.search.fusion import LegList, fuse_views

_EMBEDDED = Target("embedded", bm25_factor=False, pipelines=False)
_CELLS = 1_000_000
"""Scores in memory at a time: few enough to stay near the processor, and in memory that is used again."""
_KEPT_PLACES = 30_000_000
"""Places of documents in kept lists (16 bytes each); those used longest ago go first."""
_KEPT_ENTRIES = 20_000_000
"""Scores of kept fields (12 bytes each); those used longest ago go first, the last one stays."""
_KNOWN = 10_000
"""Fields with a weight, k1 and b of which it is known that they were asked for."""
_POSTING_BYTES = 3
"""Bytes a token takes in an index beside the text, about."""
_NUMBER_BYTES = 4
"""Of a vector."""


_Identity = tuple[str, str, float, float, float]
"""The key of a field, analyzer, weight, k1 and b."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One searched field of a leg. Equal `identity`, equal contribution to every row. `cut`: the text by place of
    queries that are too long for the leg; `terms` has it.
    """

    identity: _Identity
    field: Field
    terms: QueryTerms
    searched: LegField
    cut: Mapping[int, str]


class IncrementalEvaluator:
    """See `optimizer.ports.Evaluator`. In memory; one thread.

    Judges what BM25 finds: a program with a dense leg is refused with EvaluationError, and what a program says of
    reranking is left out. Raises EvaluationError where two queries have one id.
    """

    def __init__(self, corpus: Corpus, queries: Sequence[Query], qrels: Qrels, models: StepModels = NO_MODELS) -> None:
        self._corpus = corpus
        self._queries = tuple(queries)
        self._places = _places(self._queries)
        self._long = LongQueries([query.text for query in self._queries])
        self._texts = Texts(corpus, models)
        self._ids = [document.id for document in corpus.documents]
        self._numbers = {doc_id: number for number, doc_id in enumerate(self._ids)}
        self._judgments = Judgments([qrels.get(query.id, {}) for query in self._queries], self._numbers)
        self._order = np.argsort(np.argsort(np.array(self._ids, dtype=object), kind="stable"), kind="stable")
        self._fields = SearchedFields(self._texts, [query.text for query in self._queries])
        self._matrices: Kept[_Identity, Matrix] = Kept(_KEPT_ENTRIES, lambda scores: int(scores.nnz))
        self._known: Kept[_Identity, bool] = Kept(_KNOWN, lambda _: 1)
        self._lists: Kept[tuple[object, ...], RankedList] = Kept(_KEPT_PLACES, lambda one: len(one.documents) + 1)
        self._scores: dict[str, Scores] = {}

    @property
    def queries(self) -> Sequence[Query]:
        return self._queries

    def scores(self, program: Program) -> Scores:
        """See `Evaluator.scores`."""
        key = program_hash(program)
        if key not in self._scores:
            values = self._judgments.figures(self._ranked(program, np.arange(len(self._queries))))
            self._scores[key] = Scores(
                {metric: values[:, number] for number, metric in enumerate(METRICS)}, self.size(program)
            )
        return self._scores[key]

    def rankings(self, program: Program, query_ids: Sequence[str], depth: int) -> Run:
        """See `Evaluator.rankings`. Scores count down: fusion mixes scales. Raises EvaluationError for unknown ids."""
        places = np.array([self._place(query_id) for query_id in query_ids], dtype=np.int64)
        ranked = self._ranked(program, places)
        return {
            query_id: [
                (self._ids[one], float(len(documents) - rank)) for rank, one in enumerate(documents[:depth].tolist())
            ]
            for query_id, documents in zip(query_ids, ranked, strict=True)
        }

    def leg_ranks(self, program: Program, query_ids: Sequence[str], depth: int) -> LegRanks:
        """See `LegRanking.leg_ranks`."""
        places = np.array([self._place(query_id) for query_id in query_ids], dtype=np.int64)
        lists = {leg.key: self._leg_lists(program, leg, places) for leg in self._legs(program)}
        found: dict[str, dict[str, dict[str, int]]] = {}
        for number, (query_id, documents) in enumerate(zip(query_ids, self._ranked(program, places), strict=True)):
            ranks: dict[int, dict[str, int]] = {document: {} for document in documents[:depth].tolist()}
            for key, of_queries in lists.items():
                for rank, document in enumerate(of_queries[number].documents.tolist(), 1):
                    if document in ranks:
                        ranks[document][key] = rank
            found[query_id] = {self._ids[document]: of_legs for document, of_legs in ranks.items()}
        return found

    def size(self, program: Program) -> Size:
        """What the program costs to keep: the source once, and of each leg its texts and postings, or its vectors."""
        rows = {view: self._fields.row_set(program, view).count for view in program.views}
        total = self._texts.source_characters
        for leg in _all_legs(program):
            if leg.dense is not None:
                total += rows[leg.view] * leg.dense.dimension * _NUMBER_BYTES
                continue
            parts = self._parts(program, leg)
            total += sum(part.field.held * leg.many_rows for part in parts)
            total += sum(part.field.statistics.tokens * _POSTING_BYTES for part in parts)
        return Size(sum(rows.values()), total, len(program.views))

    def _place(self, query_id: str) -> int:
        if query_id not in self._places:
            raise EvaluationError(f"there is no query {query_id!r}", remedy="name one of the evaluator's queries")
        return self._places[query_id]

    def _legs(self, program: Program) -> tuple[Leg, ...]:
        found = _all_legs(program)
        for leg in found:
            if leg.dense is not None:
                raise EvaluationError(
                    "a study judges programs by BM25, and this one has a dense leg",
                    place=leg.key,
                    remedy="leave `dense` out; the staged table adds it afterwards",
                )
        return found

    def _ranked(self, program: Program, places: Ints) -> list[Ints]:
        """The documents of each query, best first, by number."""
        found = self._legs(program)
        lists = [self._leg_lists(program, leg, places) for leg in found]
        if len(found) == 1:
            return [one.documents for one in lists[0]]
        weights = [leg.weight for leg in found]
        if any(view.combine is not None for view in program.views.values()):
            return [self._combined(program, found, each) for each in zip(*lists, strict=True)]
        return [
            fused([*zip(weights, each, strict=True)], program.fusion, self._order) for each in zip(*lists, strict=True)
        ]

    def _combined(self, program: Program, found: Sequence[Leg], lists: Sequence[RankedList]) -> Ints:
        """Fused by the rules of views that make one list of their legs first."""
        made = [
            LegList(
                leg.key,
                leg.weight,
                [*zip([self._ids[n] for n in one.documents.tolist()], one.scores.tolist(), strict=True)],
            )
            for leg, one in zip(found, lists, strict=True)
        ]
        return np.array([self._numbers[document.doc_id] for document in fuse_views(made, program)], dtype=np.int64)

    def _leg_lists(self, program: Program, leg: Leg, places: Ints) -> list[RankedList]:
        """The lists of some queries, kept by the parts that can change them."""
        parts = self._parts(program, leg)
        rows = self._fields.row_set(program, leg.view)
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
        made = dict(zip(missing, self._made(parts, rows, window, places[missing]), strict=True))
        lists = [made[number] if number in made else self._lists[key] for number, key in enumerate(keys)]
        for key, one in zip(keys, lists, strict=True):
            if key not in self._lists:
                self._lists.put(key, one)
        return lists

    def _made(self, parts: Sequence[_Part], rows: RowSet, window: int, places: Ints) -> Iterator[RankedList]:
        """Scored in blocks of queries. What a field gives to all queries is kept from its second use on: the next
        candidate, too, is likely to change another.
        """
        most = not rows.several and len(places) * 2 >= len(self._queries)
        again = [most and self._is_known(part) for part in parts]
        step = max(1, _CELLS // max(1, rows.count))
        for start in range(0, len(places), step):
            block = places[start : start + step]
            scored = [
                Scored(self._scores_of(part, block, keep=keep), part.field.times)
                for part, keep in zip(parts, again, strict=True)
            ]
            yield from ranked(scored, rows, window)

    def _is_known(self, part: _Part) -> bool:
        """Whether the part was asked for before; from now on it was."""
        if part.identity in self._known:
            return self._known[part.identity]
        self._known.put(part.identity, True)
        return False

    def _scores_of(self, part: _Part, places: Ints, *, keep: bool) -> Matrix:
        """The scores of some queries (lines) in all texts of a field."""
        searched = part.searched
        parameters = (searched.weight, searched.k1, searched.b)
        if part.cut or not (keep or part.identity in self._matrices):
            return part.terms.scores(part.field, *parameters, places)
        if part.identity not in self._matrices:
            self._matrices.put(part.identity, part.terms.scores(part.field, *parameters, np.arange(len(self._queries))))
        whole = self._matrices[part.identity]
        return whole if np.array_equal(places, np.arange(len(self._queries))) else whole[places]

    def _parts(self, program: Program, leg: Leg) -> list[_Part]:
        view = program.views[leg.view]
        assert view.lexical is not None
        at = view_fields(program, view)
        names = {stored_path(program, leg.view, name, at): name for name in view.lexical.fields}
        parts = []
        for path, searched in leg.fields.items():
            name = names[path]
            key, field = self._fields.field(program, leg.view, name, searched.analyzer)
            identity = (key, searched.analyzer, searched.weight, searched.k1, searched.b)
            parts.append(_Part(identity, field, self._fields.terms(searched.analyzer), searched, {}))
        return self._without_too_many_words(leg, parts)

    def _without_too_many_words(self, leg: Leg, parts: list[_Part]) -> list[_Part]:
        fields = {part.searched.path: (part.field, part.terms) for part in parts}
        cut = self._long.cut(leg, tuple(part.identity[:2] for part in parts), fields)
        return [replace(part, terms=part.terms.cut(cut), cut=cut) for part in parts] if cut else parts


def _all_legs(program: Program) -> tuple[Leg, ...]:
    return legs(program, {name: name for name in program.views}, _EMBEDDED)


def _places(queries: Sequence[Query]) -> dict[str, int]:
    places = {query.id: place for place, query in enumerate(queries)}
    if len(places) < len(queries):
        twice = next(query.id for place, query in enumerate(queries) if places[query.id] != place)
        raise EvaluationError(f"two queries have the id {twice!r}", remedy="give every query an id of its own")
    return places
