"""The `Searcher`: pure `prepare` and `finish` under a thin synchronous transport.

Command line, evaluation, gates and integrations all use it. One `_msearch` carries all legs to PHYSICAL indices of one
build: over aliases an `_msearch` is not atomic while they move (mixed answers were seen). Later rounds (kNN legs with
too few documents, texts of sections, sources) go to the same build.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from idxopt.builds.resolver import LiveBuild, Resolver
from idxopt.engines.port import Reader, SearchResponse
from idxopt.errors import BuildError, IdxoptError, LegFailed, ModelError, NotFound
from idxopt.program.schema import Program
from idxopt.search.clauses import cut_to_rarest, leg_frequencies, too_long
from idxopt.search.fusion import Fused, fuse_views
from idxopt.search.legs import Prepared, grown, leg_lists, prepare
from idxopt.search.models import NO_VECTORS, QueryModels, encode, given
from idxopt.search.query import DocumentHit, OnLegFailure, OnModelFailure, SearchQuery, SearchResult
from idxopt.search.reranking import Reranking, rerank
from idxopt.search.runlog import QueryLog
from idxopt.search.split import assigned, candidate_of, no_canary

Sources = Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Ranked:
    """The documents of all legs, fused and perhaps reranked. `full`: a leg returned as many as it was asked for."""

    prepared: Prepared
    fused: Sequence[Fused]
    full: bool
    degraded: Mapping[str, str]
    reranking: Reranking | None = None
    sources: Sources = field(default_factory=dict)

    @property
    def final(self) -> Reranking:
        """What the answer goes by: the reranking, or the fusion as it is where there was none."""
        return Reranking(self.fused) if self.reranking is None else self.reranking


def finish(
    build: LiveBuild,
    prepared: Prepared,
    responses: Sequence[SearchResponse],
    on_leg_failure: OnLegFailure = "fail",
) -> Ranked:
    """Collapse and fuse.

    Raises LegFailed when a leg failed, unless told to degrade and another one answered.
    """
    failed = {leg.key: r.error for leg, r in zip(prepared.legs, responses, strict=True) if r.error is not None}
    if failed and (on_leg_failure == "fail" or len(failed) == len(prepared.legs)):
        key, error = next(iter(failed.items()))
        raise LegFailed(
            f"leg {key} failed: {error}", place=build.manifest.name, remedy="look at the cluster's health, then repeat"
        )
    lists = leg_lists(prepared.legs, responses)
    return Ranked(
        prepared,
        fuse_views(lists, build.program),
        full=any(len(leg.documents) >= build.program.fusion.window for leg in lists),
        degraded={**{key: str(error) for key, error in failed.items()}, **prepared.missing},
    )


def page(query: SearchQuery, build: LiveBuild, ranked: Ranked) -> SearchResult:
    """Cuts the page asked for."""
    spec, found = build.program.rerank, ranked.final
    count = 0 if spec is None else spec.sections
    hits = tuple(_hit(item, found, count) for item in found.order[query.offset : query.offset + query.k])
    return SearchResult(
        hits=hits,
        total=len(found.order),
        total_exact=not ranked.full and not set(ranked.degraded) - {"rerank"},
        build=build.manifest.build,
        degraded=ranked.degraded,
        cut=bool(ranked.prepared.texts),
        sections=found.best(count),
        reranked=ranked.reranking is not None,
    )


def _hit(item: Fused, found: Reranking, sections: int) -> DocumentHit:
    return DocumentHit(
        item.doc_id,
        item.score,
        item.legs,
        views=item.views,
        reranked=found.scores.get(item.doc_id),
        sections=found.sections.get(item.doc_id, ())[:sections],
    )


class Searcher:
    """Searches the live build of a name, or one given build (trials, gates).

    `models`: needed where the program has dense legs or reranks; `models_of` finds them for the program of the build
    that answers, which another apply may change. `on_model_failure`: `lexical` answers without the legs and the
    reranking of a model that fails, and says so. `log` is told of every answer.

    While a canary runs, `search` sends its share of the queries to the candidate; what fails there is answered by the
    live build, and the result says so. `ranking`, `ranked` and `live` are of the live build alone.
    """

    def __init__(
        self,
        reader: Reader,
        build: Resolver | LiveBuild,
        *,
        models: QueryModels | None = None,
        models_of: Callable[[Program], QueryModels] | None = None,
        on_leg_failure: OnLegFailure = "fail",
        on_model_failure: OnModelFailure = "fail",
        log: QueryLog | None = None,
    ) -> None:
        self._log = log
        self._reader = reader
        self._build = build
        self._models = models
        self._models_of = models_of
        self._on_leg_failure = on_leg_failure
        self._on_model_failure = on_model_failure

    def search(self, query: SearchQuery) -> SearchResult:
        """Answers a query. A build whose index went away meanwhile is resolved again once.

        Raises ConfigError when the program needs models and there are none, ModelError and LegFailed; BuildError when
        the candidate is asked for by name and no canary runs.
        """
        started = time.perf_counter()
        resolver = self._build
        result = self._split(query, resolver) if isinstance(resolver, Resolver) else self._answer(query, resolver)
        if self._log is not None:
            self._log.record(query, result, (time.perf_counter() - started) * 1_000)
        return result

    def _split(self, query: SearchQuery, resolver: Resolver) -> SearchResult:
        """By the arm asked for, or the one that the key falls into."""
        self._live()  # without a live build there is nothing to split
        running = resolver.canary()
        if running is None:
            if query.arm == "candidate":
                raise no_canary(resolver.name)
            return self._of_live(query, resolver)
        if (query.arm or assigned(query, running.canary)) == "incumbent":
            return replace(self._of_live(query, resolver), arm="incumbent")
        try:
            answer = self._answer(query, candidate_of(running), repeat=True)
        except IdxoptError as error:  # also a filter that only the candidate refuses: its user must not notice
            if query.arm is not None:
                raise
            if isinstance(error, _Gone):
                resolver.invalidate()
                if resolver.canary() is None:
                    return self._of_live(query, resolver)
            return replace(self._of_live(query, resolver), arm="incumbent", fallback=error.message)
        return replace(answer, arm="candidate")

    def _of_live(self, query: SearchQuery, resolver: Resolver) -> SearchResult:
        try:
            return self._answer(query, self._live(), repeat=True)
        except _Gone:
            resolver.invalidate()
        return self._answer(query, self._live())

    def live(self) -> LiveBuild:
        """The build that answers now."""
        return self._live()

    def ranking(self, text: str, depth: int, *, rerank: bool = True) -> list[tuple[str, float]]:
        """(document id, score), best first: what evaluation needs. Fails when any leg or model fails (contract 3).

        Scores are those of the fusion; after reranking, where two scales meet, they only count down.
        """
        build = self._live()
        ranked = self.ranked(SearchQuery(text, k=depth, rerank=rerank), build)
        if ranked.reranking is None:
            return [(item.doc_id, item.score) for item in ranked.fused[:depth]]
        order = ranked.reranking.order[:depth]
        return [(item.doc_id, float(len(order) - place)) for place, item in enumerate(order)]

    def ranked(
        self,
        query: SearchQuery,
        build: LiveBuild,
        on_leg_failure: OnLegFailure = "fail",
        on_model_failure: OnModelFailure = "fail",
        *,
        repeat: bool = False,
    ) -> Ranked:
        """Everything that the legs found on one build, fused, and reranked where program and query say so.

        `repeat`: an index that is gone is told at once, because the caller resolves the build again.
        """
        prepared, responses = self._ask(query, build, on_model_failure, repeat)
        ranked = finish(build, prepared, responses, on_leg_failure)
        return self._reranked(query, build, ranked, on_model_failure)

    def _answer(self, query: SearchQuery, build: LiveBuild, *, repeat: bool = False) -> SearchResult:
        ranked = self.ranked(query, build, self._on_leg_failure, self._on_model_failure, repeat=repeat)
        result = page(query, build, ranked)
        return self._with_sources(result, build, ranked.sources) if query.source else result

    def _live(self) -> LiveBuild:
        if isinstance(self._build, LiveBuild):
            return self._build
        live = self._build.live()
        if live is None:
            raise BuildError(
                "there is no live build", place=self._build.name, remedy="put one live with `idxopt apply program.json`"
            )
        return live

    def _models_for(self, build: LiveBuild) -> QueryModels | None:
        return self._models if self._models_of is None else self._models_of(build.program)

    def _ask(
        self, query: SearchQuery, build: LiveBuild, on_model_failure: OnModelFailure, repeat: bool
    ) -> tuple[Prepared, list[SearchResponse]]:
        """All legs in one request; then again those kNN legs that have too few documents."""
        texts = self._cut(query, build)
        encoded = NO_VECTORS
        if any(leg.dense is not None for leg in build.legs):
            prepare(query, build, texts, only=())  # what is wrong with the query is told before a model is asked
            encoded = encode(query.text, build.legs, self._models_for(build), on_model_failure)
        prepared = prepare(query, build, texts, encoded=encoded)
        responses = self._search(build, prepared, repeat)
        while more := grown(prepared, responses, build.program.fusion.window):
            again = prepare(query, build, texts, encoded=encoded, ks=more, only=more)
            later = dict(zip(more, self._search(build, again, repeat), strict=True))
            responses = [later.get(leg.key, old) for leg, old in zip(prepared.legs, responses, strict=True)]
            prepared = replace(prepared, ks={**prepared.ks, **more})
        return prepared, responses

    def _search(self, build: LiveBuild, prepared: Prepared, repeat: bool) -> list[SearchResponse]:
        responses = self._reader.search(prepared.requests)
        for leg, response in zip(prepared.legs, responses, strict=True):
            if response.gone and repeat:
                raise _Gone(f"leg {leg.key} failed: {response.error}", place=build.manifest.name, remedy=_AGAIN)
        return responses

    def _cut(self, query: SearchQuery, build: LiveBuild) -> dict[str, str]:
        """The text by lexical leg, where the engine's clause limit makes it shorter."""
        limit = self._reader.capabilities().max_clauses
        if not too_long(query.text, build.legs, limit):
            return {}
        return {
            leg.key: cut_to_rarest(query.text, leg, leg_frequencies(self._reader, leg, query.text), limit)
            for leg in build.legs
            if leg.dense is None
        }

    def _reranked(self, query: SearchQuery, build: LiveBuild, ranked: Ranked, on_failure: OnModelFailure) -> Ranked:
        spec = build.program.rerank
        if spec is None or not query.rerank or not ranked.fused:
            return ranked
        models = given(self._models_for(build), spec.model)
        sources = self._sources(build, [item.doc_id for item in ranked.fused[: spec.candidates]])
        try:
            found = rerank(query.text, ranked.fused, sources, build.program, models)
        except ModelError as error:
            if on_failure == "fail":
                raise
            degraded = {**ranked.degraded, "rerank": f"model {spec.model}: {error.message}"}
            return replace(ranked, degraded=degraded, sources=sources)
        return replace(ranked, reranking=found, sources=sources)

    def _sources(self, build: LiveBuild, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Stored rows of the primary view, without their vectors."""
        index = build.manifest.views[build.manifest.primary].index
        try:
            found = self._reader.get_documents(index, ids, vectors=False)
        except NotFound as error:
            raise _Gone(error.message, place=build.manifest.name, remedy=_AGAIN) from error
        return {id: document.source for id, document in found.items()}

    def _with_sources(self, result: SearchResult, build: LiveBuild, known: Sources) -> SearchResult:
        missing = [hit.doc_id for hit in result.hits if hit.doc_id not in known]
        stored = {**known, **(self._sources(build, missing) if missing else {})}
        hits = tuple(
            replace(hit, source=_source(stored[hit.doc_id]) if hit.doc_id in stored else None) for hit in result.hits
        )
        return replace(result, hits=hits)


_AGAIN = "look at the cluster's health, then repeat"


class _Gone(LegFailed):
    """An index of the build is not there any more."""


def _source(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The application's document, without what idxopt added."""
    return {key: value for key, value in stored.items() if key != "idxopt"}
