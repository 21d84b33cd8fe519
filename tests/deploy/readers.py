"""Readers that never stop while something is applied, and remember everything that they should not have seen."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any, Self

import opensearchpy

from idxopt.builds.resolver import Resolver
from idxopt.engines.port import Reader
from idxopt.search import Searcher, SearchQuery

QUERY = "shard replica"
PAUSE_S = 0.01


class Watch:
    """Runs `look` over and over in a thread; `look` returns what was wrong, or None. `looked` counts."""

    def __init__(self, look: Callable[[], str | None]) -> None:
        self._look = look
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.wrong: list[str] = []
        self.looked = 0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=60)

    def _run(self) -> None:
        while not self._stop.wait(PAUSE_S):
            try:
                found = self._look()
            except Exception as error:  # noqa: BLE001 - whatever a reader meets is a finding
                found = f"{type(error).__name__}: {error}"
            self.looked += 1
            if found is not None:
                self.wrong.append(found)


def searcher_look(reader: Reader, name: str, allowed: Callable[[], list[Any]]) -> Callable[[], str | None]:
    """Four views through the Searcher: the answer must be exactly that of one of the builds that may be live."""
    searcher = Searcher(reader, Resolver(reader, name, ttl=0.05))

    def look() -> str | None:
        result = searcher.search(SearchQuery(QUERY, k=20))
        seen = [(hit.doc_id, hit.score) for hit in result.hits]
        return None if seen in allowed() else f"build {result.build} answered {seen[:3]}..."

    return look


def alias_look(url: str, target: str, documents: int) -> Callable[[], str | None]:
    """An application's own `_search` over an alias or pattern: all documents, all of one version."""
    client = opensearchpy.OpenSearch(url, timeout=30)

    def look() -> str | None:
        answer: Mapping[str, Any] = client.search(index=target, body={"size": 200, "_source": ["version"]})
        if answer["_shards"]["failed"] or answer["timed_out"]:
            return f"failed shards: {answer['_shards']}"
        hits = answer["hits"]["hits"]
        versions = {hit["_source"].get("version") for hit in hits}
        if len(hits) != documents or len(versions) != 1:
            return f"{target}: {len(hits)} documents of versions {versions}"
        return None

    return look
