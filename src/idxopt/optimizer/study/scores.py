"""The store of scores: what a program scored with which documents, queries, judgments and engine.

One file may serve several studies, seeds and rules: a program is evaluated once, and a search is replayed over it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from idxopt.errors import BuildError
from idxopt.evaluation.judgments import Qrels, Query
from idxopt.evaluation.metrics import parse_metric
from idxopt.hashing import digest
from idxopt.operators.registry import FORMS
from idxopt.optimizer.ports import METRICS, Scores, Size
from idxopt.optimizer.study.database import Database

_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS scores (
  corpus TEXT NOT NULL, judged TEXT NOT NULL, program TEXT NOT NULL, engine TEXT NOT NULL,
  n INTEGER NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL, views INTEGER NOT NULL,
  seconds REAL NOT NULL, p95_ms REAL, written_at REAL NOT NULL,
  PRIMARY KEY (corpus, judged, program, engine)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS metric_values (
  corpus TEXT NOT NULL, judged TEXT NOT NULL, program TEXT NOT NULL, engine TEXT NOT NULL, metric TEXT NOT NULL,
  by_query BLOB NOT NULL,
  PRIMARY KEY (corpus, judged, program, engine, metric)
) WITHOUT ROWID
"""
_BYTES = 8
_KEY = "corpus = ? AND judged = ? AND program = ? AND engine = ?"


@dataclass(frozen=True, slots=True)
class Setting:
    """What scores depend on beside the program: digests of documents and of judged queries, and the engine."""

    corpus: str
    judged: str
    engine: str

    @property
    def scored_by(self) -> str:
        """The engine, and what steps do in this release: scores of another meaning are never taken for the same."""
        return f"{self.engine}, steps {_meaning()}"


@dataclass(frozen=True, slots=True)
class StoredScores:
    """Scores, the seconds that it took to compute them, and the 95th percentile of latency where it was measured."""

    scores: Scores
    seconds: float
    p95_ms: float | None = None


@cache
def _meaning() -> str:
    """8 hex digits over the semantics versions of all forms of steps."""
    return digest({name: form.version for name, form in FORMS.items()})[:8]


def judged_digest(queries: Sequence[Query], qrels: Qrels) -> str:
    """64 hex digits over ids, texts and judgments, in the order of the queries (which is that of the values)."""
    plain = [[query.id, query.text, sorted(qrels[query.id].items())] for query in queries]
    return digest(plain)


class ScoreStore:
    """An open store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path) -> ScoreStore:
        """Opens or makes the file. Raises BuildError where it cannot be used."""
        return cls(Database(path, _SCHEMA, _VERSION, what="a store of scores"))

    def get(self, setting: Setting, program: str) -> StoredScores | None:
        """The scores of the program with this hash. Raises BuildError for values that cannot be read."""
        key = (setting.corpus, setting.judged, program, setting.scored_by)
        found = self._database.read(
            f"SELECT n, rows, bytes, views, seconds, p95_ms FROM scores WHERE {_KEY}",  # noqa: S608 - a constant
            key,
        )
        if not found:
            return None
        n, rows, size, views, seconds, p95 = found[0]
        blobs = dict(
            self._database.read(
                f"SELECT metric, by_query FROM metric_values WHERE {_KEY}",  # noqa: S608 - a constant
                key,
            )
        )
        if not {str(metric) for metric in METRICS} <= blobs.keys():
            return None  # written by a release with other metrics: computed again
        if any(not isinstance(blob, bytes) or len(blob) != n * _BYTES for blob in blobs.values()):
            raise BuildError(
                f"the scores of program {program[:8]} are damaged",
                place=str(self._database.path),
                remedy="move the file away: scores are computed again",
            )
        values = {parse_metric(name): np.frombuffer(blob, "<f8").astype(np.float64) for name, blob in blobs.items()}
        return StoredScores(Scores(values, Size(rows, size, views)), seconds, p95)

    def put(self, setting: Setting, program: str, stored: StoredScores) -> None:
        """On disk when it returns. Scores that are there already stay: a program has one result."""
        key = (setting.corpus, setting.judged, program, setting.scored_by)
        size, values = stored.scores.size, stored.scores.values
        counts = (len(next(iter(values.values()))), size.rows, size.bytes, size.views)
        times = (stored.seconds, stored.p95_ms, time.time())
        with self._database.transaction() as db:
            db.execute("INSERT OR IGNORE INTO scores VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (*key, *counts, *times))
            db.executemany(
                "INSERT OR IGNORE INTO metric_values VALUES (?, ?, ?, ?, ?, ?)",
                [(*key, str(metric), np.asarray(array, "<f8").tobytes()) for metric, array in values.items()],
            )
            db.execute(
                f"UPDATE scores SET p95_ms = ? WHERE {_KEY} AND p95_ms IS NULL",  # noqa: S608 - a constant
                (stored.p95_ms, *key),
            )

    def __len__(self) -> int:
        """Programs that have scores, counted once in each setting."""
        return int(self._database.read("SELECT count(*) FROM scores")[0][0])

    def close(self) -> None:
        self._database.close()
