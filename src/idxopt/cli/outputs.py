"""Files that options such as `--out` name: a file is replaced only where it is one that the same command writes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

from idxopt.errors import SourceError, UsageError

PLAN_SCHEMA = "idxopt-plan/"
PROGRAM_SCHEMA = "idxopt/"
REPORT_MARK = b'<meta name="generator" content="idxopt study">'


def refuse_foreign(path: Path, option: str, what: str, ours: Callable[[Path], bool], read: Iterable[Path] = ()) -> None:
    """To be called before any work. Raises UsageError where writing `path` would lose a file of somebody.

    `what`: what the option writes; `ours` tells such a file from others. `read`: files that the command reads, which
    are never replaced. A file that is not there, or is empty, is free.
    """
    remedy = "choose another file, or move that one away first"
    for source in read:
        if path.exists() and source.exists() and path.samefile(source):
            raise UsageError(f"{path} is what this command reads, and would be lost", place=option, remedy=remedy)
    if not path.exists() or (path.is_file() and not _size(path)):
        return
    if path.is_dir():
        raise UsageError(f"{path} is a folder", place=option, remedy="name a file")
    if not path.is_file() or not ours(path):
        raise UsageError(f"{path} exists and is not {what}; it would be lost", place=option, remedy=remedy)


def is_plan(path: Path) -> bool:
    """True for a plan that `--out` wrote, of any version."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and str(value.get("schema", "")).startswith(PLAN_SCHEMA)


def is_program(path: Path) -> bool:
    """True for a program.json, of any version."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and str(value.get("schema", "")).startswith(PROGRAM_SCHEMA)


def is_run(path: Path) -> bool:
    """True for a run file in TREC format."""
    from idxopt.evaluation.runfiles import read_run

    try:
        read_run(path)
    except SourceError:
        return False
    return True


def is_report(path: Path) -> bool:
    """True for the report of a study."""
    try:
        with path.open("rb") as file:
            start = file.read(20_000)
    except OSError:
        return False
    return start.startswith(b"<!doctype html>") and REPORT_MARK in start


def is_artifact(path: Path) -> bool:
    """True for a template, pipeline or index body that `compile` wrote: each carries our mark."""
    try:
        value = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "idxopt" in json.dumps(value)


def _size(path: Path) -> int:
    return path.stat().st_size
