"""The run log: one JSON line an answer, in a file of bounded size that is rotated.

A log is opt-in, and its failures never fail a search: what could not be written is counted. Query and key are stored
as hashes unless texts are asked for. The hash of a short query can be guessed by trying; it hides the text from a
reader, not from an attacker.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Protocol

import orjson

from idxopt.builds.clock import SystemClock, timestamp
from idxopt.hashing import text_digest
from idxopt.search.query import SearchQuery, SearchResult
from idxopt.search.split import split_key

MAX_BYTES = 64 * 1024 * 1024
FILES = 5
_IDS = 100
_TEXT = 1_000
_HASH_DIGITS = 16


class QueryLog(Protocol):
    """Told of every answer; must not raise."""

    def record(self, query: SearchQuery, result: SearchResult, ms: float) -> None: ...


@dataclass(frozen=True, slots=True)
class Entry:
    """A line. `arm` answered, None while no canary ran; `fallback`: it stood in for the candidate.

    `chosen`: the arm was asked for by name, so the answer tells nothing of the split. `key`: hash of the session, or of
    the query.
    """

    at: str
    arm: str | None
    build: str
    query: str
    key: str
    docs: tuple[str, ...]
    total: int
    ms: float
    fallback: bool = False
    chosen: bool = False


class RunLog:
    """Writes to `path`; beyond `max_bytes` it becomes `path.1` and so on, and the oldest of `files` goes.

    `texts`: store queries as they are. Safe to share between threads; each process should have a file of its own.
    `failed`: answers that could not be logged.
    """

    def __init__(self, path: Path, *, texts: bool = False, max_bytes: int = MAX_BYTES, files: int = FILES) -> None:
        self.failed = 0
        self._texts = texts
        self._clock = SystemClock()
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
        self._handler = _Lines(
            path, maxBytes=max_bytes, backupCount=max(1, files - 1), encoding="utf-8", delay=True, errors="replace"
        )
        self._handler.owner = self

    def record(self, query: SearchQuery, result: SearchResult, ms: float) -> None:
        """Appends one line."""
        try:
            line = orjson.dumps(self._line(query, result, ms)).decode("utf-8")
        except (orjson.JSONEncodeError, UnicodeError):  # an id or a query that is no text
            self.failed += 1
            return
        self._handler.handle(logging.LogRecord("idxopt.runlog", logging.INFO, "", 0, line, None, None))

    def close(self) -> None:
        self._handler.close()

    def _line(self, query: SearchQuery, result: SearchResult, ms: float) -> dict[str, Any]:
        text = " ".join(query.text.split())
        return {
            "at": timestamp(self._clock),
            "arm": result.arm,
            "build": result.build,
            "query": text[:_TEXT] if self._texts else key_hash(split_key(text, None)),
            "key": key_hash(split_key(query.text, query.session_key)),
            "docs": [hit.doc_id for hit in result.hits[:_IDS]],
            "total": result.total,
            "ms": round(ms, 3),
            **({"fallback": True} if result.fallback is not None else {}),
            **({"chosen": True} if query.arm is not None else {}),
        }


class _Lines(RotatingFileHandler):
    owner: RunLog

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: ARG002, N802 - named by logging
        self.owner.failed += 1


def read_run_log(path: Path) -> Iterator[Entry]:
    """The entries of a log and of its rotated files, oldest file first; lines that are no entry are passed over (a
    process that was killed leaves half a line).
    """
    rotated = sorted(
        (one for one in path.parent.glob(f"{path.name}.*") if one.suffix[1:].isdigit()),
        key=lambda one: -int(one.suffix[1:]),
    )
    for file in (*rotated, path):
        with contextlib.suppress(FileNotFoundError), file.open("rb") as lines:
            for line in lines:
                entry = _entry(line)
                if entry is not None:
                    yield entry


def _entry(line: bytes) -> Entry | None:
    try:
        found = orjson.loads(line)
        return Entry(**{**found, "docs": tuple(found["docs"]), "ms": float(found["ms"])})
    except (ValueError, TypeError, KeyError):
        return None


def key_hash(key: str) -> str:
    """A split key as the log holds it."""
    return text_digest(key)[:_HASH_DIGITS]
