"""The requests of one query and its ranked lists. Pure."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from idxopt.builds.resolver import LiveBuild
from idxopt.compiler.filters import check_filter
from idxopt.compiler.lowered import Leg
from idxopt.compiler.queries import knn_body, leg_body
from idxopt.engines.port import MAX_K, Hit, SearchRequest, SearchResponse
from idxopt.errors import UsageError
from idxopt.search.fusion import LegList
from idxopt.search.models import NO_VECTORS, QueryVectors
from idxopt.search.query import SearchQuery


@dataclass(frozen=True, slots=True)
class Prepared:
    """The requests of one query, in leg order. `texts`: the text by leg key where it was cut.

    `ks`: rows that each dense leg asks for. `missing`: legs left out because their model failed, with the reason.
    """

    legs: tuple[Leg, ...]
    requests: tuple[SearchRequest, ...]
    texts: Mapping[str, str]
    encoded: QueryVectors = NO_VECTORS
    ks: Mapping[str, int] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)


def prepare(
    query: SearchQuery,
    build: LiveBuild,
    texts: Mapping[str, str] | None = None,
    *,
    encoded: QueryVectors = NO_VECTORS,
    ks: Mapping[str, int] | None = None,
    only: Collection[str] | None = None,
) -> Prepared:
    """The one `_msearch` of a query. `texts`: the text by leg key where it was cut.

    `ks` and `only`: rows to ask for by leg key, and the legs to ask, in later rounds.
    """
    if query.k < 1 or query.offset < 0:
        raise UsageError("k must be at least 1 and offset at least 0", place="search", remedy="ask for k >= 1")
    filter = check_filter(query.filter, build.program.source) if query.filter is not None else None
    window = build.program.fusion.window
    legs: list[Leg] = []
    requests: list[SearchRequest] = []
    rows: dict[str, int] = {}
    missing: dict[str, str] = {}
    for leg in build.legs:
        if only is not None and leg.key not in only:
            continue
        if leg.dense is None:
            body = leg_body(leg, (texts or {}).get(leg.key, query.text), size=window, filter=filter)
        elif leg.dense.model in encoded.failed:
            missing[leg.key] = encoded.failed[leg.dense.model]
            continue
        else:
            k = rows[leg.key] = (ks or {}).get(leg.key) or first_k(leg, build)
            vector = encoded.vectors[leg.dense.model]
            body = knn_body(leg, vector, k=k, size=window, filter=filter, total=leg.many_rows)
        legs.append(leg)
        requests.append(SearchRequest(leg.index, body))
    return Prepared(tuple(legs), tuple(requests), texts or {}, encoded, rows, missing)


def first_k(leg: Leg, build: LiveBuild) -> int:
    """Rows to ask for at first: the window, times the rows that a document has on average."""
    window = build.program.fusion.window
    if not leg.many_rows:
        return window
    rows, documents = build.manifest.views[leg.view].rows, build.manifest.source.documents
    each = rows / documents if documents else 1.0
    return min(MAX_K, max(window, math.ceil(window * each)))


def grown(prepared: Prepared, responses: Sequence[SearchResponse], window: int) -> dict[str, int]:
    """Dense legs that returned fewer than `window` documents though more rows may be there, with twice their `k`.

    `k` counts rows: 100 rows may be those of five documents. Empty once each leg has enough documents, all rows, or
    MAX_K rows.
    """
    more = {}
    for leg, response in zip(prepared.legs, responses, strict=True):
        k = prepared.ks.get(leg.key)
        if k is None or not leg.many_rows or response.error is not None:
            continue
        every = response.total_exact and response.total < k
        if k < MAX_K and not every and len(documents(leg, response.hits)) < window:
            more[leg.key] = min(2 * k, MAX_K)
    return more


def leg_lists(legs: Sequence[Leg], responses: Sequence[SearchResponse]) -> list[LegList]:
    """The lists of the legs that answered."""
    return [
        LegList(leg.key, leg.weight, documents(leg, response.hits))
        for leg, response in zip(legs, responses, strict=True)
        if response.error is None
    ]


def documents(leg: Leg, hits: Sequence[Hit]) -> list[tuple[str, float]]:
    """Rows to distinct documents, best row first, scores scaled to the sum of weight * BM25.

    Sorted again by score and document id: engines sort a document without `idxopt.doc_id` last among equals.
    """
    scale, primary = leg.scale, leg.primary
    best: dict[str, float] = {}
    for hit in hits:
        doc_id = hit.id if primary else document_id(leg, hit)
        if doc_id not in best:
            best[doc_id] = hit.score * scale
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))


def document_id(leg: Leg, hit: Hit) -> str:
    """The primary view is read by `_id` (a pipeline sees automatic ids as null), other views by `idxopt.doc_id`."""
    if leg.primary or len(hit.sort) < 2 or hit.sort[1] is None:
        return hit.id
    return str(hit.sort[1])
