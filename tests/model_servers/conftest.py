"""A server for each test, and models that use it."""

from collections.abc import Callable, Iterator

import pytest

from idxopt.models.http.chat import HttpGenerator
from idxopt.models.http.embeddings import HttpEmbedder
from idxopt.models.http.opening import open_http
from idxopt.models.http.rerank import HttpReranker
from idxopt.program.schema import ModelSpec
from tests.model_servers.server import DIMENSION, ModelServer, good_embeddings, serving, settings

KEY = "sk-3f9a-not-for-anybody"


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(good_embeddings) as found:
        yield found


def secret(reference: str) -> str:
    assert reference == "env:MODEL_KEY"
    return KEY


@pytest.fixture
def embedder(server: ModelServer) -> Iterator[Callable[..., HttpEmbedder]]:
    opened: list[HttpEmbedder] = []

    def make(**changes: object) -> HttpEmbedder:
        dimension = changes.pop("dimension", DIMENSION)
        similarity = changes.pop("similarity", "dot")
        prefixes = {name: changes.pop(name, "") for name in ("query_prefix", "passage_prefix")}
        spec = ModelSpec.model_validate(
            {"kind": "embedder", "id": "test/embedder", "dimension": dimension, "similarity": similarity}
            | prefixes
            | ({"max_tokens": changes.pop("max_tokens")} if "max_tokens" in changes else {})
        )
        found = open_http(spec, settings(str(changes.pop("url", server.url)), **changes), secret)
        assert isinstance(found, HttpEmbedder)
        opened.append(found)
        return found

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def reranker(server: ModelServer) -> Iterator[Callable[..., HttpReranker]]:
    opened: list[HttpReranker] = []

    def make(**changes: object) -> HttpReranker:
        spec = ModelSpec(kind="reranker", id="test/reranker", max_tokens=512)
        found = open_http(spec, settings(str(changes.pop("url", server.url)), **changes), secret)
        assert isinstance(found, HttpReranker)
        opened.append(found)
        return found

    yield make
    for one in opened:
        one.close()


@pytest.fixture
def generator(server: ModelServer) -> Iterator[Callable[..., HttpGenerator]]:
    opened: list[HttpGenerator] = []

    def make(**changes: object) -> HttpGenerator:
        spec = ModelSpec(kind="generator", id="test/generator")
        found = open_http(spec, settings(str(changes.pop("url", server.url)), **changes), secret)
        assert isinstance(found, HttpGenerator)
        opened.append(found)
        return found

    yield make
    for one in opened:
        one.close()
