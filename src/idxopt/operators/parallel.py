"""An ordered map over worker processes that survives the death of a worker; the items in flight are bounded."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from idxopt.operators.worker import read_message, write_message

_AHEAD = 2
"""Batches in flight for each worker."""


@dataclass(frozen=True, slots=True)
class Crashed:
    """In place of the result of an item whose worker died, twice, while it worked on nothing else."""

    exit_code: int | None


class _Process:
    """One worker process, started when first asked and again after it died."""

    def __init__(self, function: str, argument: Any) -> None:
        self._setup = (function, argument)
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, items: Sequence[Any]) -> list[Any]:
        """The answers to a batch. Raises EOFError or OSError when the process died over it."""
        process = self._process or self._start()
        write_message(cast(BinaryIO, process.stdin), list(items))
        answers: list[Any] = read_message(cast(BinaryIO, process.stdout))
        return answers

    def _start(self) -> subprocess.Popen[bytes]:
        paths = os.pathsep.join(path or str(Path.cwd()) for path in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "idxopt.operators.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": paths},
        )
        write_message(cast(BinaryIO, self._process.stdin), self._setup)
        return self._process

    def end(self) -> int | None:
        """Ends the process and returns its exit code."""
        process, self._process = self._process, None
        if process is None:
            return None
        with contextlib.suppress(OSError):
            cast(BinaryIO, process.stdin).close()
        try:
            process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        cast(BinaryIO, process.stdout).close()
        return process.returncode


class Pool:
    """Worker processes that call one function on batches of items.

    `function` is `module:name`; called once in each process with `argument` (both must pickle), it returns the function
    from a batch (a list) to the list of results.
    """

    def __init__(self, function: str, argument: Any, workers: int) -> None:
        self._local = threading.local()
        self._setup = (function, argument)
        self._started: list[_Process] = []
        self._workers = workers
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix="idxopt-rows")

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self._threads.shutdown(wait=True, cancel_futures=True)
        for process in self._started:
            process.end()

    def map(self, batches: Iterable[Sequence[Any]]) -> Iterator[list[Any]]:
        """The results of each batch, in order. `Crashed` stands for an item that killed its worker twice."""
        waiting: deque[Future[list[Any]]] = deque()
        for batch in batches:
            waiting.append(self._threads.submit(self._work, batch))
            if len(waiting) > _AHEAD * self._workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    def _work(self, batch: Sequence[Any]) -> list[Any]:
        process = self._process()
        try:
            return process.ask(batch)
        except (EOFError, OSError):
            process.end()
        return [self._alone(process, item) for item in batch]

    def _alone(self, process: _Process, item: Any) -> Any:
        """One item by itself, a second time if its worker died: another item's death is none of its own."""
        code: int | None = None
        for _ in range(2):
            try:
                return process.ask([item])[0]
            except (EOFError, OSError):
                code = process.end()
        return Crashed(code)

    def _process(self) -> _Process:
        process: _Process | None = getattr(self._local, "process", None)
        if process is None:
            process = self._local.process = _Process(*self._setup)
            self._started.append(process)
        return process
