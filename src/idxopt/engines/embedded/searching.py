"""Answers one query on one index: BM25 over fields, filter, order by score then keyword, one row a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from idxopt.engines.embedded import bm25
from idxopt.engines.embedded.filters import Fields, Mask, mask
from idxopt.engines.embedded.index_reader import IndexReader
from idxopt.engines.embedded.mapping import FieldType
from idxopt.engines.embedded.nearest import nearest
from idxopt.engines.embedded.pack import Array
from idxopt.engines.embedded.query import RESULT_WINDOW, MultiMatch, Nearest, Query
from idxopt.engines.embedded.segment import NONE, Segment
from idxopt.engines.embedded.values import BadValue
from idxopt.engines.port import Hit, SearchResponse
from idxopt.text.analysis import analyzer

MAX_CLAUSES = 1024
"""`indices.query.bool.max_clause_count` of servers: terms times fields of one query."""

ROWS_A_DOCUMENT = 8
"""A first guess of how many rows must be sorted for each document wanted when rows are collapsed."""


@dataclass(frozen=True, slots=True)
class Similarity:
    """BM25 parameters."""

    k1: float = bm25.K1
    b: float = bm25.B


def search(reader: IndexReader, query: Query, fields: Fields, similarities: Mapping[str, Similarity]) -> SearchResponse:
    """Runs a query. BadValue for what a server answers with an error of the shard: wrong types, a window too large."""
    if query.skip + query.size > RESULT_WINDOW:
        raise BadValue(f"result window is too large: from + size must be at most {RESULT_WINDOW}")
    if query.nearest is not None:
        matched, scores = _score_nearest(reader, query, query.nearest, fields)
    else:
        matched, scores = _score(reader, query, fields, similarities)
    if query.filter is not None:
        passed = [mask(query.filter, segment, fields) for segment in reader.segments]
        matched &= np.concatenate(passed) if passed else matched
    if query.min_score is not None:
        matched &= scores >= np.float32(query.min_score)
    documents = np.flatnonzero(matched)
    total = len(documents)
    best = _best(reader, query, fields, documents, scores[documents])
    hits = tuple(_hit(reader, query, int(document), float(scores[document])) for document in best)
    if query.count_up_to is None or total <= query.count_up_to:
        return SearchResponse(hits, total)
    return SearchResponse(hits, max(query.count_up_to, len(hits)), total_exact=False)


def _score(
    reader: IndexReader, query: Query, fields: Fields, similarities: Mapping[str, Similarity]
) -> tuple[Mask, Array]:
    """Documents that match the scoring part, and every document's score (float32)."""
    total = np.full(reader.count, query.constant, dtype=np.float64)
    matched = np.ones(reader.count, dtype=np.bool_)
    for match in query.matches:
        some, scores = _multi_match(reader, match, fields, similarities)
        matched &= some
        total += scores
    return matched, total.astype(np.float32)


def _score_nearest(reader: IndexReader, query: Query, clause: Nearest, fields: Fields) -> tuple[Mask, Array]:
    """The nearest rows, and every document's score (float32; 0 for all others)."""
    passed = None if clause.filter is None else [mask(clause.filter, segment, fields) for segment in reader.segments]
    ties = None if query.tie is None else _keyword(reader, query.tie, fields, "sort on")
    documents, found = nearest(reader, clause, fields, passed, ties)
    matched = np.zeros(reader.count, dtype=np.bool_)
    scores = np.zeros(reader.count, dtype=np.float32)
    matched[documents] = True
    scores[documents] = found
    return matched, scores


def _multi_match(
    reader: IndexReader, match: MultiMatch, fields: Fields, similarities: Mapping[str, Similarity]
) -> tuple[Mask, Array]:
    """As Lucene: terms of a field are summed in double precision and rounded to float32, then the same over fields."""
    searched = [(_text_field(path, fields), boost) for path, boost in match.fields if path in fields]
    counts = [Counter(analyzer(field.analyzer)(match.text)) for field, _ in searched]
    clauses = sum(len(count) for count in counts)
    if clauses > MAX_CLAUSES:
        raise BadValue(f"too many clauses: {clauses} terms over all fields are more than {MAX_CLAUSES}")
    matched = np.zeros(reader.count, dtype=np.bool_)
    total = np.zeros(reader.count, dtype=np.float64)
    for (field, boost), count in zip(searched, counts, strict=True):
        similarity = similarities.get(field.similarity, Similarity())
        total += _field_scores(reader, field.path, boost, count, similarity, matched)
    return matched, total.astype(np.float32)


def _text_field(path: str, fields: Fields) -> FieldType:
    if fields[path].kind != "text":
        raise BadValue(f"the field [{path}] is of type [{fields[path].kind}]; multi_match searches text fields here")
    return fields[path]


def _field_scores(
    reader: IndexReader, path: str, boost: float, count: Counter[str], similarity: Similarity, matched: Mask
) -> Array:
    """BM25 of one field for every document; marks in `matched` the documents that have a term."""
    total = np.zeros(reader.count, dtype=np.float64)
    statistics = reader.statistics(path)
    inverse = bm25.inverse_norms(statistics, similarity.k1, similarity.b) if statistics.documents else None
    parts = reader.inverted(path)
    for text, times in count.items():
        term = text.encode("utf-8", "replace")
        found = [(part, part.find(term)) if part is not None else (None, None) for part in parts]
        frequency = sum(part.document_frequency(number) for part, number in found if part and number is not None)
        if not frequency or inverse is None:
            continue
        weight = bm25.term_weight(statistics, frequency, boost * times)
        for (part, number), base in zip(found, reader.bases.tolist(), strict=False):
            if part is None or number is None:
                continue
            documents = part.having(number, number + 1)
            scores = bm25.scores(weight, part.frequencies_of(number), inverse[part.norms[documents]])
            places = documents + np.int64(base)
            total[places] += scores
            matched[places] = True
    return total.astype(np.float32)


def _best(reader: IndexReader, query: Query, fields: Fields, documents: Array, scores: Array) -> Array:
    """Document numbers of the page asked for, best first. Sorts only as many as can come in."""
    wanted = query.skip + query.size
    ties = None if query.tie is None else _keyword(reader, query.tie, fields, "sort on")
    groups = None if query.collapse is None else _keyword(reader, query.collapse, fields, "collapse on")
    take = wanted if groups is None else ROWS_A_DOCUMENT * wanted
    while True:
        chosen, high = documents, scores
        if 0 < take < len(scores):
            last = np.partition(scores, len(scores) - take)[len(scores) - take]
            chosen, high = documents[scores >= last], scores[scores >= last]
        order = np.lexsort((chosen, np.zeros_like(chosen) if ties is None else ties[chosen], -high))
        ranked = chosen[order]
        if groups is not None:
            _, first = np.unique(groups[ranked], return_index=True)
            ranked = ranked[np.sort(first)]
        if len(ranked) >= wanted or len(chosen) == len(documents):
            return ranked[query.skip : wanted]
        take *= 8


def _keyword(reader: IndexReader, path: str, fields: Fields, what: str) -> Array:
    kind = fields[path].kind if path in fields else None
    if kind != "keyword":
        found = f"of type [{kind}]" if kind else "not mapped"
        raise BadValue(f"cannot {what} the field [{path}]: it is {found}, not a keyword")
    return reader.ordinals(path)


def _hit(reader: IndexReader, query: Query, document: int, score: float) -> Hit:
    segment, number = reader.place(document)
    source: Mapping[str, Any] = {}
    if query.source != ():
        source = segment.source(number, query.source)
    sort: tuple[Any, ...] = ()
    if query.sorted:
        sort = (score,) if query.tie is None else (score, _first_keyword(segment, query.tie, number))
    return Hit(segment.identifier(number), score, source, sort)


def _first_keyword(segment: Segment, path: str, document: int) -> str | None:
    field = segment.inverted(path)
    if field is None or (number := int(field.first_terms[document])) == NONE:
        return None
    return field.terms[number].decode()
