"""The published evaluator, from a checkout of its code (github auto-index/autoindex), as its agent calls it:

    client.build_index("harness_eval", chunks, persist=False)
    run_subset_eval("harness_eval", queries, client, top_k=100)

against its own server, a process beside this one. It has one text a chunk and no weights: a row's searched fields are
joined, each as often as its weight says (at least once), and the rows of all views are its chunks. These texts are made
before the clock runs. Its server needs bm25s, fastapi and uvicorn: `python` names an interpreter that has them.
"""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import httpx

from benchmarks.autoindex.contenders import Scored, Task, searched_texts
from benchmarks.sidecar_servers import free_port
from idxopt.errors import EvaluationError
from idxopt.program.schema import Program

INDEX = "harness_eval"
TOP = 100
START_S = 60.0
_AGENT = Path("src/agents/analysis_code_agent")
_SCHEMA = Path("src/evaluation/schema.py")


class Published:
    """See the module. `transform_s`: seconds of making the texts so far, which count nowhere else."""

    name = "published evaluator"

    def __init__(self, task: Task, checkout: Path, url: str) -> None:
        self._task = task
        self._schema = _module(checkout / _SCHEMA)
        self._evaluate = _module(checkout / _AGENT / "eval_utils.py").run_subset_eval
        self._client = _module(checkout / _AGENT / "bm25_client.py").BM25Client(url)
        judged = task.judged
        self._queries = [
            self._schema.EvalQuery(
                query.id, query.text, [id for id, grade in judged.qrels[query.id].items() if grade > 0]
            )
            for query in judged.queries
        ]
        self.transform_s = 0.0

    def score(self, program: Program) -> Scored:
        before = time.perf_counter()
        chunks = self._chunks(program)
        started = time.perf_counter()
        self.transform_s += started - before
        self._client.build_index(INDEX, chunks, persist=False)
        summary = self._evaluate(INDEX, self._queries, self._client, top_k=TOP)
        return Scored(float(summary.ndcg_at_10), time.perf_counter() - started)

    def _chunks(self, program: Program) -> list[Any]:
        chunks = []
        for view, rows in self._task.rows(program).items():
            for number, row in enumerate(rows):
                texts = [
                    text for text, weight in searched_texts(program, view, row) for _ in range(max(1, round(weight)))
                ]
                chunks.append(self._schema.Chunk(f"{view}_{number}", row.doc_id, "\n".join(texts)))
        return chunks


@contextmanager
def published(task: Task, checkout: Path, python: str) -> Iterator[Published]:
    """With its server running. Raises EvaluationError where the checkout is none, or its server does not start."""
    server = (checkout / _AGENT / "bm25_server.py").resolve()
    if not server.is_file():
        raise EvaluationError(
            "there is no checkout of the published code",
            place=str(checkout),
            remedy="clone github auto-index/autoindex",
        )
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        command = [python, str(server), "--port", str(port), "--persist-dir", folder]
        child = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            url = f"http://127.0.0.1:{port}"
            _until_answering(child, f"{url}/health")
            yield Published(task, checkout, url)
        finally:
            child.terminate()
            child.wait(timeout=30)


def _until_answering(child: subprocess.Popen[bytes], url: str) -> None:
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and child.poll() is None:
        try:
            httpx.get(url, timeout=5).raise_for_status()
        except httpx.HTTPError:
            time.sleep(0.2)
        else:
            return
    raise EvaluationError(
        "the published server does not start", remedy="name a Python that has bm25s, fastapi and uvicorn"
    )


def _module(path: Path) -> ModuleType:
    """A file of the checkout as a module of its own."""
    name = f"published_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise EvaluationError("cannot be read as Python", place=str(path), remedy="look at the checkout")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # its dataclasses look themselves up
    spec.loader.exec_module(module)
    return module
