"""The three ports of models and the data that passes through them. Providers implement them; nothing here loads any.

Every provider obeys the same rules, and one contract suite tests them: output is in input order and complete; a vector
that is not finite, has the wrong dimension or is all zeros raises ModelError naming the item; a text's result never
depends on the other texts of its batch; a call ends within its time-out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

from idxopt.hashing import digest

Vectors = npt.NDArray[np.float32]
"""Shape (texts, dimension), C-contiguous."""

TextKind = Literal["query", "passage"]
Similarity = Literal["cosine", "dot", "l2"]
Progress = Callable[[int, int], None]
"""Called with (done, all)."""


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """What decides a model's answers; where it runs does not. Caches and view hashes use `key`.

    `details` holds what the kind of model adds: dimension, similarity, prefixes, pooling, token limit, prompt version.
    """

    kind: Literal["embedder", "reranker", "generator"]
    id: str
    revision: str = ""
    details: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """sha256 (64 hex digits)."""
        return digest({"kind": self.kind, "id": self.id, "revision": self.revision, "details": dict(self.details)})


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors in the order of the texts. `tokens`: input tokens that the model read, by text (None: the provider cannot
    say). `truncated`: positions of texts that were cut at the model's limit.
    """

    vectors: Vectors
    tokens: tuple[int, ...] | None = None
    truncated: tuple[int, ...] = ()


class Tokenizer(Protocol):
    """A model's tokenizer, for counting and for cutting text."""

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each whole text, special tokens not counted."""
        ...

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Code points (start, end) of each token of the whole text, in order, special tokens left out."""
        ...


class Embedder(Protocol):
    """Texts to vectors. Vectors are normalised to length 1 when the similarity is cosine."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def dimension(self) -> int: ...

    @property
    def max_tokens(self) -> int | None:
        """Longest input in tokens, special tokens included; None where the provider cannot say."""
        ...

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        """Raises ModelError (the model or its server failed; names the text's position where one is to blame)."""
        ...


class TokenEmbedder(Embedder, Protocol):
    """An embedder that also gives the vectors of single tokens (MaxSim reranking)."""

    def token_vectors(self, texts: Sequence[str], kind: TextKind) -> list[Vectors]:
        """By text an array (tokens, dimension), each row normalised, without special tokens."""
        ...


class Reranker(Protocol):
    """(query, text) pairs to relevance scores; only the order of one query's scores means something."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def max_tokens(self) -> int | None:
        """Longest pair in tokens; longer texts are windowed by the caller."""
        ...

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """One finite score a text, in order. Raises ModelError."""
        ...


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to a generator. `schema` is a JSON Schema that the answer must obey (None: plain text).

    `max_tokens` bounds the answer. `task` and `text` say what is asked without the wording, for generators that have no
    use for a prompt (`extractive`): a form of `enrich` and the text it reads.
    """

    task: Literal["summary", "keywords", "questions", "paraphrase", "mindmap", "restructure", "answer", "propose"]
    text: str
    system: str = ""
    user: str = ""
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 512
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Generation:
    """An answer. `finish` is "length" when it was cut. Token counts are the provider's own, or counted where it gives
    none.
    """

    text: str
    input_tokens: int
    output_tokens: int
    finish: Literal["stop", "length"] = "stop"


class Generator(Protocol):
    """Prompts to text at temperature 0."""

    @property
    def identity(self) -> ModelIdentity: ...

    @property
    def price(self) -> tuple[float, float]:
        """List price of a million input and output tokens, in the configured currency (0, 0 for a local one)."""
        ...

    def count_tokens(self, text: str) -> int:
        """Upper estimate where the tokenizer is not known."""
        ...

    def generate(self, prompt: Prompt) -> Generation:
        """Raises ModelError."""
        ...
