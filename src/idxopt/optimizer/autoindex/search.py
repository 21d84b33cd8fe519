"""The search as a state machine without I/O: what to score next, and what the scores decide.

    while candidates := search.pending():
        search.report({candidate.hash: score(candidate) for candidate in candidates})
    found = search.finish(split.held_out)

Everything is a function of the settings, the proposer and the scores: a resumed study runs the machine again from the
start with the scores that it kept, and arrives where it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from idxopt.errors import EvaluationError, IdxoptError
from idxopt.optimizer.autoindex.acceptance import (
    Bar,
    Judgement,
    choose_objective,
    final_cut,
    gain_interval,
    judge,
    rank,
)
from idxopt.optimizer.autoindex.settings import Found, PathStep, RoundRecord, SearchSettings
from idxopt.optimizer.diagnosis.findings import Diagnosis
from idxopt.optimizer.edits import Edit, edited
from idxopt.optimizer.ports import METRICS, RECALL, Candidate, Outcome, Proposal, Proposer, Scores, SearchState
from idxopt.optimizer.renumbering import moved_over
from idxopt.optimizer.splits import HeldOut, PlacedQueries, pooled
from idxopt.program.schema import Program

MOST_ASKS = 20
"""How often a proposer is asked in one round: one that answers only what was seen, or is wrong, ends there."""
LONGEST_REASON = 500
"""Characters of an error that an outcome keeps."""


class Search:
    """One search. `diagnose` is called at most once for each current program, when proposals are asked for.

    `dev`: the sets that gains are measured on; `slices`: groups of dev queries that may not fall; `documents`: size
    of the corpus; `veto`: why a candidate that passes may yet not be kept (its latency, say), or None.
    `baseline_scores` are in the evaluator's order, as all scores reported.
    """

    def __init__(
        self,
        settings: SearchSettings,
        baseline: Program,
        baseline_scores: Scores,
        dev: Sequence[PlacedQueries],
        proposer: Proposer,
        diagnose: Callable[[Program], Diagnosis],
        *,
        documents: int,
        slices: Sequence[PlacedQueries] = (),
        veto: Callable[[Candidate, Scores], str | None] | None = None,
    ) -> None:
        self._places = pooled(dev)
        if not len(self._places):
            raise EvaluationError("there is no dev query to search with", remedy="give judged queries")
        recall = float(np.mean(baseline_scores.at(RECALL, self._places)))
        self.objective = choose_objective(recall, documents, settings.objective)
        self._bar = Bar(settings.rule, self.objective, tuple(dev), tuple(slices), settings.limits, settings.seed)
        self._settings = settings
        self._rounds = settings.rounds_for(documents)
        self._proposer, self._diagnose, self._veto = proposer, diagnose, veto
        self._baseline, self._baseline_scores = Candidate.of(baseline), baseline_scores
        self._current, self._scores = self._baseline, baseline_scores
        self._diagnosis: tuple[str, Diagnosis] | None = None
        self._seen: dict[str, str] = {self._baseline.hash: "it is the baseline"}
        self._log: list[Outcome] = []
        self._told = self._recorded = 0
        self._round_kept = False
        self._pending: tuple[Candidate, ...] = ()
        self._merging = False
        self._to_merge: list[Proposal] = []
        self._start = self._baseline
        self._kept_edits: list[tuple[Edit, ...]] = []
        self._without_gain = 0
        self._ended: str | None = None
        self.round = 0
        self.evaluations = 0
        self.path: list[PathStep] = []

    @property
    def current(self) -> Candidate:
        """The best program so far."""
        return self._current

    @property
    def outcomes(self) -> Sequence[Outcome]:
        """Of all rounds, in the order in which they came."""
        return tuple(self._log)

    @property
    def ended(self) -> str | None:
        """Why the search is over; None while it goes on."""
        return self._ended

    def pending(self) -> list[Candidate]:
        """What is to be scored next, in order; empty when the search is over.

        Asks the proposer where a round begins, and lets through what that raises (BudgetReached, ModelError): the
        search stays as it was, so that it may be stopped or asked again.
        """
        if not self._pending and self._ended is None:
            self._begin_round()
        return list(self._pending) if self._ended is None else []

    def stop(self, reason: str) -> None:
        """Ends the search (time, money, the user). What is pending may still be reported, as far as it was scored."""
        self._ended = self._ended or reason

    def report(self, results: Mapping[str, Scores | IdxoptError]) -> RoundRecord:
        """Decides about the pending candidates by their scores, or by what made scoring fail, by program hash.

        Raises EvaluationError where a pending candidate is missing, unless the search was stopped.
        """
        candidates = tuple(candidate for candidate in self._pending if candidate.hash in results)
        if not self._pending or (len(candidates) < len(self._pending) and self._ended is None):
            raise EvaluationError(
                "not every pending candidate has scores" if self._pending else "nothing is pending",
                remedy="report the result of every candidate of pending(), once",
            )
        merging, self._pending = self._merging, ()
        self.evaluations += len(candidates)
        judgements = {candidate.hash: self._judged(candidate, results[candidate.hash]) for candidate in candidates}
        passing = self._passing(candidates, judgements, results)
        best = passing[0] if passing else None
        self._log += [self._outcome(each, results[each.hash], judgements[each.hash], best) for each in candidates]
        number = self.round
        kept = self._keep(best, results[best.hash], judgements[best.hash], merged=merging) if best else None
        if not merging:
            self._to_merge = _beside(passing)
        self._continue()
        outcomes, self._recorded = tuple(self._log[self._recorded :]), len(self._log)
        return RoundRecord(
            round=number,
            stage="merge" if merging else "proposals",
            outcomes=outcomes,
            judgements={hash_: judgement for hash_, judgement in judgements.items() if judgement is not None},
            kept=kept,
            complete=not self._pending,
        )

    def finish(self, held_out: HeldOut) -> Found:
        """Reads the held-out queries, once, and cuts the path back by them. Raises EvaluationError before the end."""
        if self._ended is None:
            raise EvaluationError("the search is not over", remedy="report what is pending, or stop it")
        sets = held_out.read("the final cut")
        cut = final_cut(self._baseline_scores, [step.scores for step in self.path], self.objective, sets)
        last = self.path[cut.kept - 1] if cut.kept else None
        scores = last.scores if last else self._baseline_scores
        places = pooled(sets)
        return Found(
            baseline=self._baseline,
            program=last.candidate if last else self._baseline,
            scores=scores,
            path=tuple(self.path),
            cut=cut,
            objective=self.objective,
            outcomes=tuple(self.outcomes),
            evaluations=self.evaluations,
            rounds=self.round,
            ended=self._ended,
            held_out=sets,
            differences={
                metric: gain_interval(scores, self._baseline_scores, metric, places)
                for metric in METRICS
                if len(places)
            },
        )

    def _begin_round(self) -> None:
        """Asks for proposals, or ends the search."""
        if self.round >= self._rounds:
            self.stop(f"all {self._rounds} rounds are done")
        elif self._without_gain >= self._settings.patience:
            self.stop(f"{self._without_gain} rounds in a row kept nothing")
        elif self._left() == 0:
            self.stop(f"the budget of {self._settings.evaluations} evaluations is used up")
        else:
            self._ask()

    def _ask(self) -> None:
        """Fills the round with new, valid candidates; as before where the proposer fails before the first."""
        left = self._left()
        wanted = self._settings.candidates if left is None else min(self._settings.candidates, left)
        chosen: list[Candidate] = []
        heard: list[tuple[Edit, ...]] = []
        mark = len(self._log)
        for _ in range(MOST_ASKS):
            try:
                proposals = self._proposer.ask(self._state(chosen, mark), wanted - len(chosen))
            except IdxoptError:
                if chosen:
                    break
                del self._log[mark:]
                raise
            before = len(heard)
            for proposal in proposals[: wanted - len(chosen)]:
                if proposal.edits not in heard:
                    heard.append(proposal.edits)
                    candidate = self._admitted(proposal, self.round + 1, chosen)
                    chosen += [candidate] if candidate else []
            if len(heard) == before or len(chosen) == wanted:
                break
        self.round += 1
        refused = {outcome.candidate.hash: outcome.refused or "" for outcome in self._log[mark:]}
        proposed = dict.fromkeys((candidate.hash for candidate in chosen), f"it was proposed in round {self.round}")
        self._seen = {**refused, **self._seen, **proposed}
        self._seen.pop("", None)
        self._pending = tuple(chosen)
        if not chosen:
            self._end_round()
            self.stop(f"{self._proposer.name} has nothing new to propose")

    def _admitted(self, proposal: Proposal, number: int, chosen: Sequence[Candidate] = ()) -> Candidate | None:
        """The proposal as a candidate worth scoring; else the reason goes to the log.

        A proposal that gives no valid program has the current program and an empty hash in its outcome.
        """
        try:
            candidate = Candidate.of(edited(self._current.program, proposal.edits), proposal)
        except IdxoptError as error:
            nothing = Candidate(self._current.program, proposal, "")
            self._log.append(Outcome(nothing, number, "invalid", refused=str(error)[:LONGEST_REASON]))
            return None
        reason = self._seen.get(candidate.hash)
        if reason is None and any(candidate.hash == other.hash for other in chosen):
            reason = "it is proposed twice in this round"
        views, most = len(candidate.program.views), self._settings.max_views
        if reason is None and most is not None and views > most:
            reason = f"{views} views, and at most {most} are allowed"
        if reason is None:
            return candidate
        self._log.append(Outcome(candidate, number, "refused", refused=reason))
        return None

    def _state(self, chosen: Sequence[Candidate], mark: int) -> SearchState:
        if self._diagnosis is None or self._diagnosis[0] != self._current.hash:
            self._diagnosis = (self._current.hash, self._diagnose(self._current.program))
        dropped = (outcome.candidate.hash for outcome in self._log[mark:])
        hashes = (*self._seen, *(candidate.hash for candidate in chosen), *dropped)
        return SearchState(
            round=self.round + 1,
            baseline=self._baseline.program,
            current=self._current.program,
            diagnosis=self._diagnosis[1],
            outcomes=self.outcomes,
            seen=frozenset(hashes) - {""},
        )

    def _judged(self, candidate: Candidate, result: Scores | IdxoptError) -> Judgement | None:
        """None where scoring failed."""
        if isinstance(result, IdxoptError):
            return None
        judgement = judge(result, self._scores, self._baseline_scores, self._bar)
        reason = self._veto(candidate, result) if self._veto and judgement.passed else None
        return judgement if reason is None else replace(judgement, passed=False, refused=reason)

    def _passing(
        self,
        candidates: Sequence[Candidate],
        judgements: Mapping[str, Judgement | None],
        results: Mapping[str, Scores | IdxoptError],
    ) -> list[Candidate]:
        """What passes, the best first; equal ones: fewer rows, fewer bytes, then the one proposed first."""
        ranked = []
        for candidate in candidates:
            judgement, scores = judgements[candidate.hash], results[candidate.hash]
            if judgement is not None and judgement.passed and isinstance(scores, Scores):
                ranked.append(((rank(judgement), -scores.size.rows, -scores.size.bytes), candidate))
        return [candidate for _, candidate in sorted(ranked, key=lambda pair: pair[0], reverse=True)]

    def _outcome(
        self, candidate: Candidate, result: Scores | IdxoptError, judgement: Judgement | None, best: Candidate | None
    ) -> Outcome:
        if judgement is None:
            return Outcome(candidate, self.round, "failed", refused=str(result)[:LONGEST_REASON])
        if candidate is best:
            return Outcome(candidate, self.round, "kept", judgement.gain, judgement.confidence, metric=judgement.metric)
        reason = judgement.refused or "it passes, but another of its round is better"
        return Outcome(candidate, self.round, "refused", judgement.gain, judgement.confidence, reason, judgement.metric)

    def _keep(
        self, candidate: Candidate, scores: Scores | IdxoptError, judgement: Judgement | None, *, merged: bool
    ) -> PathStep:
        assert isinstance(scores, Scores)
        assert judgement is not None
        assert candidate.proposal is not None
        step = PathStep(
            candidate=candidate,
            proposal=candidate.proposal,
            round=self.round,
            metric=judgement.metric,
            gain=gain_interval(scores, self._scores, judgement.metric, self._places),
            confidence=judgement.confidence,
            gains=judgement.gains,
            before=self._scores.size,
            after=scores.size,
            scores=scores,
            merged=merged,
            warnings=judgement.warnings,
        )
        self.path.append(step)
        self._kept_edits.append(candidate.proposal.edits)
        self._current, self._scores = candidate, scores
        self._round_kept = True
        return step

    def _continue(self) -> None:
        """The next merge of the round, or its end."""
        self._merging = False
        while self._to_merge and self._settings.merge and self._left() != 0 and self._ended is None:
            candidate = self._merged(self._to_merge.pop(0))
            if candidate is not None:
                self._seen[candidate.hash] = f"it was a merge of round {self.round}"
                self._merging, self._pending = True, (candidate,)
                return
        self._to_merge = []
        self._end_round()

    def _merged(self, proposal: Proposal) -> Candidate | None:
        """A proposal to the program at the round's start, on top of what the round kept; else the reason goes to the
        log.
        """
        moved = moved_over(self._start.program, self._kept_edits, proposal.edits)
        if moved is not None:
            return self._admitted(replace(proposal, edits=moved), self.round)
        nothing = Candidate(self._current.program, proposal, "")
        reason = "a change that its round kept took away what it edits"
        self._log.append(Outcome(nothing, self.round, "invalid", refused=reason))
        return None

    def _end_round(self) -> None:
        self._without_gain = 0 if self._round_kept else self._without_gain + 1
        self._round_kept = False
        self._start, self._kept_edits = self._current, []
        told, self._told = tuple(self._log[self._told :]), len(self._log)
        self._proposer.tell(told)

    def _left(self) -> int | None:
        """Evaluations that the budget has left; None: no limit."""
        most = self._settings.evaluations
        return None if most is None else max(0, most - self.evaluations)


def _beside(passing: Sequence[Candidate]) -> list[Proposal]:
    """What may be wanted beside the best of a round: no other way to do what it does."""
    proposals = [each.proposal for each in passing if each.proposal is not None]
    return [each for each in proposals[1:] if not each.is_alternative_to(proposals[0])]
