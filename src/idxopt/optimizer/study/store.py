"""The database of a study: trials, answers of language models, events. Every write is one transaction.

A trial is `running` only while its process works on it: what a killed process left running is taken out as the study is
opened again, and gets its number anew when the search comes to it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from idxopt.errors import BuildError
from idxopt.models.ports import Generation
from idxopt.optimizer.edits import EDITS
from idxopt.optimizer.ports import Candidate, Proposal
from idxopt.optimizer.study.database import Database
from idxopt.program.canonical import canonical

Status = Literal["running", "complete", "refused", "invalid", "failed"]
Plain = dict[str, Any]

_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS trials (
  number INTEGER PRIMARY KEY, round INTEGER NOT NULL, hash TEXT NOT NULL, program TEXT NOT NULL, proposal TEXT,
  status TEXT NOT NULL CHECK (status IN ('running', 'complete', 'refused', 'invalid', 'failed')),
  reason TEXT, gain REAL, confidence REAL, seconds REAL NOT NULL DEFAULT 0, p95_ms REAL,
  cached INTEGER NOT NULL DEFAULT 0, engine TEXT NOT NULL, against TEXT,
  started_at REAL NOT NULL, metric TEXT
);
CREATE TABLE IF NOT EXISTS answers (
  model TEXT NOT NULL, prompt TEXT NOT NULL, text TEXT NOT NULL, tokens_in INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL, finish TEXT NOT NULL, failure TEXT, answered_at REAL NOT NULL,
  PRIMARY KEY (model, prompt)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events (
  id INTEGER PRIMARY KEY, at REAL NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL
)
"""
_UNHEARD = "none"
"""`finish` of a request that stayed without an answer."""
_TRIAL = (
    "number, round, hash, program, proposal, status, reason, gain, confidence, seconds, p95_ms, cached, engine,"
    " against, started_at, metric"
)


@dataclass(frozen=True, slots=True)
class StoredTrial:
    """One program of the search. Number 0 is the baseline; numbers follow the order of the search.

    `status`: `running`; `complete`: scored and kept; `refused`: scored and not kept; `invalid`: no valid program;
    `failed`: it could not be built or scored. `reason` says why where it was not kept. `gain` and `confidence` are
    those of the decision, of `metric`. `seconds`: what scoring took, also where an earlier run did it (`cached`).
    `against`: hash of the program that it would have replaced.
    """

    number: int
    round: int
    hash: str
    program: Mapping[str, Any]
    proposal: Proposal | None
    status: Status
    engine: str
    reason: str | None = None
    gain: float | None = None
    confidence: float | None = None
    seconds: float = 0.0
    p95_ms: float | None = None
    cached: bool = False
    against: str | None = None
    started_at: float = 0.0
    metric: str | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """How a trial ended. `gain` and `confidence` are of `metric`."""

    number: int
    status: Status
    reason: str | None = None
    gain: float | None = None
    confidence: float | None = None
    metric: str | None = None


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """Something that happened, at a time in seconds since 1970."""

    at: float
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class StoredAnswer:
    """What a language model said; `failure` where what it said could not be used.

    `heard`: False where no answer came at all (a time-out, a server that failed). That is kept too: a study that is
    resumed must hear what it heard.
    """

    generation: Generation
    failure: str | None = field(default=None)
    heard: bool = True


class StudyStore:
    """An open database. One process writes (the lock of the folder says which); others may read."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, path: Path) -> StudyStore:
        """Opens or makes the file. Raises BuildError where it cannot be used."""
        database = Database(path, _SCHEMA, _VERSION, what="the database of a study")
        try:
            with database.transaction() as db:
                if "metric" not in {column[1] for column in db.execute("PRAGMA table_info(trials)")}:
                    db.execute("ALTER TABLE trials ADD COLUMN metric TEXT")  # begun before trials told their metric
        except BaseException:
            database.close()
            raise
        return cls(database)

    def close(self) -> None:
        self._database.close()

    def drop_running(self) -> int:
        """Takes out the trials that a killed process left, and returns how many. To be called under the lock."""
        with self._database.transaction() as db:
            return db.execute("DELETE FROM trials WHERE status = 'running'").rowcount

    def begin(
        self, number: int, round_: int, candidate: Candidate, engine: str, against: str | None = None
    ) -> StoredTrial:
        """The trial with this number: as an earlier run left it, or begun now.

        Raises BuildError where an earlier run had another program there: the search is then not the one that it was.
        """
        known = self.trial(number)
        if known is not None:
            if known.hash != candidate.hash:
                raise BuildError(
                    f"trial {number} was program {known.hash[:8]} and would now be {candidate.hash[:8]}: the search"
                    " does not repeat itself",
                    place=str(self._database.path),
                    remedy="go on with the idxopt that began the study, or begin another in a new folder",
                )
            return known
        program = json.dumps(canonical(candidate.program), ensure_ascii=False, sort_keys=True)
        with self._database.transaction() as db:
            db.execute(
                "INSERT INTO trials (number, round, hash, program, proposal, status, engine, against,"
                " started_at) VALUES (?, ?, ?, ?, ?, 'running', ?, ?, ?)",
                (
                    number,
                    round_,
                    candidate.hash,
                    program,
                    _proposal_text(candidate.proposal),
                    engine,
                    against,
                    time.time(),
                ),
            )
        begun = self.trial(number)
        assert begun is not None  # it was inserted
        return begun

    def scored(self, number: int, *, seconds: float, p95_ms: float | None, cached: bool) -> None:
        """Notes what scoring took; the trial keeps running until the round is decided."""
        with self._database.transaction() as db:
            db.execute(
                "UPDATE trials SET seconds = ?, p95_ms = ?, cached = ? WHERE number = ? AND status = 'running'",
                (seconds, p95_ms, int(cached), number),
            )

    def decide(self, decisions: Sequence[Decision]) -> None:
        """Ends the trials of a round at once."""
        with self._database.transaction() as db:
            db.executemany(
                "UPDATE trials SET status = ?, reason = ?, gain = ?, confidence = ?, metric = ? WHERE number = ?",
                [(one.status, one.reason, one.gain, one.confidence, one.metric, one.number) for one in decisions],
            )

    def trial(self, number: int) -> StoredTrial | None:
        """One trial."""
        rows = self._database.read(f"SELECT {_TRIAL} FROM trials WHERE number = ?", (number,))  # noqa: S608 - constant
        return _trial(rows[0]) if rows else None

    def trials(self) -> list[StoredTrial]:
        """All trials, in the order of the search."""
        rows = self._database.read(f"SELECT {_TRIAL} FROM trials ORDER BY number")  # noqa: S608 - a constant
        return [_trial(row) for row in rows]

    def answer(self, model: str, prompt: str) -> StoredAnswer | None:
        """What the model with this identity said to the prompt with this digest."""
        rows = self._database.read(
            "SELECT text, tokens_in, tokens_out, finish, failure FROM answers WHERE model = ? AND prompt = ?",
            (model, prompt),
        )
        if not rows:
            return None
        text, tokens_in, tokens_out, finish, failure = rows[0]
        if finish == _UNHEARD:
            return StoredAnswer(Generation(text, tokens_in, tokens_out), failure, heard=False)
        return StoredAnswer(Generation(text, tokens_in, tokens_out, finish), failure)

    def put_answer(self, model: str, prompt: str, answer: StoredAnswer) -> None:
        """On disk when it returns."""
        said = answer.generation
        with self._database.transaction() as db:
            db.execute(
                "INSERT OR IGNORE INTO answers VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    *(model, prompt, said.text, said.input_tokens, said.output_tokens),
                    *(said.finish if answer.heard else _UNHEARD, answer.failure, time.time()),
                ),
            )

    def unheard(self) -> int:
        """How many requests to language models stayed without an answer."""
        return int(self._database.read("SELECT count(*) FROM answers WHERE finish = ?", (_UNHEARD,))[0][0])

    def forget_unheard(self) -> int:
        """Takes those requests out, so that they are sent again, and returns how many there were.

        Where there were any all trials go too: another answer is another search. Scores and good answers stay.
        """
        with self._database.transaction() as db:
            count = db.execute("DELETE FROM answers WHERE finish = ?", (_UNHEARD,)).rowcount
            if count:
                db.execute("DELETE FROM trials")
        return count

    def spoken(self) -> list[tuple[str, int, int, int]]:
        """By model identity: requests that may cost something, and the tokens that went in and out."""
        return [
            (model, calls, tokens_in, tokens_out)
            for model, calls, tokens_in, tokens_out in self._database.read(
                "SELECT model, count(*), sum(tokens_in), sum(tokens_out) FROM answers"
                " WHERE finish != ? OR tokens_in > 0 GROUP BY model ORDER BY model",
                (_UNHEARD,),
            )
        ]

    def note(self, kind: str, text: str) -> None:
        """Adds an event, now."""
        with self._database.transaction() as db:
            db.execute("INSERT INTO events (at, kind, text) VALUES (?, ?, ?)", (time.time(), kind, text))

    def note_once(self, kind: str, text: str) -> None:
        """Adds an event, unless one with the same words is there: a search that is driven again says the same again."""
        if not self._database.read("SELECT 1 FROM events WHERE kind = ? AND text = ?", (kind, text)):
            self.note(kind, text)

    def events(self) -> list[StoredEvent]:
        """All events, in the order in which they came."""
        return [StoredEvent(*row) for row in self._database.read("SELECT at, kind, text FROM events ORDER BY id")]


def _proposal_text(proposal: Proposal | None) -> str | None:
    if proposal is None:
        return None
    edits = EDITS.dump_python(list(proposal.edits), mode="json", by_alias=True, exclude_defaults=False)
    plain = {"edits": edits, "kind": proposal.kind, "why": proposal.why, "proposer": proposal.proposer}
    return json.dumps(plain, ensure_ascii=False)


def _trial(row: tuple[Any, ...]) -> StoredTrial:
    (
        number,
        round_,
        hash_,
        program,
        proposal,
        status,
        reason,
        gain,
        confidence,
        seconds,
        p95,
        cached,
        engine,
        against,
        at,
        metric,
    ) = row
    return StoredTrial(
        number=number,
        round=round_,
        hash=hash_,
        program=json.loads(program),
        proposal=_proposal(proposal),
        status=status,
        engine=engine,
        reason=reason,
        gain=gain,
        confidence=confidence,
        seconds=seconds,
        p95_ms=p95,
        cached=bool(cached),
        against=against,
        started_at=at,
        metric=metric,
    )


def _proposal(text: str | None) -> Proposal | None:
    if text is None:
        return None
    plain: Plain = json.loads(text)
    return Proposal(tuple(EDITS.validate_python(plain["edits"])), plain["kind"], plain["why"], plain["proposer"])
