"""Servers that are down, slow, busy, broken, huge, elsewhere or not who they say they are."""

import asyncio
import logging
import socket
import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp import web

from idxopt.errors import ConfigError, ModelError
from idxopt.models.answers import Unbilled
from idxopt.models.http.address import endpoint_url
from idxopt.models.http.client import Client
from idxopt.models.http.embeddings import HttpEmbedder
from idxopt.models.http.faults import retry_after
from tests.model_servers.conftest import KEY
from tests.model_servers.server import DIMENSION, ModelServer, Request, good_embeddings, serving, settings, status

Make = Callable[..., HttpEmbedder]


def times(count: int, answer: Callable[[], web.Response]) -> Callable[[Request], web.Response]:
    """Fails `count` times, then works."""
    return lambda request: answer() if request.number < count else good_embeddings(request)


@pytest.mark.parametrize("code", [429, 500, 502, 503, 504])
def test_failures_that_pass_are_repeated(server: ModelServer, embedder: Make, code: int) -> None:
    server.answer = times(2, lambda: status(code))
    assert embedder().embed(["a"], "query").vectors.shape == (1, DIMENSION)
    assert len(server.requests) == 3


@pytest.mark.parametrize("code", [400, 401, 403, 404, 409, 413, 422, 501])
def test_failures_that_stay_are_not(server: ModelServer, embedder: Make, code: int) -> None:
    server.answer = times(9, lambda: status(code, "the reason"))
    with pytest.raises(Unbilled, match=f"answered {code}: the reason") as caught:
        embedder().embed(["a"], "query")
    assert len(server.requests) == 1
    assert caught.value.remedy
    assert 'models."test/embedder" at http://127.0.0.1' in str(caught.value)


def test_retries_end(server: ModelServer, embedder: Make) -> None:
    server.answer = times(99, lambda: status(500, "broken"))
    with pytest.raises(ModelError, match="answered 500: broken; 3 tries within the time-out"):
        embedder(retries=2).embed(["a"], "query")
    assert len(server.requests) == 3


def test_retry_after_is_honoured(server: ModelServer, embedder: Make) -> None:
    server.answer = times(1, lambda: status(429, "slow down", retry_after="1"))
    begun = time.monotonic()
    embedder().embed(["a"], "query")
    assert 1.0 <= time.monotonic() - begun < 4.0


def test_a_retry_after_beyond_the_time_out_is_not_waited_for(server: ModelServer, embedder: Make) -> None:
    server.answer = times(9, lambda: status(429, "come back tomorrow", retry_after="86400"))
    begun = time.monotonic()
    with pytest.raises(ModelError, match="tomorrow, which asks to wait 86400 s"):
        embedder().embed(["a"], "query")
    assert time.monotonic() - begun < 2.0
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("0", 0), ("2.5", 2.5), ("-3", 0), ("nan", None), ("soon", None), ("", None), (None, None)],
)
def test_retry_after_headers(header: str | None, seconds: float | None) -> None:
    assert retry_after(header) == seconds


def test_retry_after_dates() -> None:
    assert retry_after(formatdate(time.time() + 60, usegmt=True)) == pytest.approx(60, abs=2)
    assert retry_after(formatdate(time.time() - 60, usegmt=True)) == 0


def test_no_server(embedder: Make, server: ModelServer) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        model = embedder(url=f"http://127.0.0.1:{free.getsockname()[1]}", retries=1)
        with pytest.raises(Unbilled, match="no server answers") as caught:
            model.embed(["a"], "query")
    assert caught.value.remedy == "start the server, or correct `url` of this model in idxopt.toml"


def test_a_slow_server_ends_at_the_deadline(server: ModelServer, embedder: Make) -> None:
    async def slow(request: Request) -> web.Response:
        await asyncio.sleep(30)
        return web.Response()

    server.answer = slow
    begun = time.monotonic()
    with pytest.raises(ModelError, match=r"no whole answer within 0\.5 s") as caught:
        embedder(timeout_s=0.5).embed(["a"], "query")
    assert time.monotonic() - begun < 2.0
    assert len(server.requests) == 1
    assert not isinstance(caught.value, Unbilled)


def test_a_server_that_drips_ends_at_the_deadline(server: ModelServer, embedder: Make) -> None:
    """Every read is fast; the whole is not."""

    async def drip(request: Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request.raw)
        for _ in range(300):
            await response.write(b" ")
            await asyncio.sleep(0.05)
        return response

    server.answer = drip
    begun = time.monotonic()
    with pytest.raises(ModelError, match="no whole answer"):
        embedder(timeout_s=0.5).embed(["a"], "query")
    assert time.monotonic() - begun < 2.0


def test_one_deadline_over_all_retries(server: ModelServer, embedder: Make) -> None:
    async def busy(request: Request) -> web.Response:
        await asyncio.sleep(0.3)
        return status(503)

    server.answer = busy
    begun = time.monotonic()
    with pytest.raises(ModelError):
        embedder(timeout_s=1.0, retries=20).embed(["a"], "query")
    assert time.monotonic() - begun < 2.0
    assert len(server.requests) <= 4


def test_a_connection_that_breaks_off_is_repeated(server: ModelServer, embedder: Make) -> None:
    def once(request: Request) -> web.Response:
        if request.number == 0:
            assert request.raw.transport is not None
            request.raw.transport.close()
        return good_embeddings(request)

    server.answer = once
    assert embedder().embed(["a"], "query").vectors.shape == (1, DIMENSION)
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    "body", [b"", b"<html>login</html>", b"{", b'"text"', b"null", b"\xff\xfe", b"[" * 200_000, b"17"], ids=range(8)
)
def test_an_answer_that_is_no_json_object_is_refused_at_once(server: ModelServer, embedder: Make, body: bytes) -> None:
    server.answer = lambda _: web.Response(body=body)
    with pytest.raises(ModelError, match=r"the answer is (empty|no JSON object)"):
        embedder().embed(["a"], "query")
    assert len(server.requests) == 1


def test_a_huge_answer_is_not_read_to_its_end(server: ModelServer) -> None:
    sent = 0

    async def endless(request: Request) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse()
        await response.prepare(request.raw)
        while True:
            await response.write(b"x" * 65_536)
            sent += 65_536

    server.answer = endless
    client = Client(settings(server.url), "/embeddings", key=None, place="here", answer_bytes=1_000_000)
    with pytest.raises(ModelError, match="longer than 1,000,000 bytes"):
        client.post({"input": ["a"]})
    client.close()
    assert sent < 50_000_000


@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed_so_that_the_key_stays_here(server: ModelServer, embedder: Make, code: int) -> None:
    with serving(good_embeddings) as elsewhere:
        place = elsewhere.url.replace("127.0.0.1", "localhost")
        server.answer = lambda _: web.Response(status=code, headers={"Location": f"{place}/v1/embeddings?token=x"})
        with pytest.raises(ModelError, match="redirects to localhost; the request and its key are not sent") as caught:
            embedder(key="env:MODEL_KEY").embed(["a"], "query")
        assert elsewhere.requests == []
    assert "token" not in str(caught.value)


def test_concurrency_is_bounded_over_all_callers(server: ModelServer, embedder: Make) -> None:
    async def slowly(request: Request) -> web.Response:
        await asyncio.sleep(0.02)
        return good_embeddings(request)

    server.answer = slowly
    model = embedder(concurrency=2)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: model.embed([str(number)], "query"), range(24)))
    assert len(server.requests) == 24
    assert server.busiest == 2


def test_the_key_is_in_no_message_log_or_form_of_an_object(
    server: ModelServer, embedder: Make, caplog: pytest.LogCaptureFixture
) -> None:
    server.answer = times(9, lambda: status(401, f"Incorrect API key provided: {KEY}."))
    model = embedder(key="env:MODEL_KEY")
    with caplog.at_level(logging.DEBUG), pytest.raises(ModelError) as caught:
        model.embed(["a"], "query")
    assert server.requests[0].headers["Authorization"] == f"Bearer {KEY}"
    assert "Incorrect API key provided: ***." in caught.value.message
    shown = [caplog.text, str(caught.value), repr(model), repr(model._client), repr(vars(model._client._http))]
    failure: BaseException | None = caught.value
    while failure is not None:
        shown.append(repr(failure))
        failure = failure.__cause__ or failure.__context__
    assert not [text for text in shown if KEY in text]


@pytest.mark.parametrize("bad", ["", "line\nbreak", "caf\u00e9"])
def test_a_key_that_no_header_holds_is_refused_unsaid(server: ModelServer, bad: str) -> None:
    with pytest.raises(ConfigError, match="no HTTP header may hold") as caught:
        Client(settings(server.url), "/embeddings", key=bad, place="here")
    assert not bad or bad not in str(caught.value)


ADDRESSES = [
    ("http://h:1", "http://h:1/v1/embeddings"),
    ("http://h:1/", "http://h:1/v1/embeddings"),
    ("https://h/v1", "https://h/v1/embeddings"),
    ("https://h/v1/", "https://h/v1/embeddings"),
    ("https://h/openai/v2", "https://h/openai/v2/embeddings"),
    ("https://h/v1/embeddings", "https://h/v1/embeddings"),
    ("https://h/deploy/embeddings?api-version=3", "https://h/deploy/embeddings?api-version=3"),
]


@pytest.mark.parametrize(("url", "whole"), ADDRESSES)
def test_addresses(url: str, whole: str) -> None:
    assert endpoint_url(url, "/embeddings", "here") == whole


@pytest.mark.parametrize("url", ["localhost:8080", "ftp://h/v1", "http://", "/v1"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigError, match="is no address of a server"):
        endpoint_url(url, "/embeddings", "here")


class TestCertificates:
    @pytest.fixture
    def authority(self) -> trustme.CA:
        return trustme.CA()

    def tls(self, authority: trustme.CA, *names: str) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(*names).configure_cert(context)
        return context

    def ask(self, url: str, ca: str | None) -> Any:
        client = Client(settings(url, ca=ca, retries=0), "/embeddings", key=KEY, place="here")
        try:
            return client.post({"model": "m", "input": ["a"]})
        finally:
            client.close()

    def test_an_own_authority(self, authority: trustme.CA, tmp_path: Path) -> None:
        pem = tmp_path / "ca.pem"
        authority.cert_pem.write_to_path(pem)
        with serving(good_embeddings, self.tls(authority, "localhost")) as server:
            assert len(self.ask(server.url, str(pem))["data"]) == 1

    def test_another_authority_or_name_is_refused_before_the_key_is_sent(
        self, authority: trustme.CA, tmp_path: Path
    ) -> None:
        pem = tmp_path / "ca.pem"
        authority.cert_pem.write_to_path(pem)
        with serving(good_embeddings, self.tls(authority, "localhost")) as server:
            with pytest.raises(Unbilled, match="the server's certificate is not accepted"):
                self.ask(server.url, None)
            assert server.requests == []
        with serving(good_embeddings, self.tls(authority, "elsewhere.example")) as server:
            with pytest.raises(Unbilled, match="the server's certificate is not accepted"):
                self.ask(server.url, str(pem))
            assert server.requests == []

    def test_a_file_that_is_no_certificate(self, tmp_path: Path) -> None:
        wrong = tmp_path / "wrong.pem"
        wrong.write_text("no certificate")
        for path in (wrong, tmp_path / "missing.pem"):
            with pytest.raises(ConfigError, match="cannot be read as a CA certificate"):
                self.ask("https://localhost:1", str(path))
