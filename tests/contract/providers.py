"""Every provider of embedders and rerankers, opened as `Models` opens it: these suites are what "a provider" means."""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from aiohttp import web

from idxopt.models.langchain import LangChainEmbedder
from idxopt.models.opening import Models
from idxopt.models.ports import Embedder
from idxopt.models.settings import ModelSettings
from idxopt.program.schema import ModelSpec
from tests.model_servers.server import Request, embeddings, serving
from tests.models_support import MINILM_ID, minilm_spec

CROSS_ENCODER_ID = "tests/cross-encoder"
TORCH = pytest.param("sentence-transformers", marks=pytest.mark.torch)
EMBEDDERS = ("onnx", "onnx-int8", "onnx-dynamic", TORCH, "http", "langchain")
RERANKERS = ("onnx", TORCH, "maxsim")
LIMIT = 256

Fixture = Callable[[str], Path]


def opened(settings: ModelSettings, spec: ModelSpec | None = None) -> Models:
    """Models with one embedder `e`, a cross-encoder `ce` of the same settings' provider, and MaxSim over `e`."""
    embedder = spec or minilm_spec()
    specs = {
        "e": embedder,
        "ce": ModelSpec(kind="reranker", id=CROSS_ENCODER_ID, max_tokens=LIMIT),
        "late": ModelSpec(kind="reranker", id="maxsim:e"),
    }
    return Models(specs, {embedder.id: settings, CROSS_ENCODER_ID: settings}, cache=None, secret=lambda _: "")


@contextmanager
def embedder(name: str, fixture: Fixture) -> Iterator[Embedder]:
    """all-MiniLM-L6-v2 by one provider."""
    minilm = fixture("minilm")
    if name == "http":
        with over_http(minilm) as models:
            yield models.embedder("e")
        return
    folder = {"onnx-int8": "minilm_int8", "onnx-dynamic": "minilm_dynamic"}.get(name, "minilm")
    if name == "langchain":
        with opened(ModelSettings(provider="onnx", path=str(minilm))) as models:
            given = LangChainEmbedder(AsLangChain(models.embedder("e")), id=MINILM_ID, dimension=384)
            yield Models({"e": minilm_spec()}, {}, cache=None, secret=lambda _: "", given={"e": given}).embedder("e")
        return
    provider = _torch() if name == "sentence-transformers" else "onnx"
    settings = ModelSettings.model_validate({"provider": provider, "path": str(fixture(folder))})
    with opened(settings) as models:
        yield models.embedder("e")


def reranker_settings(name: str, fixture: Fixture) -> ModelSettings:
    """Settings of the cross-encoder, or of MaxSim's embedder."""
    provider = _torch() if name == "sentence-transformers" else "onnx"
    folder = fixture("minilm" if name == "maxsim" else "cross_encoder")
    return ModelSettings.model_validate({"provider": provider, "path": str(folder)})


@contextmanager
def over_http(minilm: Path) -> Iterator[Models]:
    """A server that embeds by ONNX Runtime, and the provider http on the other side."""
    with opened(ModelSettings(provider="onnx", path=str(minilm))) as local:

        def answer(request: Request) -> web.Response:
            found = local.embedder("e").embed(request.body["input"], "passage")
            return web.json_response(embeddings(request, found.vectors.tolist()))

        with serving(answer) as server:
            settings = ModelSettings(provider="http", url=server.url, tokenizer=str(minilm))
            with opened(settings) as models:
                yield models


class AsLangChain:
    """What a LangChain `Embeddings` looks like."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        vectors: list[list[float]] = self._embedder.embed(texts, "passage").vectors.tolist()
        return vectors

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self._embedder.embed([text], "query").vectors[0].tolist()
        return vector


def _torch() -> str:
    """torch takes gigabytes: it has an environment of its own, where these tests run too (`make test-torch`)."""
    if importlib.util.find_spec("sentence_transformers") is None:
        pytest.skip("sentence-transformers is not installed in this environment")
    return "sentence-transformers"
