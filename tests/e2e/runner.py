"""Runs the command line as a user does: in this process for speed, or as a process of its own."""

import contextlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from idxopt.cli import main

WORDS = ("keys", "rotation", "window", "shards", "aliases", "replicas")


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """stdout as exactly one JSON document."""
        return json.loads(self.out)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def run(*arguments: str | Path, typed: str | None = None) -> Ran:
    """In this process, through the same `main`. `typed`: what a user at a terminal enters; None: no terminal."""
    out, err = io.StringIO(), io.StringIO()
    stdin = io.StringIO() if typed is None else _Terminal(typed)
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), mock.patch.object(sys, "stdin", stdin):
        code = main([str(argument) for argument in arguments])
    return Ran(code, out.getvalue(), err.getvalue())


def spawn(
    *arguments: str | Path,
    folder: Path,
    variables: Mapping[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
) -> subprocess.Popen[str]:
    """As a process, in a folder; stdin is empty unless a file descriptor is given."""
    return subprocess.Popen(
        [sys.executable, "-m", "idxopt", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, **(variables or {})},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def call(*arguments: str | Path, folder: Path, variables: Mapping[str, str] | None = None) -> Ran:
    """As a process, to its end."""
    process = spawn(*arguments, folder=folder, variables=variables)
    out, err = process.communicate(timeout=240)
    return Ran(process.returncode, out, err)


def program(name: str = "handbook", **changes: Any) -> dict[str, Any]:
    """A small program over `title` and `text`."""
    return {
        "schema": "idxopt/1",
        "name": name,
        "source": {"fields": {"title": "title", "body": "text"}, "metadata": {"lang": "keyword"}, "markup": "markdown"},
        "views": {"content": {"lexical": {"fields": {"title": {}, "body": {}}}}},
        **changes,
    }


def sections(name: str = "handbook", **changes: Any) -> dict[str, Any]:
    """The same with a second view of sections."""
    plain = program(name)
    plain["views"]["sections"] = {
        "steps": [{"op": "reorganize", "to": "sections", "field": "body"}],
        "lexical": {"fields": {"body": {}}},
    }
    return {**plain, **changes}


def documents(count: int = 12) -> list[dict[str, Any]]:
    """Markdown pages; page n is the only one that names `marker<n>`."""
    return [
        {
            "_id": f"d{n}",
            "title": f"Page {n} on {WORDS[n % len(WORDS)]}",
            "text": f"# Page {n}\n\nIt speaks of {WORDS[n % len(WORDS)]}.\n\n## More\n\nHere stands marker{n}.",
            "lang": "en" if n % 2 else "de",
        }
        for n in range(count)
    ]


def write_json(path: Path, value: Any) -> Path:
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_lines(path: Path, values: Sequence[Any]) -> Path:
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def write_site(folder: Path) -> Path:
    """Documents, two programs, queries and judgments."""
    write_lines(folder / "docs.jsonl", documents())
    write_json(folder / "program.json", program())
    write_json(folder / "better.json", sections())
    write_lines(folder / "queries.jsonl", [{"_id": f"q{n}", "text": f"marker{n}"} for n in range(8)])
    lines = ["query-id\tcorpus-id\tscore\n", *(f"q{n}\td{n}\t1\n" for n in range(8))]
    (folder / "qrels.tsv").write_text("".join(lines), encoding="utf-8")
    return folder
