"""Scores of candidates: from the store where they are there, else computed here or by worker processes, then kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from idxopt.errors import (
    BudgetReached,
    BuildError,
    ConfigError,
    Forbidden,
    IdxoptError,
    ModelError,
    Overloaded,
    Unauthorized,
    Unreachable,
)
from idxopt.operators.parallel import Crashed, Pool
from idxopt.optimizer.ports import Candidate, Evaluator
from idxopt.optimizer.study.latency import Latency
from idxopt.optimizer.study.scores import ScoreStore, Setting, StoredScores
from idxopt.optimizer.study.worker import Scored, Work, scored
from idxopt.program.schema import Program

_NO_FAULT_OF_THE_PROGRAM = (
    BudgetReached,
    ConfigError,
    Forbidden,
    ModelError,
    Overloaded,
    Unauthorized,
    Unreachable,
)


@dataclass(frozen=True, slots=True)
class Result:
    """One candidate's scores, or why there are none. `cached`: they were in the store."""

    candidate: Candidate
    scores: StoredScores | None
    error: IdxoptError | None = None
    cached: bool = False


class Scoring:
    """Scores programs over one corpus and list of queries.

    `latency` measures each program that is scored; slower than `max_p95_ms` counts as failed.
    """

    def __init__(
        self,
        evaluator: Evaluator,
        store: ScoreStore,
        setting: Setting,
        *,
        pool: Pool | None = None,
        max_p95_ms: float | None = None,
        latency: Latency | None = None,
    ) -> None:
        self.evaluator = evaluator
        self.setting = setting
        self._store = store
        self._pool = pool
        self._max_p95_ms = max_p95_ms
        self._latency = latency

    def results(self, candidates: Sequence[Candidate]) -> Iterator[Result]:
        """Each candidate's result as it is known: first those of the store, then the others in their order.

        What is computed is on disk before it is yielded. Raises what is no fault of the program: an engine that does
        not answer, missing rights, a budget that is used up.
        """
        waiting = []
        for candidate in candidates:
            known = self._store.get(self.setting, candidate.hash)
            if known is None or (self._latency is not None and known.p95_ms is None):
                waiting.append(candidate)
            else:
                yield self._checked(candidate, known, cached=True)
        for candidate, found in zip(waiting, self._computed([one.program for one in waiting]), strict=True):
            if isinstance(found, IdxoptError):
                if isinstance(found, _NO_FAULT_OF_THE_PROGRAM):
                    raise found
                yield Result(candidate, None, found)
                continue
            scores, seconds = found
            p95 = None if self._latency is None else self._latency(candidate.program)
            stored = StoredScores(scores, seconds, p95)
            self._store.put(self.setting, candidate.hash, stored)
            yield self._checked(candidate, stored, cached=False)

    def known(self, program: str) -> StoredScores | None:
        """What the store has of the program with this hash."""
        return self._store.get(self.setting, program)

    def one(self, candidate: Candidate) -> Result:
        """The result of a single candidate."""
        return next(self.results([candidate]))

    def _computed(self, programs: Sequence[Program]) -> Iterator[Scored]:
        if self._pool is None or len(programs) < 2:
            yield from (scored(self.evaluator, program) for program in programs)
            return
        for (found,) in self._pool.map([program] for program in programs):
            yield _died(found) if isinstance(found, Crashed) else found

    def _checked(self, candidate: Candidate, stored: StoredScores, *, cached: bool) -> Result:
        limit = self._max_p95_ms
        if limit is None or stored.p95_ms is None or stored.p95_ms <= limit:
            return Result(candidate, stored, cached=cached)
        slow = BuildError(
            f"95% of the queries take up to {stored.p95_ms:.1f} ms, and the limit is {limit:g} ms",
            remedy="raise --max-p95",
        )
        return Result(candidate, stored, slow, cached=cached)


@contextmanager
def worker_pool(work: Work, workers: int) -> Iterator[Pool | None]:
    """Worker processes for the time of a study; None where one worker is enough."""
    if workers < 2:
        yield None
        return
    with Pool("idxopt.optimizer.study.worker:scoring", work, workers) as pool:
        yield pool


def _died(crashed: Crashed) -> BuildError:
    return BuildError(
        f"the worker process died over this program, twice (exit code {crashed.exit_code})",
        remedy="look at the memory that it takes; limit it with --max-rows and --max-bytes",
    )
