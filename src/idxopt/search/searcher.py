"""The `Searcher`: pure `prepare` and `finish` under a thin synchronous transport.

Command line, evaluation, gates and integrations all use it. One `_msearch` carries all legs to PHYSICAL indices of one
build: over aliases an `_msearch` is not atomic while they move (mixed answers were seen).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from idxopt.builds.resolver import LiveBuild, Resolver
from idxopt.compiler.filters import check_filter
from idxopt.compiler.lowered import Leg
from idxopt.compiler.queries import leg_body
from idxopt.engines.port import Hit, Reader, SearchRequest, SearchResponse
from idxopt.errors import BuildError, LegFailed, UsageError
from idxopt.search.clauses import cut_to_rarest, leg_frequencies, too_long
from idxopt.search.fusion import Fused, LegList, fuse
from idxopt.search.query import DocumentHit, SearchQuery, SearchResult

OnLegFailure = Literal["fail", "degrade"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The requests of one query, in leg order."""

    legs: tuple[Leg, ...]
    requests: tuple[SearchRequest, ...]
    cut: bool


def prepare(query: SearchQuery, build: LiveBuild, texts: Mapping[str, str] | None = None) -> Prepared:
    """The one `_msearch` of a query. `texts`: the text by leg key where it was cut."""
    if query.k < 1 or query.offset < 0:
        raise UsageError("k must be at least 1 and offset at least 0", place="search", remedy="ask for k >= 1")
    filter = check_filter(query.filter, build.program.source) if query.filter is not None else None
    window = build.program.fusion.window
    requests = tuple(
        SearchRequest(leg.index, leg_body(leg, (texts or {}).get(leg.key, query.text), size=window, filter=filter))
        for leg in build.legs
    )
    return Prepared(build.legs, requests, bool(texts))


def finish(
    query: SearchQuery,
    build: LiveBuild,
    prepared: Prepared,
    responses: Sequence[SearchResponse],
    on_leg_failure: OnLegFailure = "fail",
) -> SearchResult:
    """Collapse, fuse, cut the page.

    Raises LegFailed when a leg failed, unless told to degrade and another one answered.
    """
    failed = {leg.key: r.error for leg, r in zip(prepared.legs, responses, strict=True) if r.error is not None}
    if failed and (on_leg_failure == "fail" or len(failed) == len(prepared.legs)):
        key, error = next(iter(failed.items()))
        raise LegFailed(
            f"leg {key} failed: {error}", place=build.manifest.name, remedy="look at the cluster's health, then repeat"
        )
    lists = [
        LegList(leg.key, leg.weight, documents(leg, response.hits))
        for leg, response in zip(prepared.legs, responses, strict=True)
        if response.error is None
    ]
    fused = fuse(lists, build.program.fusion)
    full = any(len(leg.documents) >= build.program.fusion.window for leg in lists)
    page = fused[query.offset : query.offset + query.k]
    return SearchResult(
        hits=tuple(_hit(item) for item in page),
        total=len(fused),
        total_exact=not full and not failed,
        build=build.manifest.build,
        degraded={key: str(error) for key, error in failed.items()},
        cut=prepared.cut,
    )


def documents(leg: Leg, hits: Sequence[Hit]) -> list[tuple[str, float]]:
    """Rows to distinct documents, best row first, scores scaled to the sum of weight * BM25.

    Sorted again by score and document id: engines sort a document without `idxopt.doc_id` last among equals.
    """
    best: dict[str, float] = {}
    for hit in hits:
        doc_id = document_id(leg, hit)
        if doc_id not in best:
            best[doc_id] = hit.score * leg.scale
    return sorted(best.items(), key=lambda item: (-item[1], item[0]))


def document_id(leg: Leg, hit: Hit) -> str:
    """The primary view is read by `_id` (a pipeline sees automatic ids as null), other views by `idxopt.doc_id`."""
    if leg.primary or len(hit.sort) < 2 or hit.sort[1] is None:
        return hit.id
    return str(hit.sort[1])


def _hit(item: Fused) -> DocumentHit:
    return DocumentHit(item.doc_id, item.score, item.legs)


class Searcher:
    """Searches the live build of a name, or one given build (trials, gates)."""

    def __init__(self, reader: Reader, build: Resolver | LiveBuild, *, on_leg_failure: OnLegFailure = "fail") -> None:
        self._reader = reader
        self._build = build
        self._on_leg_failure = on_leg_failure

    def search(self, query: SearchQuery) -> SearchResult:
        """Answers a query. A build whose index went away meanwhile is resolved again once."""
        build = self._live()
        prepared = self._prepare(query, build)
        responses = self._reader.search(prepared.requests)
        if any(response.gone for response in responses) and isinstance(self._build, Resolver):
            self._build.invalidate()
            build = self._live()
            prepared = self._prepare(query, build)
            responses = self._reader.search(prepared.requests)
        result = finish(query, build, prepared, responses, self._on_leg_failure)
        return self._with_sources(result, build) if query.source else result

    def live(self) -> LiveBuild:
        """The build that answers now."""
        return self._live()

    def ranking(self, text: str, depth: int) -> list[tuple[str, float]]:
        """(document id, fused score), best first: what evaluation needs. Fails when any leg fails (contract 3)."""
        build = self._live()
        query = SearchQuery(text, k=depth)
        prepared = self._prepare(query, build)
        responses = self._reader.search(prepared.requests)
        result = finish(query, build, prepared, responses, "fail")
        return [(hit.doc_id, hit.score) for hit in result.hits]

    def _live(self) -> LiveBuild:
        if isinstance(self._build, LiveBuild):
            return self._build
        live = self._build.live()
        if live is None:
            raise BuildError(
                "there is no live build", place=self._build.name, remedy="put one live with `idxopt apply program.json`"
            )
        return live

    def _prepare(self, query: SearchQuery, build: LiveBuild) -> Prepared:
        limit = self._reader.capabilities().max_clauses
        if not too_long(query.text, build.legs, limit):
            return prepare(query, build)
        texts = {
            leg.key: cut_to_rarest(query.text, leg, leg_frequencies(self._reader, leg, query.text), limit)
            for leg in build.legs
        }
        return prepare(query, build, texts)

    def _with_sources(self, result: SearchResult, build: LiveBuild) -> SearchResult:
        index = build.manifest.views[build.manifest.primary].index
        found = self._reader.get_documents(index, [hit.doc_id for hit in result.hits])
        hits = tuple(
            replace(hit, source=_source(found[hit.doc_id].source) if hit.doc_id in found else None)
            for hit in result.hits
        )
        return replace(result, hits=hits)


def _source(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The application's document, without what idxopt added."""
    return {key: value for key, value in stored.items() if key != "idxopt"}
