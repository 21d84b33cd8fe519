"""The shapes on the wire: official clients of OpenAI, Cohere and LangChain unchanged; requests that are wrong."""

import base64
import json
from typing import Any

import cohere
import numpy as np
import openai
import pytest
import requests
from langchain_openai import OpenAIEmbeddings
from pydantic import SecretStr

from idxopt import __version__
from tests.sidecar.fakes import DIMENSION, FakeEmbedder, FakeReranker, vector_of
from tests.sidecar.serving import embedder, reranker, serving

TOKEN = "a-token-for-tests"
TEXTS = ["rotate an API key", "bake a cake", "", "größe 猫 🐱"]


@pytest.fixture(scope="module")
def server():
    models = [
        embedder(FakeEmbedder()),
        embedder(FakeEmbedder(), "other/embedder"),
        reranker(FakeReranker()),
    ]
    with serving(models, token=TOKEN, max_texts=50, max_text_bytes=5_000, max_body_bytes=200_000) as running:
        yield running


@pytest.fixture(scope="module")
def authorized(server):
    session = requests.Session()
    session.headers["Authorization"] = f"Bearer {TOKEN}"

    def call(method, path, **options):
        return session.request(method, server.url + path, timeout=30, **options)

    return call


def expected(texts):
    return np.stack([vector_of(text) for text in texts])


@pytest.mark.parametrize("options", [{}, {"encoding_format": "float"}, {"encoding_format": "base64"}], ids=str)
def test_the_openai_client_gets_its_vectors(server, options):
    """Without `encoding_format` that client asks for base64 and decodes it itself."""
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key=TOKEN, max_retries=0)
    answer = client.embeddings.create(model="fake", input=TEXTS, user="somebody", **options)
    values: list[Any] = [item.embedding for item in answer.data]
    if options.get("encoding_format") == "base64":
        assert all(isinstance(value, str) for value in values)
        values = [np.frombuffer(base64.b64decode(value), np.float32) for value in values]
    assert np.array_equal(np.asarray(values, np.float32), expected(TEXTS))
    assert [item.index for item in answer.data] == [0, 1, 2, 3]
    assert answer.usage.prompt_tokens == answer.usage.total_tokens == 6 + 5 + 2 + 5


def test_one_string_is_a_list_of_one(server):
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key=TOKEN)
    answer = client.embeddings.create(model="fake", input="bake a cake", dimensions=DIMENSION)
    assert np.array_equal(np.asarray(answer.data[0].embedding, np.float32), vector_of("bake a cake"))


def test_the_openai_client_lists_models_and_understands_errors(server):
    client = openai.OpenAI(base_url=f"{server.url}/v1", api_key=TOKEN, max_retries=0)
    assert [model.id for model in client.models.list()] == ["fake", "other/embedder", "fake-reranker"]
    assert client.models.retrieve("other/embedder").id == "other/embedder"
    with pytest.raises(openai.NotFoundError, match='the model "gpt" is not served here; known: fake, other/embedder'):
        client.embeddings.create(model="gpt", input="a")
    with pytest.raises(openai.UnprocessableEntityError, match="token ids"):
        client.embeddings.create(model="fake", input=[[1, 2, 3]])
    with pytest.raises(openai.AuthenticationError, match="token is missing or wrong"):
        openai.OpenAI(base_url=f"{server.url}/v1", api_key="wrong").models.list()


def test_langchain_gets_its_vectors(server):
    client = OpenAIEmbeddings(
        openai_api_base=f"{server.url}/v1",
        openai_api_key=SecretStr(TOKEN),
        model="fake",
        check_embedding_ctx_length=False,
    )
    assert np.array_equal(np.asarray(client.embed_documents(TEXTS), np.float32), expected(TEXTS))
    assert np.array_equal(np.asarray(client.embed_query(TEXTS[0]), np.float32), vector_of(TEXTS[0]))


DOCUMENTS = ["no word of it", "api key", "rotate the api key now", "key"]
BEST_FIRST = [(2, 3.0), (1, 2.0), (3, 1.0), (0, 0.0)]


def test_the_cohere_client_reranks(server):
    client = cohere.Client(base_url=server.url, api_key=TOKEN)
    answer = client.rerank(model="fake-reranker", query="rotate api key", documents=DOCUMENTS)
    assert [(item.index, item.relevance_score) for item in answer.results] == BEST_FIRST
    assert all(isinstance(item.relevance_score, float) for item in answer.results)
    shown = client.rerank(
        model="fake-reranker",
        query="rotate api key",
        documents=[{"text": text} for text in DOCUMENTS],
        top_n=2,
        return_documents=True,
    )
    assert [item.document.text for item in shown.results if item.document] == [DOCUMENTS[2], DOCUMENTS[1]]


def test_the_second_cohere_client_reranks(server):
    client = cohere.ClientV2(base_url=server.url, api_key=TOKEN)
    answer = client.rerank(model="fake-reranker", query="rotate api key", documents=DOCUMENTS, top_n=3)
    assert [(item.index, item.relevance_score) for item in answer.results] == BEST_FIRST[:3]


def test_scores_are_floats_on_the_wire_and_ties_keep_the_order(authorized):
    body = {
        "query": "key",
        "documents": ["key one", "none", {"text": "key two"}, "key three"],
        "model": "fake-reranker",
    }
    answer = authorized("POST", "/v1/rerank", json=body)
    assert '"relevance_score":1.0' in answer.text
    assert [item["index"] for item in answer.json()["results"]] == [0, 2, 3, 1]
    assert answer.json()["usage"]["total_tokens"] == sum((2, 1, 2, 2)) + 4 * (1 + 3)
    assert "document" not in answer.json()["results"][0]


def test_a_model_need_not_be_named_where_there_is_one_of_its_kind(authorized):
    assert authorized("POST", "/v1/rerank", json={"query": "a", "documents": ["a"]}).status_code == 200
    refused = authorized("POST", "/v1/embeddings", json={"input": "a"})
    assert refused.status_code == 422
    assert "name one of fake, other/embedder" in refused.json()["error"]["message"]


LONE_SURROGATE = b'{"model": "fake", "input": ["a", "\\ud800"]}'
MALFORMED = [
    ("/v1/embeddings", b"{", 400, "invalid_json", "not valid JSON"),
    ("/v1/embeddings", b"[]", 422, "invalid_request", "the body must be a JSON object"),
    ("/v1/embeddings", b"", 422, "invalid_request", "the body must be a JSON object"),
    ("/v1/embeddings", {"model": "fake"}, 422, "invalid_request", "`input` is missing"),
    ("/v1/embeddings", {"model": "fake", "input": []}, 422, "invalid_request", "`input` holds no text"),
    ("/v1/embeddings", {"model": "fake", "input": None}, 422, "invalid_request", "must be a string or a list"),
    ("/v1/embeddings", {"model": "fake", "input": [1, 2]}, 422, "invalid_request", "token ids"),
    ("/v1/embeddings", {"model": "fake", "input": [[1], [2]]}, 422, "invalid_request", "token ids"),
    ("/v1/embeddings", {"model": "fake", "input": ["a", None]}, 422, "invalid_request", "item 1 is no string"),
    ("/v1/embeddings", {"model": 7, "input": "a"}, 422, "invalid_request", "`model` is no text"),
    ("/v1/embeddings", {"model": "fake", "input": "a", "encoding_format": "hex"}, 422, "invalid_request", "is unknown"),
    ("/v1/embeddings", {"model": "fake", "input": "a", "dimensions": 2}, 422, "invalid_request", "must be 4"),
    ("/v1/embeddings", {"model": "fake-reranker", "input": "a"}, 400, "wrong_kind_of_model", "is a reranker"),
    ("/v1/embeddings", {"model": "none", "input": "a"}, 404, "model_not_found", "is not served here"),
    ("/v1/embeddings", LONE_SURROGATE, 422, "invalid_request", "item 1 holds half a surrogate pair"),
    ("/v1/embeddings", {"model": "fake", "input": ["a"] * 51}, 413, "too_large", "51 items, 50 are allowed"),
    ("/v1/embeddings", {"model": "fake", "input": ["a", "b" * 5_001]}, 413, "too_large", "item 1 has 5,001 bytes"),
    ("/v1/embeddings", b" " * 200_001, 413, "too_large", "over 200,000 bytes"),
    ("/v1/rerank", {"documents": ["a"]}, 422, "invalid_request", "`query` is missing"),
    ("/v1/rerank", {"query": "", "documents": ["a"]}, 422, "invalid_request", "`query` is empty"),
    ("/v1/rerank", {"query": "a", "documents": []}, 422, "invalid_request", "`documents` holds no document"),
    ("/v1/rerank", {"query": "a", "documents": "a"}, 422, "invalid_request", "`documents` must be a list"),
    ("/v1/rerank", {"query": "a", "documents": ["a", {"title": "b"}]}, 422, "invalid_request", "item 1 is neither"),
    ("/v1/rerank", {"query": "a", "documents": ["a"], "top_n": 0}, 422, "invalid_request", "`top_n` is too small"),
    ("/v1/rerank", {"query": "a", "documents": ["a"], "model": "fake"}, 400, "wrong_kind_of_model", "an embedder"),
    ("/v1/nothing", {}, 404, "not_found", "there is no /v1/nothing"),
    ("/health", {}, 405, "method_not_allowed", "does not take POST"),
]


@pytest.mark.parametrize(("path", "body", "status", "code", "told"), MALFORMED)
def test_what_is_wrong_is_said_in_one_sentence(authorized, path, body, status, code, told):
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    refused = authorized("POST", path, data=data, headers={"Content-Type": "application/json"})
    assert (refused.status_code, refused.headers["Content-Type"]) == (status, "application/json")
    assert set(refused.json()) == {"error"}
    error = refused.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["code"] == code
    assert told in error["message"]
    assert "\n" not in error["message"]


def test_nothing_but_probes_is_answered_without_the_token(server):
    for path in ("/v1/models", "/info", "/metrics", "/v1/nothing", "/docs"):
        refused = server.get(path)
        assert (refused.status_code, refused.headers["WWW-Authenticate"]) == (401, "Bearer"), path
        assert refused.json()["error"]["type"] == "authentication_error"
    for header in (f"Bearer {TOKEN}x", "Bearer ", TOKEN, f"Basic {TOKEN}", "Bearer ünlesbar"):
        wrong = server.post("/v1/embeddings", {}, headers={"Authorization": header.encode()})
        assert wrong.status_code == 401, header
    assert server.get("/health").json() == {"status": "ok"}
    assert server.get("/ready").json() == {"status": "ready"}


def test_info_tells_models_and_limits_but_no_secret(authorized):
    info = authorized("GET", "/info").json()
    assert info["version"] == __version__
    assert info["models"][0] == {
        "id": "fake",
        "kind": "embedder",
        "revision": "r1",
        "dimension": DIMENSION,
        "max_tokens": 32,
        "device": "cpu",
    }
    assert info["limits"]["max_texts"] == 50
    assert "token" not in info["limits"]
    assert TOKEN not in authorized("GET", "/info").text


def test_metrics_count_requests_texts_and_tokens(authorized):
    def value(start):
        lines = authorized("GET", "/metrics").text.splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"idxopt_sidecar_{start}"))

    route = 'requests_total{route="/v1/embeddings",status="200"}'
    texts, tokens = 'texts_total{model="other/embedder"}', 'tokens_total{model="other/embedder"}'
    before = value(route), value(texts), value(tokens)
    authorized("POST", "/v1/embeddings", json={"model": "other/embedder", "input": ["one", "two words"]})
    assert (value(route), value(texts), value(tokens)) == (before[0] + 1, before[1] + 2, before[2] + 3 + 4)
    assert value("queue_texts") == 0
