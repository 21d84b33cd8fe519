"""The server with models that are short of memory, broken or slow: one clear error, never a wrong or partial answer."""

import math
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import requests

from idxopt.errors import ConfigError
from idxopt.sidecar.app import Service
from idxopt.sidecar.server import listen
from idxopt.sidecar.settings import SidecarSettings
from tests.sidecar.fakes import (
    FakeEmbedder,
    FakeReranker,
    Slow,
    no_memory_above,
    no_memory_for,
    pause,
    vector_of,
)
from tests.sidecar.serving import embedder, reranker, serving


def vectors(response):
    assert response.status_code == 200, response.text
    data = response.json()["data"]
    assert [item["index"] for item in data] == list(range(len(data)))
    return np.asarray([item["embedding"] for item in data], np.float32)


def metric(server, name, **labels):
    wanted = "{" + ",".join(f'{key}="{value}"' for key, value in labels.items()) + "}"
    lines = [
        line for line in server.get("/metrics").text.splitlines() if line.startswith(f"idxopt_sidecar_{name}{wanted}")
    ]
    assert len(lines) == 1, lines
    return float(lines[0].rpartition(" ")[2])


def shuffled(count):
    texts = [f"t{number} " + "word " * (number % 28) for number in range(count)]
    random.Random(3).shuffle(texts)
    return texts


def test_h23_out_of_memory_halves_the_batch_and_keeps_count_and_order():
    texts = shuffled(200)
    with serving([embedder(FakeEmbedder(fault=no_memory_above(7)))], batch_tokens=512) as server:
        assert np.array_equal(vectors(server.embed(texts)), np.stack([vector_of(text) for text in texts]))
        assert metric(server, "halved_batches_total", model="fake") > 0


def test_h23_out_of_memory_at_the_second_batch_only():
    calls = []

    def fault(texts):
        calls.append(len(texts))
        if len(calls) == 2:
            raise MemoryError

    texts = shuffled(100)
    with serving([embedder(FakeEmbedder(fault=fault))], batch_tokens=400) as server:
        assert np.array_equal(vectors(server.embed(texts)), np.stack([vector_of(text) for text in texts]))
    assert len(calls) > 3


def test_h23_a_text_that_never_fits_is_named_and_other_clients_are_served():
    texts = [*(f"t{number}" for number in range(40)), "monster", "last"]
    hold = Slow()

    def fault(batch):
        hold(batch)
        no_memory_for("monster")(batch)

    with serving([embedder(FakeEmbedder(fault=fault))]) as server, ThreadPoolExecutor(4) as pool:
        first = pool.submit(server.embed, "opener")
        assert hold.started.wait(5)
        bad, good = pool.submit(server.embed, texts), pool.submit(server.embed, ["fine", "as well"])
        wait_for(lambda: queued(server) == 44)
        hold.free.set()
        refused = bad.result()
        assert refused.status_code == 500
        assert refused.json()["error"]["param"] == "input[40]"
        assert "out of memory" in refused.json()["error"]["message"]
        assert "data" not in refused.json()
        assert len(vectors(good.result())) == 2
        assert len(vectors(first.result())) == 1


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_h22_a_vector_that_is_not_finite_is_an_error_that_names_the_item(value):
    def spoil(texts, made):
        for row, text in enumerate(texts):
            if text == "text 3":
                made[row, 2] = value
        return made

    texts = [f"text {number}" + " more" * (number % 3 if number != 3 else 0) for number in range(8)]
    with serving([embedder(FakeEmbedder(spoil=spoil))]) as server:
        for encoding in ("float", "base64"):
            refused = server.embed(texts, encoding_format=encoding)
            assert refused.status_code == 500
            error = refused.json()["error"]
            assert (error["param"], error["code"], error["type"]) == ("input[3]", "model_failed", "server_error")
            assert "the vector of text 3 is not finite" in error["message"]
        assert len(vectors(server.embed([text for text in texts if text != "text 3"]))) == 7


def test_h22_zeros_and_missing_vectors_are_errors():
    with serving([embedder(FakeEmbedder(spoil=lambda _texts, made: made * 0))]) as server:
        assert "all zeros" in server.embed(["a", "b"]).json()["error"]["message"]
    with serving([embedder(FakeEmbedder(spoil=lambda _texts, made: made[:-1]))]) as server:
        assert "2 vectors came back for 3 texts" in server.embed(["a", "b", "c"]).json()["error"]["message"]


def test_h22_a_score_that_is_not_finite_is_an_error():
    class Broken(FakeReranker):
        def score(self, query, texts):
            return [math.nan if text == "bad" else 1.0 for text in texts]

    with serving([reranker(Broken())]) as server:
        refused = server.post("/v1/rerank", {"query": "q", "documents": ["a", "bad", "c"]})
        assert refused.status_code == 500
        assert refused.json()["error"]["param"] == "documents[1]"


def wait_for(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "not within time"
        time.sleep(0.01)


def queued(server, model="fake"):
    return server.service.served[model].worker.waiting


def test_a_full_queue_is_429_with_retry_after_and_later_all_is_served():
    hold = Slow()
    with serving([embedder(FakeEmbedder(fault=hold))], queue=10, max_texts=10) as server, ThreadPoolExecutor(4) as pool:
        first = pool.submit(server.embed, "opener")
        assert hold.started.wait(5)
        waiting = pool.submit(server.embed, [f"t{number}" for number in range(8)])
        wait_for(lambda: queued(server) == 8)
        refused = server.embed(["a", "b", "c"])
        assert refused.status_code == 429
        assert 1 <= int(refused.headers["Retry-After"]) <= 60
        assert refused.json()["error"]["code"] == "queue_full"
        assert server.get("/health").status_code == 200
        hold.free.set()
        assert len(vectors(first.result())) == 1
        assert len(vectors(waiting.result())) == 8
        assert len(vectors(server.embed(["a", "b", "c"]))) == 3


def test_a_client_that_goes_away_is_dropped():
    fake = FakeEmbedder(fault=(hold := Slow()))
    with serving([embedder(fake)]) as server, ThreadPoolExecutor(2) as pool:
        first = pool.submit(server.embed, "opener")
        assert hold.started.wait(5)
        with pytest.raises(requests.Timeout):
            requests.post(
                f"{server.url}/v1/embeddings", json={"input": ["gone 1", "gone 2"], "model": "fake"}, timeout=0.3
            )
        wait_for(lambda: queued(server) == 0)
        hold.free.set()
        assert first.result().status_code == 200
        assert metric(server, "withdrawn_texts_total", model="fake") == 2
    assert not any(text.startswith("gone") for call in fake.calls for text in call)


def test_a_request_ends_when_its_time_is_up():
    hold = Slow()
    with serving([embedder(FakeEmbedder(fault=hold))], timeout_s=0.3) as server:
        refused = server.embed("a")
        hold.free.set()
        assert refused.status_code == 504
        assert refused.json()["error"]["code"] == "timed_out"


def test_requests_of_many_clients_share_batches_and_each_gets_its_own():
    fake = FakeEmbedder(fault=pause(0.02))
    with serving([embedder(fake)]) as server, ThreadPoolExecutor(16) as pool:
        texts = [f"client {number} " + "word " * (number % 9) for number in range(160)]
        answers = list(pool.map(lambda text: vectors(server.embed(text))[0], texts))
    assert np.array_equal(np.stack(answers), np.stack([vector_of(text) for text in texts]))
    assert len(fake.calls) < 60


def test_a_list_does_not_hold_up_a_single_text():
    fake = FakeEmbedder(fault=pause(0.02))
    with serving([embedder(fake)], batch_tokens=64) as server, ThreadPoolExecutor(2) as pool:
        bulk = pool.submit(server.embed, [f"bulk {number}" for number in range(800)])
        wait_for(lambda: len(fake.calls) > 2)
        server.embed("single")
        assert not bulk.done()
        assert len(vectors(bulk.result())) == 800


def test_queries_and_passages_are_read_as_such():
    fake = FakeEmbedder()
    with serving([embedder(fake)]) as server:
        for kind in (None, "query", "passage", "search_query", "search_document"):
            vectors(server.embed("a", **({"input_type": kind} if kind else {})))
    assert fake.kinds == ["passage", "query", "passage", "query", "passage"]


def test_a_text_over_the_budget_of_a_model_without_limit_is_refused_at_once():
    with serving([embedder(FakeEmbedder(max_tokens=None))], batch_tokens=64) as server:
        began = time.monotonic()
        refused = server.embed(["short", "word " * 63])
        assert refused.status_code == 413
        assert refused.json()["error"]["param"] == "input[1]"
        assert time.monotonic() - began < 5
        assert len(vectors(server.embed(["short", "word " * 62]))) == 2


def test_a_budget_below_the_longest_text_is_a_mistake_of_the_configuration():
    with pytest.raises(ConfigError, match='one text of "fake" may have 32'):
        Service([embedder(FakeEmbedder())], SidecarSettings(batch_tokens=31))


def test_long_texts_are_cut_and_counted_or_refused():
    long = "word " * 100
    with serving([embedder(FakeEmbedder())]) as server:
        answer = server.embed(["short", long]).json()
        assert answer["truncated"] == [1]
        assert answer["usage"] == {"prompt_tokens": 3 + 32, "total_tokens": 3 + 32}
        assert metric(server, "truncated_total", model="fake") == 1
    with serving([embedder(FakeEmbedder())], long_texts="refuse") as server:
        refused = server.embed(["short", long])
        assert refused.status_code == 413
        assert refused.json()["error"]["code"] == "text_too_long"


def test_a_body_that_never_ends_is_cut_off():
    """Chunked, without a length: the server stops reading at its limit and says why."""
    with serving([embedder(FakeEmbedder())], max_body_bytes=100_000) as server:
        host, port = server.url.removeprefix("http://").split(":")
        with socket.create_connection((host, int(port)), timeout=10) as connection:
            connection.sendall(
                b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n"
            )
            chunk = b"2710\r\n" + b" " * 10_000 + b"\r\n"
            for _ in range(11):
                connection.sendall(chunk)
            assert connection.recv(4096).startswith(b"HTTP/1.1 413")


def open_body(server, size):
    """A connection on which a body of that length is announced, and not sent yet."""
    host, port = server.url.removeprefix("http://").split(":")
    connection = socket.create_connection((host, int(port)), timeout=10)
    connection.sendall(
        b"POST /v1/embeddings HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        b"Content-Length: %d\r\n\r\n" % size
    )
    return connection


def test_a_body_that_arrives_too_slowly_is_408_and_its_connection_ends():
    with serving([embedder(FakeEmbedder())], body_s=0.5) as server, open_body(server, 1_000) as connection:
        began = time.monotonic()
        answer = b""
        connection.settimeout(0.1)
        while not answer:
            connection.sendall(b" ")
            try:
                answer = connection.recv(4096)
            except TimeoutError:
                assert time.monotonic() - began < 5
        assert answer.startswith(b"HTTP/1.1 408")
        connection.settimeout(5)
        while more := connection.recv(4096):  # until the server has closed it
            answer += more
        assert b"body_too_slow" in answer
        assert time.monotonic() - began >= 0.4
        assert len(vectors(server.embed(["a"]))) == 1


def test_bodies_that_are_read_at_once_are_bounded_and_their_room_comes_back():
    with serving([embedder(FakeEmbedder())], max_body_bytes=10_000, max_held_bytes=12_000) as server:
        with open_body(server, 9_000) as connection:
            connection.sendall(b" " * 8_000)
            wait_for(lambda: server.embed("word " * 1_000).status_code == 429)
            refused = server.embed("word " * 1_000)
            assert refused.json()["error"]["code"] == "bodies_full"
            assert refused.headers["Retry-After"] == "1"
            assert len(vectors(server.embed(["small"]))) == 1
        wait_for(lambda: server.embed("word " * 1_000).status_code == 200)
        for _ in range(5):
            assert len(vectors(server.embed("word " * 1_000))) == 1


def test_less_room_than_one_body_needs_is_a_mistake_of_the_configuration():
    with pytest.raises(ValueError, match="max_held_bytes must be at least max_body_bytes"):
        SidecarSettings(max_held_bytes=1_000)


def test_several_models_at_once_do_not_wait_for_each_other():
    hold = Slow()
    models = [embedder(FakeEmbedder(fault=hold), "slow"), embedder(FakeEmbedder(), "quick"), reranker(FakeReranker())]
    with serving(models) as server, ThreadPoolExecutor(2) as pool:
        slow = pool.submit(server.embed, "a", "slow")
        assert hold.started.wait(5)
        assert len(vectors(server.embed(["b"], "quick"))) == 1
        assert server.post("/v1/rerank", {"query": "b", "documents": ["b"]}).status_code == 200
        assert not slow.done()
        hold.free.set()
        assert len(vectors(slow.result())) == 1


def test_an_end_while_requests_run_answers_them():
    hold = Slow()
    with serving([embedder(FakeEmbedder(fault=hold))]) as server, ThreadPoolExecutor(3) as pool:
        running = [pool.submit(server.embed, "a")]
        assert hold.started.wait(5)
        running += [pool.submit(server.embed, text) for text in ("b", "c")]
        wait_for(lambda: queued(server) == 2)
        threading.Timer(0.5, hold.free.set).start()
    assert [len(vectors(one.result())) for one in running] == [1, 1, 1]


def test_what_is_not_done_when_the_time_for_draining_is_over_is_told_so():
    hold = Slow()
    with ThreadPoolExecutor(1) as pool:
        with serving([embedder(FakeEmbedder(fault=hold))], drain_s=1.0) as server:
            cut_off = pool.submit(server.embed, "a")
            assert hold.started.wait(5)
        refused = cut_off.result()
    assert refused.status_code == 503
    assert refused.json()["error"]["code"] == "shutting_down"


def test_accepted_connections_send_at_once():
    """asyncio sets TCP_NODELAY only on sockets that say they speak TCP."""
    with listen("127.0.0.1", 0) as listening:
        assert listening.proto == socket.IPPROTO_TCP
