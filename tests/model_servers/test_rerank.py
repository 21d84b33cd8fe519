"""Rerank over HTTP: Cohere's and Jina's answer, sorted by score; every index exactly once."""

from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from idxopt.errors import ModelError
from idxopt.models.http.rerank import HttpReranker
from tests.model_servers.server import ModelServer, Request

Make = Callable[..., HttpReranker]
TEXTS = [f"text {number}" for number in range(40)]


def score_of(text: str) -> float:
    return (int(text.split()[1]) * 7 % 40) / 40


def results(request: Request) -> list[dict[str, Any]]:
    """Best first, as servers send them."""
    found = [
        {"index": index, "relevance_score": score_of(text)} for index, text in enumerate(request.body["documents"])
    ]
    return sorted(found, key=lambda one: -one["relevance_score"])


def good(request: Request) -> web.Response:
    return web.json_response({"id": "1", "results": results(request), "meta": {}})


def test_scores_come_in_the_order_of_the_texts(server: ModelServer, reranker: Make) -> None:
    server.answer = good
    assert reranker().score("a query", TEXTS) == [score_of(text) for text in TEXTS]
    assert {request.path for request in server.requests} == {"/v1/rerank"}
    assert sorted(len(request.body["documents"]) for request in server.requests) == [8, 32]
    assert all(request.body["top_n"] == len(request.body["documents"]) for request in server.requests)
    assert all(request.body["query"] == "a query" for request in server.requests)


def test_no_texts_ask_nothing(server: ModelServer, reranker: Make) -> None:
    assert reranker().score("a query", []) == []
    assert server.requests == []


BROKEN = {
    "one missing": (lambda found: [one for one in found if one["index"] != 5], "text 5 has none", 5),
    "twice": (lambda found: [*found, {"index": 5, "relevance_score": 0.5}], "text 5 has two", 5),
    "outside": (lambda found: [*found[:-1], {"index": 99, "relevance_score": 0.5}], "index 99", None),
    "null": (lambda found: [{**one, "relevance_score": None} if one["index"] == 5 else one for one in found], "5", 5),
    "NaN": (
        lambda found: [{**one, "relevance_score": float("nan")} if one["index"] == 5 else one for one in found],
        "5",
        5,
    ),
    "text": (lambda found: [{**one, "relevance_score": "1"} if one["index"] == 5 else one for one in found], "5", 5),
    "no score": (lambda found: [{"index": one["index"]} for one in found], "text 0", 0),
    "nothing": (lambda _: None, "no list of scores", None),
}


@pytest.mark.parametrize("name", BROKEN)
def test_answers_that_do_not_match_the_texts_are_refused(server: ModelServer, reranker: Make, name: str) -> None:
    change, said, item = BROKEN[name]
    server.answer = lambda request: web.json_response({"results": change(results(request))})
    with pytest.raises(ModelError, match=said) as caught:
        reranker().score("a query", TEXTS[:8])
    assert caught.value.item == item
