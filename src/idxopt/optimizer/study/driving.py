"""Drives the search: scores what it asks for, writes every trial down, and stops where time or money end.

A resumed study drives the search again from its start. Trials that were decided are there, scores come from the store,
answers of language models from the study's database: the search arrives where it was, and goes on.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from idxopt.errors import BudgetReached, BuildError, IdxoptError
from idxopt.optimizer.autoindex.search import Search
from idxopt.optimizer.autoindex.settings import Found
from idxopt.optimizer.ports import Candidate, Scores
from idxopt.optimizer.splits import HeldOut
from idxopt.optimizer.study.inputs import Progress
from idxopt.optimizer.study.scoring import Result, Scoring
from idxopt.optimizer.study.store import Decision, Status, StoredTrial, StudyStore

BASELINE_TRIAL = 0
_STATUS: dict[str, Status] = {"kept": "complete", "refused": "refused", "invalid": "invalid", "failed": "failed"}


@dataclass(frozen=True, slots=True)
class Driven:
    """A search that has ended. `stopped`: why it ended before its time (None: it came to its end)."""

    found: Found
    stopped: str | None


class Driver:
    """One search over one store. `deadline`: `time.monotonic` at which no further program is scored."""

    def __init__(
        self, scoring: Scoring, store: StudyStore, progress: Progress, *, deadline: float | None = None
    ) -> None:
        self._scoring = scoring
        self._store = store
        self._progress = progress
        self._deadline = deadline
        self._next = BASELINE_TRIAL
        self._done = 0
        self._engine = scoring.setting.engine
        self._written = 0

    def baseline(self, candidate: Candidate) -> Scores:
        """Scores the baseline as trial 0. Raises what makes scoring fail: without a baseline there is no study."""
        self._progress.stage("score the baseline")
        self._store.begin(BASELINE_TRIAL, 0, candidate, self._engine)
        result = self._scoring.one(candidate)
        if result.scores is None:
            raise result.error or BuildError("the baseline has no scores", remedy="look at the program")
        self._note(BASELINE_TRIAL, result)
        self._store.decide([Decision(BASELINE_TRIAL, "complete")])
        self._next = BASELINE_TRIAL + 1
        return result.scores.scores

    def drive(self, search: Search, held_out: HeldOut) -> Driven:
        """Rounds until the search ends, or time or money do. Raises the interrupt that `progress` asks for, and what is
        no fault of a program; the study can then be resumed.
        """
        stopped: str | None = None
        while stopped is None:
            try:
                self._progress.stage("ask for proposals")
                pending = search.pending()
            except BudgetReached as error:
                stopped = error.message
                search.stop(stopped)
                break
            if not pending:
                break
            stopped = self._round(search, pending)
        self._decide(search, {})
        return Driven(search.finish(held_out), stopped)

    def _round(self, search: Search, pending: Sequence[Candidate]) -> str | None:
        """Scores what is pending and reports it; why the search was stopped meanwhile, if it was."""
        first = self._next
        trials = [
            self._store.begin(first + place, search.round, candidate, self._engine, search.current.hash)
            for place, candidate in enumerate(pending)
        ]
        self._next = first + len(pending)
        results, stopped = self._scored(pending, trials)
        if stopped is not None:
            search.stop(stopped)
        search.report(results)
        self._decide(search, {id(candidate): first + place for place, candidate in enumerate(pending)})
        return stopped

    def _scored(
        self, pending: Sequence[Candidate], trials: Sequence[StoredTrial]
    ) -> tuple[dict[str, Scores | IdxoptError], str | None]:
        """Results by hash, and why not all are there."""
        numbers = {trial.hash: trial.number for trial in trials}
        results: dict[str, Scores | IdxoptError] = {
            trial.hash: BuildError(trial.reason or "it failed before") for trial in trials if trial.status == "failed"
        }
        waiting = [candidate for candidate in pending if candidate.hash not in results]
        replayed = all(trial.status != "running" for trial in trials)  # decided by an earlier run: scores are there
        if self._late() and not replayed:
            return results, _OUT_OF_TIME
        for result in self._scoring.results(waiting):
            self._note(numbers[result.candidate.hash], result)
            results[result.candidate.hash] = result.error or _scores_of(result)
            self._done += 1
            self._progress.advance("score programs", self._done, 0)
            if self._late() and not replayed and len(results) < len(pending):
                return results, _OUT_OF_TIME
        return results, None

    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _note(self, number: int, result: Result) -> None:
        if result.scores is not None:
            self._store.scored(number, seconds=result.scores.seconds, p95_ms=result.scores.p95_ms, cached=result.cached)

    def _decide(self, search: Search, numbers: dict[int, int]) -> None:
        """Ends the trials of the outcomes that are new. `numbers`: by identity of a candidate that was scored; what was
        dropped unscored gets the next numbers.
        """
        decisions = []
        new = search.outcomes[self._written :]
        self._written += len(new)
        for outcome in new:
            number = numbers.get(id(outcome.candidate))
            if number is None:
                number, self._next = self._next, self._next + 1
                self._store.begin(number, outcome.round, outcome.candidate, self._engine)
            metric = None if outcome.metric is None else str(outcome.metric)
            status = _STATUS[outcome.status]
            decisions.append(Decision(number, status, outcome.refused, outcome.gain, outcome.confidence, metric))
        self._store.decide(decisions)


_OUT_OF_TIME = "the time of this run is used up"


def _scores_of(result: Result) -> Scores:
    assert result.scores is not None  # a result has scores or an error
    return result.scores.scores
