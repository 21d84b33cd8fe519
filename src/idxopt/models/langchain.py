"""LangChain objects as models of a program, passed in Python (`open_models(..., given={"NAME": ...})`).

Nothing of LangChain is imported: an `Embeddings` and a `BaseChatModel` are known by their methods.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from idxopt.errors import ModelError
from idxopt.models.answers import Unusable, answered
from idxopt.models.checks import usable_vectors
from idxopt.models.ports import Embedded, Generation, ModelIdentity, Progress, Prompt, Similarity, TextKind

_BATCH = 256
_CUT = ("length", "max_tokens", "MAX_TOKENS")
_AS_JSON = "Answer with JSON that obeys this schema, and with nothing else:\n"


class Embeddings(Protocol):
    """What is used of `langchain_core.embeddings.Embeddings`."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]: ...

    def embed_query(self, text: str) -> list[float]: ...


class ChatModel(Protocol):
    """What is used of `langchain_core.language_models.BaseChatModel`."""

    def invoke(self, input: Any, /, **arguments: Any) -> Any: ...


class LangChainEmbedder:
    """An Embedder over LangChain embeddings. `id` and `revision` name the model: change them when its vectors change.

    Prefixes are LangChain's business: `embed_query` and `embed_documents` are called with the texts as they are. How
    many tokens were read or cut is not known.
    """

    def __init__(
        self,
        embeddings: Embeddings,
        *,
        id: str,
        dimension: int,
        revision: str = "",
        similarity: Similarity = "cosine",
        max_tokens: int | None = None,
    ) -> None:
        self._embeddings = embeddings
        self._dimension = dimension
        self._similarity = similarity
        self._max_tokens = max_tokens
        details = {"dimension": dimension, "similarity": similarity, "through": "langchain"}
        self._identity = ModelIdentity("embedder", id, revision, details)

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def max_tokens(self) -> int | None:
        return self._max_tokens

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        """Raises ModelError for whatever the LangChain object raises."""
        vectors: list[list[float]] = []
        for at in range(0, len(texts), _BATCH):
            part = list(texts[at : at + _BATCH])
            vectors += self._called(part, kind)
            if on_progress is not None:
                on_progress(min(at + _BATCH, len(texts)), len(texts))
        usable = usable_vectors(
            vectors, texts=len(texts), dimension=self._dimension, similarity=self._similarity, place=self._place
        )
        return Embedded(np.ascontiguousarray(usable))

    @property
    def _place(self) -> str:
        return f"LangChain model {self._identity.id}"

    def _called(self, texts: list[str], kind: TextKind) -> list[list[float]]:
        try:
            if kind == "query":
                return [self._embeddings.embed_query(text) for text in texts]
            found = self._embeddings.embed_documents(texts)
        except Exception as error:  # any provider's own
            raise _failed(error, self._place) from error
        if len(found) != len(texts):
            raise ModelError(
                f"{len(found)} vectors came back for {len(texts)} texts", place=self._place, remedy="check the model"
            )
        return found


class LangChainGenerator:
    """A Generator over a LangChain chat model. `price` and token counts are as for any other: contract 9 holds.

    `arguments` go with every call; set there what makes the model repeatable. `limit`: the name of the argument that
    bounds the answer's tokens. JSON answers are asked for in words, checked, and asked for once more.
    """

    def __init__(
        self,
        model: ChatModel,
        *,
        id: str,
        revision: str = "",
        price: tuple[float, float] = (0.0, 0.0),
        limit: str = "max_tokens",
        arguments: Mapping[str, Any] | None = None,
    ) -> None:
        self._model = model
        self._price = price
        self._limit = limit
        self._arguments = {"temperature": 0} if arguments is None else dict(arguments)
        self._identity = ModelIdentity("generator", id, revision, {"through": "langchain"})

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def price(self) -> tuple[float, float]:
        return self._price

    def count_tokens(self, text: str) -> int:
        """UTF-8 bytes: no tokenizer makes more of a text."""
        return len(text.encode("utf-8", "surrogatepass"))

    def generate(self, prompt: Prompt) -> Generation:
        """Raises ModelError."""
        return answered(self.attempt, prompt, place=self._place)

    def attempt(self, prompt: Prompt) -> Generation:
        """One request, its answer unchecked against the schema. Raises ModelError."""
        system = prompt.system
        if prompt.schema is not None:
            schema = json.dumps(prompt.schema, ensure_ascii=False)
            system = f"{system}\n\n{_AS_JSON}{schema}".strip()
        messages = [("system", system)] if system else []
        try:
            answer = self._model.invoke(
                [*messages, ("human", prompt.user)], **{**self._arguments, self._limit: prompt.max_tokens}
            )
        except Exception as error:  # any provider's own
            raise _failed(error, self._place) from error
        text = _text(getattr(answer, "content", None))
        if text is None:
            raise Unusable("the answer holds no text", place=self._place, remedy="name another model")
        usage = getattr(answer, "usage_metadata", None) or {}
        read = usage.get("input_tokens", self.count_tokens(system) + self.count_tokens(prompt.user))
        written = usage.get("output_tokens", min(self.count_tokens(text), prompt.max_tokens))
        said = getattr(answer, "response_metadata", None) or {}
        cut = (said.get("finish_reason") or said.get("stop_reason") or said.get("done_reason")) in _CUT
        return Generation(text, read, written, "length" if cut else "stop")

    @property
    def _place(self) -> str:
        return f"LangChain model {self._identity.id}"


def _text(content: Any) -> str | None:
    """A message's content is a text, or a list of parts of which some are text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    parts = [part if isinstance(part, str) else part.get("text") for part in content if isinstance(part, str | dict)]
    texts = [part for part in parts if isinstance(part, str)]
    return "".join(texts) if texts else None


def _failed(error: Exception, place: str) -> ModelError:
    return ModelError(
        f"it raised {type(error).__name__}: {str(error)[:200]}", place=place, remedy="see its provider's documentation"
    )
