"""Embeddings over HTTP: both encodings, batches, order, and H22: a broken answer is named and nothing of it is used."""

import base64
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import orjson
import pytest
from aiohttp import web

from idxopt.errors import ModelError
from idxopt.models.http.batches import BATCH_TEXTS
from idxopt.models.http.embeddings import HttpEmbedder
from tests.model_servers.server import DIMENSION, ModelServer, Request, embeddings, good_embeddings, status, vector_of

Make = Callable[..., HttpEmbedder]
TEXTS = [f"text {number}" for number in range(8)]


def expected(texts: list[str]) -> Any:
    return np.stack([vector_of(text) for text in texts])


def test_the_request_is_openais_and_the_vectors_are_in_order(server: ModelServer, embedder: Make) -> None:
    found = embedder(key="env:MODEL_KEY", model="served-name").embed(TEXTS, "passage")
    assert np.array_equal(found.vectors, expected(TEXTS))
    assert found.vectors.dtype == np.float32
    assert (found.tokens, found.truncated) == (None, ())
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.body == {"model": "served-name", "input": TEXTS, "encoding_format": "base64"}
    assert request.headers["Authorization"] == "Bearer sk-3f9a-not-for-anybody"


def test_no_texts_ask_nothing(server: ModelServer, embedder: Make) -> None:
    assert embedder().embed([], "query").vectors.shape == (0, DIMENSION)
    assert server.requests == []


def test_prefixes_and_cosine(server: ModelServer, embedder: Make) -> None:
    model = embedder(query_prefix="query: ", passage_prefix="passage: ", similarity="cosine")
    query = model.embed(["a"], "query").vectors
    assert np.allclose(query[0], vector_of("query: a") / np.linalg.norm(vector_of("query: a")))
    assert np.linalg.norm(model.embed(["a"], "passage").vectors[0]) == pytest.approx(1, abs=1e-6)
    assert [request.body["input"] for request in server.requests] == [["query: a"], ["passage: a"]]


def test_a_server_that_ignores_base64_is_understood(server: ModelServer, embedder: Make) -> None:
    def floats(request: Request) -> web.Response:
        request.body.pop("encoding_format")
        return web.json_response(embeddings(request))

    server.answer = floats
    assert np.allclose(embedder().embed(TEXTS, "passage").vectors, expected(TEXTS))


def test_a_server_that_refuses_base64_is_asked_for_floats_from_then_on(server: ModelServer, embedder: Make) -> None:
    def only_floats(request: Request) -> web.Response:
        if request.body["encoding_format"] == "base64":
            return status(400, "encoding_format base64 is not supported")
        return web.json_response(embeddings(request))

    server.answer = only_floats
    model = embedder()
    for _ in range(2):
        assert np.allclose(model.embed(TEXTS, "passage").vectors, expected(TEXTS))
    assert [request.body["encoding_format"] for request in server.requests] == ["base64", "float", "float"]


def test_batches_are_bounded_and_never_mix_up_texts(server: ModelServer, embedder: Make) -> None:
    texts = [f"{number} " + "x" * (number % 7) * 40 for number in range(150)]
    seen: list[tuple[int, int]] = []
    model = embedder(batch_tokens=1_000, concurrency=3)
    found = model.embed(texts, "passage", on_progress=lambda done, all_: seen.append((done, all_)))
    assert np.array_equal(found.vectors, expected(texts))
    sizes = [len(request.body["input"]) for request in server.requests]
    assert sum(sizes) == 150
    assert max(sizes) <= BATCH_TEXTS
    assert max(sum(map(len, request.body["input"])) for request in server.requests) <= 4_000
    assert server.busiest <= 3
    assert seen == sorted(seen)
    assert seen[-1] == (150, 150)


def test_a_text_longer_than_a_batch_goes_alone(server: ModelServer, embedder: Make) -> None:
    texts = ["a", "b" * 1_000, "c"]
    assert np.array_equal(embedder(batch_tokens=16).embed(texts, "passage").vectors, expected(texts))
    assert sorted(len(request.body["input"]) for request in server.requests) == [1, 1, 1]


def test_swapped_order_is_put_right_by_index(server: ModelServer, embedder: Make) -> None:
    def swapped(request: Request) -> web.Response:
        answer = embeddings(request)
        answer["data"].reverse()
        return web.json_response(answer)

    server.answer = swapped
    assert np.array_equal(embedder().embed(TEXTS, "passage").vectors, expected(TEXTS))


def test_lone_surrogates_reach_the_server_as_replacement(server: ModelServer, embedder: Make) -> None:
    embedder().embed(["bad \ud800 half, good \U0001f600 pair"], "passage")
    assert server.requests[0].body["input"] == ["bad \ufffd half, good \U0001f600 pair"]


def test_the_dimension_is_asked_for_once_where_the_program_gives_none(server: ModelServer, embedder: Make) -> None:
    model = embedder(dimension=None)
    assert server.requests == []
    assert (model.dimension, model.dimension) == (DIMENSION, DIMENSION)
    assert len(server.requests) == 1


def _without(values: dict[str, Any], position: int) -> dict[str, Any]:
    del values["data"][position]
    return values


def _reindexed(values: dict[str, Any], position: int, index: Any) -> dict[str, Any]:
    values["data"][position]["index"] = index
    return values


def _with_vector(values: dict[str, Any], position: int, vector: Any) -> dict[str, Any]:
    values["data"][position]["embedding"] = vector
    return values


def _packed(vector: list[float]) -> str:
    return base64.b64encode(np.asarray(vector, "<f4").tobytes()).decode()


NAN, INF, ZEROS = [1.0, float("nan")] * 4, [1.0, float("-inf")] * 4, [0.0] * 8
BROKEN = {
    "null": (None, "no list of numbers"),
    "null number": ([None] + [1.0] * 7, "not finite"),
    "NaN": (NAN, "not finite"),
    "NaN in base64": (_packed(NAN), "not finite"),
    "Infinity": (INF, "not finite"),
    "Infinity in base64": (_packed(INF), "not finite"),
    "beyond float32": ([1e300] * 8, "not finite"),
    "zeros": (ZEROS, "all zeros"),
    "zeros in base64": (_packed(ZEROS), "all zeros"),
    "short": ([1.0] * 7, "7 dimensions, not 8"),
    "long in base64": (_packed([1.0] * 9), "9 dimensions, not 8"),
    "empty": ([], "0 dimensions, not 8"),
    "text": (["a"] * 8, "no list of numbers"),
    "nested": ([[1.0] * 8], "no list of numbers"),
    "no base64": ("!!!!", "no base64"),
    "odd bytes": (base64.b64encode(b"12345").decode(), "no base64"),
}


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("before", [0, 32])
def test_h22_a_broken_vector_is_named_and_nothing_is_returned(
    server: ModelServer, embedder: Make, name: str, before: int
) -> None:
    """Item 3 of 8; also behind a full batch of good ones."""
    vector, said = BROKEN[name]

    def broken(request: Request) -> web.Response:
        values = embeddings(request)
        if "text 3" in request.body["input"]:
            values = _with_vector(values, request.body["input"].index("text 3"), vector)
        return web.Response(body=_python_json(values), content_type="application/json")

    server.answer = broken
    with pytest.raises(ModelError, match=said) as caught:
        embedder().embed([f"good {number}" for number in range(before)] + TEXTS, "passage")
    assert caught.value.item == before + 3
    assert f"text {before + 3}" in caught.value.message
    assert len(server.requests) == (2 if before else 1)  # a wrong answer is not asked for again


def _python_json(value: Any) -> bytes:
    """With NaN and Infinity as Python's servers write them."""
    return json.dumps(value).encode()


ANSWERS = {
    "half the list": (lambda values: {**values, "data": values["data"][:4]}, "4 vectors came back for 8 texts", 4),
    "one missing": (lambda values: _without(values, 3), "text 3 has none", 3),
    "index twice": (lambda values: _reindexed(values, 3, 2), "text 2 has two", 2),
    "no index": (lambda values: _reindexed(values, 3, None), "index None", None),
    "index too large": (lambda values: _reindexed(values, 3, 8), "index 8", None),
    "index negative": (lambda values: _reindexed(values, 3, -1), "index -1", None),
    "index true": (lambda values: _reindexed(values, 1, True), "index True", None),
    "no list": (lambda values: {**values, "data": {}}, "no list of vectors", None),
    "nulls in list": (lambda values: {**values, "data": [None] * 8}, "no list of vectors", None),
    "nothing": (lambda _: {}, "no list of vectors", None),
    "a list": (lambda values: values["data"], "no JSON object", None),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_answers_that_do_not_match_the_texts_are_refused(server: ModelServer, embedder: Make, name: str) -> None:
    change, said, item = ANSWERS[name]
    server.answer = lambda request: web.Response(body=orjson.dumps(change(embeddings(request))))
    with pytest.raises(ModelError, match=said) as caught:
        embedder().embed(TEXTS, "passage")
    assert caught.value.item == item


def test_the_first_failure_stops_what_has_not_begun(server: ModelServer, embedder: Make) -> None:
    server.answer = lambda request: status(400, "no such model") if request.number == 0 else good_embeddings(request)
    with pytest.raises(ModelError, match="no such model"):
        embedder(concurrency=2, batch_tokens=16).embed([f"text {number} " * 8 for number in range(40)], "passage")
    assert len(server.requests) < 10
