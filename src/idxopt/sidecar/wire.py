"""Requests and answers on the wire. A request that is wrong is told so in one sentence; unknown fields are let pass,
because clients send many that mean nothing here (`user`, `encoding`, `truncate`...).
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict, Field, field_validator

from idxopt.models.ports import TextKind
from idxopt.sidecar.served import Vector

IDS_REFUSED = (
    "holds token ids, which are not accepted: send the text itself "
    "(LangChain's OpenAIEmbeddings: check_embedding_ctx_length=False)"
)
_QUERY_TYPES = {"query", "search_query", "retrieval.query"}


class EmbeddingsRequest(BaseModel):
    """`POST /v1/embeddings`. `input_type` as in Cohere's and NVIDIA's shapes: query or passage."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: str | None = None
    input: tuple[str, ...]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = None
    input_type: str | None = None

    @field_validator("input", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list):
            raise ValueError("must be a string or a list of strings")
        if not texts:
            raise ValueError("holds no text")
        for position, text in enumerate(texts):
            if isinstance(text, int) or (isinstance(text, list) and all(isinstance(part, int) for part in text)):
                raise ValueError(IDS_REFUSED)
            if not isinstance(text, str):
                raise ValueError(f"item {position} is no string")
            _readable(text, position)
        return tuple(texts)

    @property
    def kind(self) -> TextKind:
        """Passage where the request does not say."""
        return "query" if self.input_type in _QUERY_TYPES else "passage"


class RerankRequest(BaseModel):
    """`POST /v1/rerank` (Cohere, Jina) and `/v2/rerank` (Cohere)."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    model: str | None = None
    query: Annotated[str, Field(min_length=1)]
    documents: tuple[str, ...]
    top_n: Annotated[int, Field(ge=1)] | None = None
    return_documents: bool | None = None

    @field_validator("query")
    @classmethod
    def _query(cls, value: str) -> str:
        _readable(value, None)
        return value

    @field_validator("documents", mode="before")
    @classmethod
    def _texts(cls, value: Any) -> Any:
        if not isinstance(value, list):
            raise ValueError("must be a list")
        if not value:
            raise ValueError("holds no document")
        texts = [document.get("text") if isinstance(document, Mapping) else document for document in value]
        for position, text in enumerate(texts):
            if not isinstance(text, str):
                raise ValueError(f"item {position} is neither a string nor an object with a string `text`")
            _readable(text, position)
        return tuple(texts)


def _readable(text: str, position: int | None) -> None:
    where = "" if position is None else f"item {position} "
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{where}holds half a surrogate pair, which is no text") from None


def embeddings_answer(
    model: str, vectors: Sequence[Vector], encoding: Literal["float", "base64"], tokens: int
) -> bytes:
    """OpenAI's shape, plus `truncated`: positions of the texts that were cut at the model's limit."""
    if encoding == "base64":
        values: list[Any] = [
            base64.b64encode(vector.values.astype("<f4", copy=False).tobytes()).decode() for vector in vectors
        ]
    else:
        values = [vector.values for vector in vectors]
    data = [{"object": "embedding", "index": index, "embedding": value} for index, value in enumerate(values)]
    answer = {
        "object": "list",
        "data": data,
        "model": model,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "truncated": [index for index, vector in enumerate(vectors) if vector.truncated],
    }
    return orjson.dumps(answer, option=orjson.OPT_SERIALIZE_NUMPY)


def rerank_answer(
    id_: str,
    model: str,
    request: RerankRequest,
    scores: Sequence[float],
    tokens: int,
    truncated: Sequence[int],
) -> bytes:
    """Best first, equal scores in the order of the documents. Fields of Cohere's and of Jina's shape together."""
    order = sorted(range(len(scores)), key=lambda index: (-scores[index], index))[: request.top_n]
    results: list[dict[str, Any]] = [{"index": index, "relevance_score": float(scores[index])} for index in order]
    if request.return_documents:
        for result in results:
            result["document"] = {"text": request.documents[result["index"]]}
    answer = {
        "id": id_,
        "model": model,
        "results": results,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        "meta": {"billed_units": {"search_units": 0}, "tokens": {"input_tokens": tokens}},
        "truncated": list(truncated),
    }
    return orjson.dumps(answer)
