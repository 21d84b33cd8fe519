"""Scores of a server that speaks Cohere's and Jina's `/v1/rerank`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from idxopt.models.checks import usable_scores
from idxopt.models.http.batches import batches, each
from idxopt.models.http.client import Client
from idxopt.models.http.lists import in_order
from idxopt.models.ports import ModelIdentity
from idxopt.program.schema import ModelSpec


class HttpReranker:
    """(query, text) pairs to scores over HTTP."""

    def __init__(
        self, client: Client, spec: ModelSpec, identity: ModelIdentity, *, model: str, batch_tokens: int
    ) -> None:
        self._client = client
        self._spec = spec
        self._identity = identity
        self._model = model
        self._batch_tokens = batch_tokens

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def max_tokens(self) -> int | None:
        return self._spec.max_tokens

    def close(self) -> None:
        self._client.close()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score a text, in the order of the texts, whatever the order of the answer. Raises ModelError."""
        asked = self._spec.query_prefix + query
        sent = [self._spec.passage_prefix + text for text in texts]
        scores: list[Any] = [None] * len(sent)
        parts = batches(sent, self._batch_tokens)
        for part, found in each(parts, lambda part: self._batch(asked, part, sent), self._client.concurrency):
            scores[part.start : part.stop] = found
        return usable_scores(scores, texts=len(sent), place=self._client.place)

    def _batch(self, query: str, part: range, texts: Sequence[str]) -> list[Any]:
        sent = [texts[position] for position in part]
        answer = self._client.post({"model": self._model, "query": query, "documents": sent, "top_n": len(sent)})
        items = in_order(answer.get("results"), len(sent), part.start, "score", self._client.place)
        return [item.get("relevance_score") for item in items]
