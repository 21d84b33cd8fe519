"""The store of generated texts: what language models answered, once and for all runs, in one sqlite file.

Every answer was paid for, so it is written durably (an answer is on disk before its cost is settled) and never removed.
Steps only read it. Several processes may have the file open. An answer that could not be used is kept as a failure, so
that it is neither asked for nor paid again: the step then leaves the text as it was.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from idxopt.errors import BuildError, IdxoptError
from idxopt.models.prompts import Answer, TextRequest
from idxopt.program.steps import Generated, Keywords
from idxopt.shared_file import open_shared

FILE_NAME = "texts.sqlite"
VERSION = 1
_ASKED_AT_ONCE = 500
_TABLE = """
CREATE TABLE IF NOT EXISTS texts (
  key TEXT PRIMARY KEY, task TEXT NOT NULL, answer BLOB, failure TEXT,
  tokens_in INTEGER NOT NULL, tokens_out INTEGER NOT NULL, contradicts INTEGER
) WITHOUT ROWID
"""


@dataclass(frozen=True, slots=True)
class Kept:
    """An answer, or why there is none that can be used. Tokens are those of all tries.

    `contradicts`: what an entailment model said of a restructured section; None where none was asked.
    """

    answer: Answer | None
    failure: str = ""
    tokens_in: int = 0
    tokens_out: int = 0
    contradicts: bool | None = None


class NotGenerated(IdxoptError):
    """A document needs texts that are not in the store; `requests` by the program's name of the generator."""

    code = "not_generated"

    def __init__(self, generator: str, requests: Sequence[TextRequest]) -> None:
        super().__init__(
            f'{len(requests)} texts of the generator "{generator}" are not there yet',
            remedy="run `idxopt apply`, which generates them",
        )
        self.generator = generator
        self.requests = tuple(requests)
        self.step: Generated | Keywords | None = None
        """The step of the program that needs them, once it is known."""


class TextStore:
    """An open store. Threads share it."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path
        self._lock = threading.Lock()

    @classmethod
    def open(cls, path: Path) -> TextStore:
        """Opens or makes the file. Raises BuildError where it cannot be used: what was paid for is not made anew."""
        with _refusing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            connection = open_shared(path, wait_s=60, synchronous="FULL")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version not in (0, VERSION):
                connection.close()
                raise BuildError(
                    f"is a store of version {version}; this idxopt reads version {VERSION}",
                    place=str(path),
                    remedy="use the idxopt that wrote it, or another cache folder",
                )
            connection.execute(_TABLE)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        return cls(connection, path)

    def get(self, keys: Sequence[str]) -> dict[str, Kept]:
        """What is there of some keys."""
        found: dict[str, Kept] = {}
        with self._lock, _refusing(self._path):
            for start in range(0, len(keys), _ASKED_AT_ONCE):
                part = keys[start : start + _ASKED_AT_ONCE]
                rows = self._connection.execute(
                    "SELECT key, answer, failure, tokens_in, tokens_out, contradicts FROM texts"
                    " WHERE key IN (SELECT value FROM json_each(?))",
                    (orjson.dumps(part).decode(),),
                )
                for key, answer, failure, tokens_in, tokens_out, contradicts in rows:
                    found[key] = Kept(
                        None if answer is None else orjson.loads(answer),
                        failure or "",
                        tokens_in,
                        tokens_out,
                        None if contradicts is None else bool(contradicts),
                    )
        return found

    def put(self, key: str, task: str, kept: Kept) -> None:
        """On disk when it returns. What is there already stays."""
        answer = None if kept.answer is None else orjson.dumps(kept.answer)
        with self._lock, _refusing(self._path):
            self._connection.execute(
                "INSERT OR IGNORE INTO texts VALUES (?, ?, ?, ?, ?, ?, ?)",
                (key, task, answer, kept.failure or None, kept.tokens_in, kept.tokens_out, kept.contradicts),
            )

    def judge(self, key: str, contradicts: bool) -> None:
        """Writes what an entailment model said."""
        with self._lock, _refusing(self._path):
            self._connection.execute("UPDATE texts SET contradicts = ? WHERE key = ?", (contradicts, key))

    def __len__(self) -> int:
        with self._lock, _refusing(self._path):
            count: int = self._connection.execute("SELECT count(*) FROM texts").fetchone()[0]
        return count

    def close(self) -> None:
        with self._lock:
            self._connection.close()


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError, ValueError) as error:
        raise BuildError(
            f"cannot be used as the store of generated texts ({error})",
            place=str(path),
            remedy="check its folder, rights and disk; moving the file away means that its texts are paid for again",
        ) from error
