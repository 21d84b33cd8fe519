"""Peak memory of a whole apply, measured from outside: resident memory of the process and its workers, summed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import psutil

from benchmarks.collections import Collection
from idxopt.errors import EngineError

EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class Peak:
    """One load in a process of its own. Bytes; `largest` is the largest single process, as the kernel counted it."""

    documents: int
    seconds: float
    tree: int
    largest: int


def write_corpus(path: Path, of: Sequence[Collection], size: int) -> int:
    """JSON Lines of at least `size` bytes: whole collections, again and again with new ids. Returns the bytes."""
    written = 0
    with path.open("wb") as file:
        for record in repeated(of):
            if written >= size:
                break
            written += file.write(orjson.dumps(record, option=orjson.OPT_APPEND_NEWLINE))
    return written


def repeated(of: Sequence[Collection]) -> Iterator[dict[str, Any]]:
    """Endless."""
    turn = 0
    while True:
        for one in of:
            for record in one.documents():
                yield {**record, "_id": f"{turn}/{record['_id']}"}
        turn += 1


def peak_of(corpus: Path, place: str, cache: Path) -> Peak:
    """Applies the corpus in a child process and watches it. `place`: address of a node, or folder of an engine.

    Raises EngineError when the child fails.
    """
    command = [sys.executable, "-m", "benchmarks.probes.load_file", str(corpus), place, str(cache)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
        tree = _watched(child)
        assert child.stdout is not None
        answer = child.stdout.read()
    if child.returncode:
        raise EngineError(
            f"the load ended with exit code {child.returncode}", place=place, remedy="see its messages above"
        )
    told = json.loads(answer)
    return Peak(told["documents"], told["seconds"], tree, told["largest"])


def _watched(child: subprocess.Popen[bytes]) -> int:
    """The highest sum of resident memory while the child lives."""
    root = psutil.Process(child.pid)
    highest = 0
    while True:
        try:
            child.wait(EVERY_S)
        except subprocess.TimeoutExpired:
            highest = max(highest, _resident(root))
        else:
            return highest


def _resident(root: psutil.Process) -> int:
    total = 0
    try:
        for process in (root, *root.children(recursive=True)):
            try:
                total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
    except psutil.NoSuchProcess:
        pass
    return total
