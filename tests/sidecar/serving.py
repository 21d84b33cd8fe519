"""Starting the sidecar for a test: the real server on a real socket, in a thread or as a process of its own."""

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import requests

from idxopt.sidecar.app import Service
from idxopt.sidecar.served import Model, of_embedder, of_reranker
from idxopt.sidecar.server import address, listen, server
from idxopt.sidecar.settings import SidecarSettings
from tests.sidecar.fakes import FakeEmbedder, FakeReranker, Words

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Running:
    """A server that answers at `url`. `told`: the lines of its stderr, where it is a process."""

    url: str
    service: Service | None = None
    told: Sequence[str] = ()

    def post(self, path: str, body: Any = None, **options: Any) -> requests.Response:
        return requests.post(self.url + path, json=body, timeout=60, **options)

    def get(self, path: str, **options: Any) -> requests.Response:
        return requests.get(self.url + path, timeout=60, **options)

    def embed(self, texts: Any, model: str = "fake", **more: Any) -> requests.Response:
        return self.post("/v1/embeddings", {"model": model, "input": texts, **more})


@contextmanager
def serving(models: Sequence[Model], *, token: str | None = None, **settings: Any) -> Iterator[Running]:
    """A server in a thread."""
    running = server(models, SidecarSettings(**{"drain_s": 5.0, **settings}), token=token)
    with listen("127.0.0.1", 0) as listening:
        url = address(listening)
        thread = threading.Thread(target=running.run, args=([listening],), daemon=True)
        thread.start()
        try:
            _until_ready(url, lambda: not thread.is_alive())
            yield Running(url, running.config.app.state.service)  # type: ignore[union-attr]
        finally:
            running.should_exit = True
            thread.join(20)
            assert not thread.is_alive()


def embedder(fake: FakeEmbedder, id_: str = "fake", *, tokenizer: Words | None = None) -> Model:
    return of_embedder(id_, fake, similarity="dot", tokenizer=tokenizer or Words(), details={"device": "cpu"})


def reranker(fake: FakeReranker, id_: str = "fake-reranker") -> Model:
    return of_reranker(id_, fake, tokenizer=Words(), details={"device": "cpu"})


@contextmanager
def process(toml: Path, *arguments: str, wait_s: float = 90) -> Iterator[tuple[Running, subprocess.Popen[str]]]:
    """`idxopt serve models` as a user starts it, on a free port."""
    command = [sys.executable, "-m", "idxopt", "serve", "models", "--config", str(toml), "--port", "0", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT)
    lines: list[str] = []
    listening = threading.Event()

    def read() -> None:
        assert child.stderr is not None
        for line in child.stderr:
            lines.append(line)
            if line.startswith("listening on "):
                listening.set()
        listening.set()

    threading.Thread(target=read, daemon=True).start()
    try:
        assert listening.wait(wait_s), "".join(lines)
        found = re.search(r"^listening on (\S+)$", "".join(lines), re.MULTILINE)
        assert found, "".join(lines)
        _until_ready(found[1], lambda: child.poll() is not None)
        yield Running(found[1], told=lines), child
    finally:
        if child.poll() is None:
            child.kill()
        child.wait(20)


def _until_ready(url: str, ended: Any) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and not ended():
        try:
            if requests.get(f"{url}/ready", timeout=2).status_code == 200:
                return
        except requests.ConnectionError:
            time.sleep(0.02)
    raise AssertionError("the server did not become ready")
