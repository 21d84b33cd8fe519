"""Embeddings of a server that speaks OpenAI's `/v1/embeddings`, in base64 or as lists of floats."""

from __future__ import annotations

import base64
import binascii
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from idxopt.errors import ModelError
from idxopt.models.checks import usable_vectors
from idxopt.models.http.batches import batches, each
from idxopt.models.http.client import Client
from idxopt.models.http.faults import OptionRefused
from idxopt.models.http.lists import in_order
from idxopt.models.http.window import Window
from idxopt.models.ports import Embedded, ModelIdentity, Progress, TextKind
from idxopt.program.schema import ModelSpec


class HttpEmbedder:
    """Texts to vectors over HTTP. Nothing is returned unless every vector is there and usable."""

    def __init__(
        self,
        client: Client,
        spec: ModelSpec,
        identity: ModelIdentity,
        *,
        model: str,
        batch_tokens: int,
        window: Window | None = None,
    ) -> None:
        self._client = client
        self._spec = spec
        self._identity = identity
        self._model = model
        self._batch_tokens = batch_tokens
        self._window = window
        self.variant = f"http {model}"  # the name that the server knows may come to mean another model under one id
        self._base64 = True
        self._dimension = spec.dimension
        self._lock = threading.Lock()

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def dimension(self) -> int:
        """As the program says; where it does not, the server is asked once."""
        with self._lock:
            if self._dimension is None:
                self._dimension = self.embed(["dimension"], "passage").vectors.shape[1]
            return self._dimension

    @property
    def max_tokens(self) -> int | None:
        return self._spec.max_tokens

    def close(self) -> None:
        self._client.close()

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        """Raises ModelError. Token counts and cuts are known where a tokenizer is configured; else the server cuts as
        it likes, and `tokens` is None.
        """
        prefix = self._spec.query_prefix if kind == "query" else self._spec.passage_prefix
        sent = [prefix + text for text in texts]
        tokens: tuple[int, ...] | None = None
        truncated: tuple[int, ...] = ()
        if self._window is not None:
            sent, tokens, truncated = self._window.cut(sent)
        rows: list[Any] = [None] * len(sent)
        done = 0
        parts = batches(sent, self._batch_tokens)
        for part, found in each(parts, lambda part: self._batch(part, sent), self._client.concurrency):
            rows[part.start : part.stop] = found
            done += len(found)
            if on_progress is not None:
                on_progress(done, len(sent))
        with np.errstate(over="ignore"):  # a number beyond float32 becomes infinite, and is refused as such
            vectors = usable_vectors(
                rows,
                texts=len(sent),
                dimension=self._spec.dimension,
                similarity=self._spec.similarity or "cosine",
                place=self._client.place,
            )
        return Embedded(vectors, tokens, truncated)

    def _batch(self, batch: range, texts: Sequence[str]) -> list[Any]:
        answer = self._ask([texts[position] for position in batch])
        items = in_order(answer.get("data"), len(batch), batch.start, "vector", self._client.place)
        return [self._vector(item.get("embedding"), batch.start + at) for at, item in enumerate(items)]

    def _ask(self, texts: list[str]) -> Any:
        """base64 is a third of the size and exact; a server that refuses it is asked for floats from then on."""
        body = {"model": self._model, "input": texts}
        if not self._base64:
            return self._client.post({**body, "encoding_format": "float"})
        try:
            return self._client.post({**body, "encoding_format": "base64"}, options=("encoding_format", "base64"))
        except OptionRefused:
            self._base64 = False
            return self._client.post({**body, "encoding_format": "float"})

    def _vector(self, value: Any, position: int) -> Any:
        """An array of a base64 text; a list goes on as it is, to be looked at with the others."""
        if not isinstance(value, str):
            return value
        try:
            return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f4").astype(np.float32)
        except (ValueError, binascii.Error):
            raise ModelError(
                f"the vector of text {position} is no base64 of 32-bit floats",
                place=self._client.place,
                item=position,
                remedy="check the server; nothing of this batch was kept",
            ) from None
