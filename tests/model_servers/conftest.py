"""A server for each test, and models that use it."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any, TypeVar

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


Opened = TypeVar("Opened", HttpEmbedder, HttpReranker, HttpGenerator)
Opening = Callable[..., Any]


@pytest.fixture
def opening(server: ModelServer) -> Iterator[Opening]:
    """Opens a model behind the test's server (or another `url`), with settings; closes all at the end."""
    with ExitStack() as stack:

        def opened(spec: ModelSpec, kind: type[Opened], **changes: object) -> Opened:
            found = open_http(spec, settings(str(changes.pop("url", server.url)), **changes), secret)
            assert isinstance(found, kind)
            stack.callback(found.close)
            return found

        yield opened


@pytest.fixture
def embedder(opening: Opening) -> Callable[..., HttpEmbedder]:
    def make(**changes: object) -> HttpEmbedder:
        fixed = {"kind": "embedder", "id": "test/embedder", "dimension": DIMENSION, "similarity": "dot"}
        said = ("dimension", "similarity", "query_prefix", "passage_prefix", "max_tokens")
        spec = ModelSpec.model_validate(fixed | {name: changes.pop(name) for name in said if name in changes})
        found: HttpEmbedder = opening(spec, HttpEmbedder, **changes)
        return found

    return make


@pytest.fixture
def reranker(opening: Opening) -> Callable[..., HttpReranker]:
    spec = ModelSpec(kind="reranker", id="test/reranker", max_tokens=512)
    return lambda **changes: opening(spec, HttpReranker, **changes)


@pytest.fixture
def generator(opening: Opening) -> Callable[..., HttpGenerator]:
    spec = ModelSpec(kind="generator", id="test/generator")
    return lambda **changes: opening(spec, HttpGenerator, **changes)
