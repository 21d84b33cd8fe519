"""Rendered curl lines do exactly what they say: a real bash and a real curl run them against a local server."""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from idxopt.compiler.curl import Request, compiled_requests, render, script
from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import Target
from idxopt.program.presets import preset


@dataclass
class Received:
    method: str
    path: str
    kind: str | None
    body: bytes


class Server:
    """Records every request; answers 400 from the first whose path ends in `fail`."""

    def __init__(self) -> None:
        received: list[Received] = []

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                received.append(Received(self.command, self.path, self.headers.get("Content-Type"), body))
                self.send_response(400 if self.path.endswith("fail") else 200)
                self.end_headers()

            do_GET = do_PUT = do_POST = do_DELETE = answer  # noqa: N815

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.received = received
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    if shutil.which("curl") is None or shutil.which("bash") is None:
        pytest.skip("curl or bash is not installed")
    made = Server()
    yield made
    made.close()


def run(text: str, url: str) -> subprocess.CompletedProcess[str]:
    environment = {"URL": url, "PATH": "/usr/local/bin:/usr/bin:/bin", "no_proxy": "127.0.0.1"}
    return subprocess.run(["bash", "-c", text], env=environment, capture_output=True, text=True, timeout=60)


HOSTILE = {
    "quotes": "it's \"quoted\" and 'again'",
    "shell": "$(touch /tmp/x) `id` ${HOME} $URL \\ \\n !!",
    "lines": "one\ntwo\r\n\ttab",
    "unicode": "İstanbul 日本語 😀 e\u0301",
    "control": "\x00\x07\x7f",
    "at": "@file",
}


@pytest.mark.parametrize(
    ("request_", "path"),
    [
        (Request("PUT", ("docs--content--01234567",), HOSTILE), "/docs--content--01234567"),
        (Request("POST", ("a b", "_doc", "x/y?z#%'é"), HOSTILE), "/a%20b/_doc/x%2Fy%3Fz%23%25%27%C3%A9"),
        (Request("DELETE", ("docs",)), "/docs"),
        (Request("GET", ("docs", "_count"), None, {"q": "a&b c"}), "/docs/_count?q=a%26b+c"),
        (Request("POST", ("_aliases",), {"actions": []}), "/_aliases"),
    ],
)
def test_bash_sends_what_was_rendered(server: Server, request_: Request, path: str) -> None:
    done = run(render(request_), server.url)
    assert done.returncode == 0, done.stderr
    (got,) = server.received
    assert (got.method, got.path) == (request_.method, path)
    if request_.body is None:
        assert got.body == b""
    else:
        assert got.kind == "application/json"
        assert json.loads(got.body) == request_.body


def test_json_lines_are_sent_as_lines(server: Server) -> None:
    lines = [{"index": {"_id": "1"}}, HOSTILE, {"delete": {"_id": "2"}}]
    done = run(render(Request("POST", ("docs", "_bulk"), lines, lines=True)), server.url)
    assert done.returncode == 0, done.stderr
    (got,) = server.received
    assert got.kind == "application/x-ndjson"
    assert got.body.endswith(b"\n")
    assert [json.loads(line) for line in got.body.splitlines()] == lines


def test_a_text_that_is_no_unicode_is_still_sent_as_json(server: Server) -> None:
    done = run(render(Request("PUT", ("x",), {"text": "\ud800"})), server.url)
    assert done.returncode == 0, done.stderr
    assert json.loads(server.received[0].body) == {"text": "\ud800"}


def test_the_script_of_a_program_sends_its_artifacts_in_order(server: Server) -> None:
    compiled = lower(preset("sections", program_name="docs"), Target("opensearch", True, True), {})
    text = script(compiled_requests(compiled), title="docs\nrm -rf nothing")
    done = run(text, server.url)
    assert done.returncode == 0, done.stderr
    content, sections = compiled.views.values()
    assert [(got.method, got.path) for got in server.received] == [
        ("PUT", "/_index_template/docs--content"),
        ("PUT", f"/_ingest/pipeline/{content.index}"),
        ("PUT", f"/{content.index}"),
        ("PUT", "/_index_template/docs--sections"),
        ("PUT", f"/{sections.index}"),
    ]
    bodies = [json.loads(got.body) for got in server.received]
    assert bodies[0] == content.template
    assert bodies[1] == content.pipeline
    assert bodies[2] == content.index_body
    assert "http:" not in text
    assert "rm -rf" in text.splitlines()[0]


def test_a_script_stops_at_the_first_failure_and_wants_an_address(server: Server) -> None:
    text = script([Request("PUT", ("fail",), {}), Request("PUT", ("never",), {})], title="x")
    assert run(text, server.url).returncode != 0
    assert [got.path for got in server.received] == ["/fail"]
    without = subprocess.run(["bash", "-c", text], env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True)
    assert without.returncode != 0
    assert "set URL to the address of the engine" in without.stderr
