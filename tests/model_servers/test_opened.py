"""Served models as programs use them: opened by `Models`, behind the cache on disk."""

from pathlib import Path

import numpy as np
import pytest
from aiohttp import web

from idxopt.errors import ConfigError, ModelError
from idxopt.models.opening import Models
from idxopt.program.schema import ModelSpec
from tests.model_servers.conftest import KEY, secret
from tests.model_servers.server import DIMENSION, ModelServer, Request, embeddings, good_embeddings, settings, vector_of

SPEC = ModelSpec(kind="embedder", id="test/embedder", dimension=DIMENSION, similarity="dot")
TEXTS = [f"text {number}" for number in range(8)]


def models(server: ModelServer, cache: Path | None) -> Models:
    return Models({"e": SPEC}, {SPEC.id: settings(server.url, key="env:MODEL_KEY")}, cache=cache, secret=secret)


def test_h22_nothing_of_a_broken_batch_is_stored_and_a_second_run_goes_on(server: ModelServer, tmp_path: Path) -> None:
    def zeros_for_item_3(request: Request) -> web.Response:
        values = embeddings(request)
        if "text 3" in request.body["input"]:
            values["data"][request.body["input"].index("text 3")]["embedding"] = [0.0] * DIMENSION
        return web.json_response(values)

    with models(server, tmp_path) as opened:
        kept = opened.embedder("e").embed(["before"], "passage").vectors
        server.answer = zeros_for_item_3
        with pytest.raises(ModelError, match="text 3 is all zeros") as caught:
            opened.embedder("e").embed(TEXTS, "passage")
    assert caught.value.item == 3
    server.answer = good_embeddings
    server.requests.clear()
    with models(server, tmp_path) as opened:
        found = opened.embedder("e").embed(["before", *TEXTS], "passage").vectors
    assert [sorted(request.body["input"]) for request in server.requests] == [TEXTS]
    assert np.array_equal(found[0], kept[0])
    assert np.array_equal(found[1:], np.stack([vector_of(text) for text in TEXTS]))


def test_opening_sends_nothing_and_reads_the_key_by_its_reference(server: ModelServer) -> None:
    with models(server, None) as opened:
        model = opened.embedder("e")
        assert server.requests == []
        assert model.identity == opened.identity("e")
        model.embed(["a"], "query")
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"


def test_another_model_of_the_server_under_the_same_id_is_asked_anew(server: ModelServer, tmp_path: Path) -> None:
    asked = []
    for name in ("one", "one", "other"):
        chosen = settings(server.url, key="env:MODEL_KEY", model=name)
        with Models({"e": SPEC}, {SPEC.id: chosen}, cache=tmp_path, secret=secret) as opened:
            opened.embedder("e").embed(["a"], "passage")
        asked.append([request.body["model"] for request in server.requests])
    assert asked == [["one"], ["one"], ["one", "other"]]


def test_identities_do_not_depend_on_the_server(server: ModelServer) -> None:
    with models(server, None) as here:
        other = settings("https://elsewhere.example/v1", model="another-name", timeout_s=1.0)
        with Models({"e": SPEC}, {SPEC.id: other}, cache=None, secret=secret) as there:
            assert here.identity("e").key == there.embedder("e").identity.key


def test_a_wrong_address_is_a_configuration_error() -> None:
    with (
        Models({"e": SPEC}, {SPEC.id: settings("localhost:8080")}, cache=None, secret=secret) as opened,
        pytest.raises(ConfigError, match='"localhost:8080" is no address of a server'),
    ):
        opened.embedder("e")
