"""What the providers that run a network in this process share: texts are encoded, cut, counted and batched alike.

A provider adds the network: its `_pooled`, `_tokens` and `_logits` take the encodings of one batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from tokenizers import Encoding
from tokenizers import Tokenizer as Tokenization

from idxopt.errors import ModelError
from idxopt.models.batches import CPU_RUN_COST, CPU_TOKENS, GPU_TOKENS, run_in_batches
from idxopt.models.ports import Embedded, ModelIdentity, Progress, TextKind, Vectors
from idxopt.models.settings import ModelSettings
from idxopt.models.tokens import LimitedTokenizer, is_cut
from idxopt.program.schema import ModelSpec


class Encoder:
    """What an embedder and a reranker have in common.

    `limit`: longest input in tokens. `alone`: every text is a batch by itself.
    """

    def __init__(
        self,
        spec: ModelSpec,
        settings: ModelSettings,
        identity: ModelIdentity,
        tokenization: Tokenization,
        *,
        limit: int | None,
        place: str,
        on_cpu: bool,
        alone: bool = False,
    ) -> None:
        self._spec = spec
        self._identity = identity
        self._place = place
        self._limit = limit
        self._alone = alone
        self._run_cost = CPU_RUN_COST if on_cpu else None
        self._budget = settings.tokens_at_once(CPU_TOKENS if on_cpu else GPU_TOKENS)
        self._tokenizer = LimitedTokenizer(tokenization, limit, pairs=spec.kind == "reranker", place=place)

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def max_tokens(self) -> int | None:
        return self._limit

    def _batched(
        self, encodings: Sequence[Encoding], run: Callable[[list[Encoding]], Any], progress: Progress | None = None
    ) -> list[Any]:
        return run_in_batches(
            [len(encoding) for encoding in encodings],
            self._budget,
            lambda batch: run([encodings[position] for position in batch]),
            place=self._place,
            single=self._alone,
            run_cost=self._run_cost,
            on_progress=progress,
        )


class EncodingEmbedder(Encoder, ABC):
    """A TokenEmbedder."""

    _dimension: int

    @property
    def dimension(self) -> int:
        return self._dimension

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        """Vectors as the network and its pooling make them. Raises ModelError."""
        if not texts:
            return Embedded(np.zeros((0, self._dimension), np.float32), ())
        encodings = self._encoded(texts, kind)
        vectors = np.asarray(np.stack(self._batched(encodings, self._pooled, on_progress)), np.float32)
        cut = tuple(position for position, encoding in enumerate(encodings) if is_cut(encoding))
        return Embedded(vectors, tuple(len(encoding) for encoding in encodings), cut)

    def token_vectors(self, texts: Sequence[str], kind: TextKind) -> list[Vectors]:
        """Raises ModelError."""
        return self._batched(self._encoded(texts, kind), self._tokens)

    def _encoded(self, texts: Sequence[str], kind: TextKind) -> list[Encoding]:
        prefix = self._spec.query_prefix if kind == "query" else self._spec.passage_prefix
        return self._tokenizer.texts([prefix + text for text in texts] if prefix else texts)

    @abstractmethod
    def _pooled(self, encodings: list[Encoding]) -> Vectors:
        """A vector a text."""

    @abstractmethod
    def _tokens(self, encodings: list[Encoding]) -> list[Vectors]:
        """By text the vectors of its tokens."""


class EncodingReranker(Encoder, ABC):
    """A cross-encoder with one logit."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Logits. Raises ModelError."""
        return [float(score) for score in self._batched(self._tokenizer.pairs(query, texts), self._logits)]

    @abstractmethod
    def _logits(self, encodings: list[Encoding]) -> list[float]:
        """A logit a pair."""


def check_labels(labels: object, place: str) -> None:
    """Raises ModelError where a cross-encoder is known to have another number of labels than one."""
    if labels != 1:
        raise ModelError(
            f"the model has {labels} labels, and a reranker has one",
            place=place,
            remedy="name a cross-encoder for relevance",
        )
