"""The models that answering a query needs, and the query's vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from idxopt.compiler.lowered import DenseText, Leg
from idxopt.errors import ConfigError, ModelError
from idxopt.models.checks import usable_vectors
from idxopt.models.ports import Embedder, Reranker, Tokenizer
from idxopt.search.query import OnModelFailure


class QueryModels(Protocol):
    """Models by the program's names (`models.opening.Models` is one)."""

    def embedder(self, name: str) -> Embedder: ...

    def reranker(self, name: str) -> Reranker: ...

    def tokenizer(self, name: str) -> Tokenizer:
        """Raises ConfigError where the model's tokenizer is not known."""
        ...


@dataclass(frozen=True, slots=True)
class QueryVectors:
    """The vectors of one query by model; `failed` says why a model has none."""

    vectors: Mapping[str, Sequence[float]] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)


NO_VECTORS = QueryVectors()


def encode(text: str, legs: Sequence[Leg], models: QueryModels | None, on_failure: OnModelFailure) -> QueryVectors:
    """The query's vectors, each model asked once.

    Raises ConfigError without models, and ModelError for a model that fails, unless told to go on without it and a
    lexical leg is left.
    """
    needed = {leg.dense.model: leg.dense for leg in legs if leg.dense is not None}
    if not needed:
        return NO_VECTORS
    vectors: dict[str, Sequence[float]] = {}
    failed: dict[str, str] = {}
    for name, dense in needed.items():
        try:
            vectors[name] = _vector(text, name, dense, given(models, name))
        except ModelError as error:
            if on_failure == "fail" or all(leg.dense is not None for leg in legs):
                raise
            failed[name] = f"model {name}: {error.message}"
    return QueryVectors(vectors, failed)


def given(models: QueryModels | None, name: str) -> QueryModels:
    """The models. Raises ConfigError when there are none."""
    if models is None:
        raise ConfigError(
            f'searching needs the model "{name}" of the program, and no models were given',
            place="search",
            remedy="give them: Searcher(..., models=open_models(program, config))",
        )
    return models


def _vector(text: str, name: str, dense: DenseText, models: QueryModels) -> Sequence[float]:
    found = models.embedder(name).embed([text], "query")
    checked = usable_vectors(
        found.vectors, texts=1, dimension=dense.dimension, similarity=dense.similarity, place=f"models.{name}"
    )
    vector: list[float] = checked[0].tolist()
    return vector
