"""Servers that benchmarks.sidecar measures, each a process of its own: the sidecar, the plain handler, infinity-emb."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

START_S = 300
EMBEDDER, RERANKER = "embedder", "reranker"


@dataclass(frozen=True, slots=True)
class Hardware:
    """Where models run."""

    device: str = "cpu"
    dtype: str = "float32"


@dataclass(frozen=True, slots=True)
class Checkpoints:
    """Folders of the models; the reranker is there only where torch is."""

    embedder: Path
    reranker: Path | None = None


@dataclass(frozen=True, slots=True)
class Server:
    """Something that answers. `embeddings`, `rerank`: full URLs."""

    name: str
    process: psutil.Process
    embeddings: str
    rerank: str | None

    def processor_seconds(self) -> float:
        """That its threads have used so far; other programs on the machine do not change it much."""
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def sidecar(provider: str, models: Checkpoints, hardware: Hardware, folder: Path) -> Iterator[Server]:
    """`idxopt serve models` with one provider."""
    lines = [f'[models.{EMBEDDER}]\nprovider = "{provider}"\npath = "{models.embedder}"']
    lines += [f'device = "{hardware.device}"\ndtype = "{hardware.dtype}"'] if provider != "onnx" else []
    with_reranker = models.reranker is not None and provider != "onnx"
    if with_reranker:
        lines += [f'[models.{RERANKER}]\nprovider = "{provider}"\npath = "{models.reranker}"']
        lines += [f'device = "{hardware.device}"\ndtype = "{hardware.dtype}"']
    toml = folder / f"{provider}.toml"
    toml.write_text("\n".join(lines) + "\n", encoding="utf-8")
    port = free_port()
    command = [sys.executable, "-m", "idxopt", "serve", "models", "--config", str(toml), "--port", str(port)]
    with _running(command, port, "/ready") as process:
        url = f"http://127.0.0.1:{port}"
        yield Server(
            f"sidecar, {provider}", process, f"{url}/v1/embeddings", f"{url}/v1/rerank" if with_reranker else None
        )


@contextmanager
def plain(provider: str, models: Checkpoints, hardware: Hardware) -> Iterator[Server]:
    """A FastAPI handler without batching."""
    port = free_port()
    command = [
        sys.executable,
        "-c",
        "from benchmarks.plain_server import main; main()",
        "--provider",
        provider,
        "--port",
        str(port),
    ]
    command += ["--path", str(models.embedder), "--device", hardware.device, "--dtype", hardware.dtype]
    with _running(command, port, "/ready") as process:
        yield Server(f"plain handler, {provider}", process, f"http://127.0.0.1:{port}/v1/embeddings", None)


def find_infinity(given: str | None) -> str | None:
    """The program infinity_emb: as given, or on the path."""
    return shutil.which(given) if given else shutil.which("infinity_emb")


@contextmanager
def infinity(program: str, models: Checkpoints, hardware: Hardware) -> Iterator[Server]:
    """infinity-emb with its torch engine and its defaults."""
    port = free_port()
    command = [program, "v2", "--host", "127.0.0.1", "--port", str(port), "--engine", "torch"]
    command += ["--device", hardware.device, "--dtype", hardware.dtype, "--log-level", "warning"]
    chosen = [(models.embedder, EMBEDDER)] + ([(models.reranker, RERANKER)] if models.reranker else [])
    for path, name in chosen:
        command += ["--model-id", str(path), "--served-model-name", name]
    with _running(command, port, "/health") as process:
        url = f"http://127.0.0.1:{port}"
        yield Server("infinity-emb, torch", process, f"{url}/embeddings", f"{url}/rerank" if models.reranker else None)


@contextmanager
def _running(command: Sequence[str], port: int, path: str) -> Iterator[psutil.Process]:
    environment = {
        **os.environ,
        "HF_HUB_OFFLINE": "1",
        "DO_NOT_TRACK": "1",
        "INFINITY_ANONYMOUS_USAGE_STATS": "0",
        "TOKENIZERS_PARALLELISM": "true",
    }
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        _until_answering(child, f"http://127.0.0.1:{port}{path}")
        yield psutil.Process(child.pid)
    finally:
        child.terminate()
        try:
            child.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            child.kill()
            child.communicate()


def _until_answering(child: subprocess.Popen[str], url: str) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise RuntimeError(f"{child.args!r} ended: {(child.communicate()[1] or '')[-2000:]}")
        try:
            with urllib.request.urlopen(url, timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"{child.args!r} did not answer within {START_S} s")


def free_port() -> int:
    """A port of this machine that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])
