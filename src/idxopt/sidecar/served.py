"""Models that the sidecar serves: from the configuration to workers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from idxopt.errors import ConfigError, ModelError
from idxopt.models.checks import usable_scores, usable_vectors
from idxopt.models.opening import Models
from idxopt.models.ports import Embedder, ModelIdentity, Reranker, Similarity, Tokenizer
from idxopt.models.settings import ModelSettings
from idxopt.program.model_checks import MAXSIM
from idxopt.program.schema import ModelSpec
from idxopt.sidecar.scheduler import BatchLimits
from idxopt.sidecar.settings import SidecarSettings
from idxopt.sidecar.worker import Observer, Runner, Worker

EMBED_TURN = 1
RERANK_TURN = 1_000  # a query's texts are one call; splitting them among batches gains nothing
PAIR_SPECIALS = 3
TEXT_SPECIALS = 2
BYTES_OF_A_TOKEN = 3  # a low guess, where no tokenizer is known


class Vector(NamedTuple):
    """The embedder's answer to one text. `tokens` is None where the provider cannot say."""

    values: npt.NDArray[np.float32]
    tokens: int | None
    truncated: bool


@dataclass(frozen=True, slots=True)
class Model:
    """What is served under one id, before it has a worker. `details`: what /info says beside."""

    id: str
    kind: Literal["embedder", "reranker"]
    identity: ModelIdentity
    max_tokens: int | None
    dimension: int | None
    run: Runner
    tokenizer: Tokenizer | None
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Served:
    """A model at work."""

    model: Model
    worker: Worker
    batch_tokens: int

    def count(self, texts: Sequence[str], query: str | None = None) -> list[int]:
        """Tokens that the model would read of each text (with the query, for a reranker) if it had no limit."""
        if self.model.tokenizer is None:
            lengths = [len(text.encode()) // BYTES_OF_A_TOKEN + 1 for text in texts]
            beside = 0 if query is None else len(query.encode()) // BYTES_OF_A_TOKEN + 1
        else:
            lengths = self.model.tokenizer.count(texts)
            beside = 0 if query is None else self.model.tokenizer.count([query])[0]
        specials = TEXT_SPECIALS if query is None else PAIR_SPECIALS
        return [length + beside + specials for length in lengths]

    def read(self, tokens: Sequence[int]) -> list[int]:
        """What the model reads of them, given its limit."""
        limit = self.model.max_tokens
        return list(tokens) if limit is None else [min(count, limit) for count in tokens]


def check_budget(model: Model, settings: SidecarSettings) -> None:
    """Raises ConfigError where the model's longest text is over the budget of a batch."""
    if model.max_tokens is not None and model.max_tokens > settings.batch_tokens:
        raise ConfigError(
            f'batch_tokens is {settings.batch_tokens}, and one text of "{model.id}" may have {model.max_tokens}',
            place="sidecar.batch_tokens",
            remedy=f"set it to {model.max_tokens} or more",
        )


def served(model: Model, settings: SidecarSettings, observer: Observer) -> Served:
    """Starts the worker."""
    turn = EMBED_TURN if model.kind == "embedder" else RERANK_TURN
    limits = BatchLimits(settings.batch_tokens, settings.wait_ms / 1000, settings.queue, turn)
    return Served(model, Worker(model.id, model.run, limits, observer), settings.batch_tokens)


def of_embedder(
    id_: str,
    embedder: Embedder,
    *,
    similarity: Similarity = "cosine",
    tokenizer: Tokenizer | None = None,
    details: Mapping[str, Any] | None = None,
) -> Model:
    """An embedder to serve. Every vector is looked at before it is sent (no NaN, no zeros)."""

    def run(kind: Any, texts: Sequence[str]) -> Sequence[Vector]:
        found = embedder.embed(texts, kind)
        vectors = usable_vectors(
            found.vectors, texts=len(texts), dimension=embedder.dimension, similarity=similarity, place=id_
        )
        cut = set(found.truncated)
        tokens: Sequence[int | None] = found.tokens if found.tokens is not None else [None] * len(texts)
        if len(tokens) != len(texts):
            raise ModelError(f"the model counted the tokens of {len(tokens)} texts, not of {len(texts)}", place=id_)
        return [Vector(vectors[index], tokens[index], index in cut) for index in range(len(texts))]

    return Model(
        id_, "embedder", embedder.identity, embedder.max_tokens, embedder.dimension, run, tokenizer, dict(details or {})
    )


def of_reranker(
    id_: str, reranker: Reranker, *, tokenizer: Tokenizer | None = None, details: Mapping[str, Any] | None = None
) -> Model:
    """A reranker to serve."""

    def run(query: Any, texts: Sequence[str]) -> Sequence[float]:
        return usable_scores(reranker.score(query, texts), texts=len(texts), place=id_)

    return Model(id_, "reranker", reranker.identity, reranker.max_tokens, None, run, tokenizer, dict(details or {}))


def configured(
    settings: Mapping[str, ModelSettings], sidecar: SidecarSettings, wanted: Sequence[str], place: str
) -> dict[str, ModelSpec]:
    """What is to be served: the ids asked for, else every local model of the configuration. Raises ConfigError."""
    local = {id_: table for id_, table in settings.items() if table.provider != "http"}
    known = [*local, *(id_ for id_ in sidecar.rerankers if id_ not in local)]
    if not known and not wanted:
        raise ConfigError(
            "there is no model to serve",
            place=place,
            remedy='add [models."ID"] with `provider` ("onnx" or "sentence-transformers") and `path` (docs/sidecar.md)',
        )
    specs: dict[str, ModelSpec] = {}
    for id_ in wanted or known:
        over = id_.removeprefix(MAXSIM)
        if over not in local:
            raise ConfigError(
                f'[models."{over}"] is of another server' if over in settings else f'there is no [models."{over}"]',
                place=place,
                remedy=f"known: {', '.join(local) or 'none'}",
            )
        specs[id_] = _spec(id_, local[over], sidecar)
        if id_ != over and over not in specs:
            specs[over] = _spec(over, local[over], sidecar)
    return specs


def _spec(id_: str, settings: ModelSettings, sidecar: SidecarSettings) -> ModelSpec:
    if id_.startswith(MAXSIM) or id_ in sidecar.rerankers or _classifies(settings):
        return ModelSpec(kind="reranker", id=id_)
    return ModelSpec(kind="embedder", id=id_, similarity=sidecar.similarity.get(id_, "cosine"))


def _classifies(settings: ModelSettings) -> bool:
    """True for a folder whose config.json names a classifier: that is how cross-encoders are kept."""
    if settings.path is None:
        return False
    try:
        config = json.loads((Path(settings.path) / "config.json").read_bytes())
        return any(str(name).endswith("ForSequenceClassification") for name in config.get("architectures") or [])
    except (OSError, ValueError, AttributeError, TypeError):
        return False


def open_served(
    specs: Mapping[str, ModelSpec], settings: Mapping[str, ModelSettings], *, secret: Callable[[str], str]
) -> tuple[Models, list[Model]]:
    """Opens the weights of every model. Raises ConfigError and ModelError. The caller closes the first of the pair."""
    models = Models(specs, settings, cache=None, secret=secret)
    try:
        return models, [_opened(models, id_, spec, settings) for id_, spec in specs.items()]
    except BaseException:
        models.close()
        raise


def _opened(models: Models, id_: str, spec: ModelSpec, settings: Mapping[str, ModelSettings]) -> Model:
    table = settings[id_.removeprefix(MAXSIM)]
    try:
        tokenizer = models.tokenizer(id_)
    except ConfigError:
        tokenizer = None
    embedder = models.embedder(id_.removeprefix(MAXSIM)) if spec.kind == "embedder" or id_.startswith(MAXSIM) else None
    reranker = models.reranker(id_) if spec.kind == "reranker" else None
    device = getattr(embedder or reranker, "device", None) or table.device or "cpu"
    details = {"provider": table.provider, "device": device, "dtype": table.dtype}
    if reranker is not None:
        return of_reranker(id_, reranker, tokenizer=tokenizer, details=details)
    assert embedder is not None
    similarity = spec.similarity or "cosine"
    return of_embedder(id_, embedder, similarity=similarity, tokenizer=tokenizer, details=details)
