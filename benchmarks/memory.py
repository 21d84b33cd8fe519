"""Peak memory of `idxopt apply`, measured from outside: resident memory of the process and its workers, summed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import psutil

from benchmarks.collections import Collection
from benchmarks.deployment import program
from idxopt.errors import EngineError
from idxopt.program.canonical import canonical
from idxopt.program.schema import Program

EVERY_S = 0.05


@dataclass(frozen=True, slots=True)
class Peak:
    """One apply in a process of its own. Bytes; `largest` is the largest single process."""

    documents: int
    seconds: float
    tree: int
    largest: int


def memory_program() -> Program:
    """All that could grow with the corpus: corpus tables, rows in place, several rows a document."""
    english = {"analyzer": "english"}
    return program(
        "memory-benchmark",
        {
            "content": {
                "steps": [
                    {"op": "discard", "span": {"repeated_lines": {"min_docs": 1000}}},
                    {"op": "normalize", "scheme": "split_identifiers", "keep_original": True},
                ],
                "lexical": {"fields": {"title": english, "body": english}},
            },
            "sections": {
                "steps": [{"op": "slice", "unit": "headings"}],
                "lexical": {"fields": {"body": english}},
            },
        },
        source={"fields": {"title": "title", "body": "text"}, "markup": "markdown"},
    )


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


def peak_of(corpus: Path, profile: str, folder: Path) -> Peak:
    """Applies the corpus with the command line and watches it; what it built is removed again.

    `profile`: the lines of a cluster profile. Raises EngineError when a command fails.
    """
    folder.mkdir()
    wanted = memory_program()
    (folder / "program.json").write_bytes(orjson.dumps(canonical(wanted)))
    (folder / "idxopt.toml").write_text(f'default = "bench"\n[clusters.bench]\n{profile}\n', encoding="utf-8")
    environment = {
        **os.environ,
        "IDXOPT_CACHE_DIR": str(folder / "cache"),
        "IDXOPT_CONFIG": str(folder / "idxopt.toml"),
    }
    command = [sys.executable, "-m", "idxopt", "apply", str(folder / "program.json"), "--source", str(corpus)]
    with subprocess.Popen(
        [*command, "--yes", "--json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    ) as child:
        tree, largest = _watched(child)
        assert child.stdout is not None
        answer = json.loads(child.stdout.read())
    if child.returncode:
        raise EngineError(f"the apply failed: {answer}", place=str(corpus))
    remove = [sys.executable, "-m", "idxopt", "destroy", wanted.name, "--confirm", wanted.name, "--json"]
    subprocess.run(remove, stdout=subprocess.DEVNULL, env=environment, check=True)
    return Peak(answer["rows"]["content"], answer["seconds"], tree, largest)


def _watched(child: subprocess.Popen[bytes]) -> tuple[int, int]:
    """The highest sum of resident memory, and the highest of one process, while the child lives."""
    root = psutil.Process(child.pid)
    tree = largest = 0
    while True:
        try:
            child.wait(EVERY_S)
        except subprocess.TimeoutExpired:
            found = _resident(root)
            tree, largest = max(tree, sum(found)), max(largest, *found)
        else:
            return tree, largest


def _resident(root: psutil.Process) -> list[int]:
    """Resident bytes of each process; one that just ended counts 0."""
    try:
        processes = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return [0]
    return [_rss(process) for process in processes]


def _rss(process: psutil.Process) -> int:
    try:
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
