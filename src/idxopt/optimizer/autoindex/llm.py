"""Proposals of a language model. What it says is data: read with bounds, validated, repaired once, or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from idxopt.errors import ModelError, UsageError
from idxopt.models.ports import Generator
from idxopt.optimizer.autoindex.changes import Change, read_changes
from idxopt.optimizer.autoindex.prompt import CHARACTERS, proposal_prompt
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import Outcome, Proposal, SearchState
from idxopt.program.canonical import program_hash

MOST_SAMPLES = 9
MOST_KEPT = 1_000
"""Refusals that are kept in memory."""
_SPARE = 2
"""How many more changes are asked for than wanted: some are refused."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something that a model answered and nobody will evaluate. `sample` counts from 0."""

    round: int
    sample: int
    reason: str


class LlmProposer:
    """Asks `generator` once a round, or `samples` times for a consensus: changes are ranked by how many samples have
    them (by program), then by their order.

    A generator that records its answers makes a resumed study hear the same. Each answer without any usable change is
    asked for once more, with the reasons. `note` hears every refusal as it happens. A model that fails (ModelError)
    proposes nothing in that round; BudgetReached is let through.
    """

    name = "llm"

    def __init__(
        self,
        generator: Generator,
        corpus: Corpus,
        *,
        samples: int = 1,
        characters: int = CHARACTERS,
        note: Callable[[Refusal], None] | None = None,
    ) -> None:
        if not 1 <= samples <= MOST_SAMPLES:
            raise UsageError(f"{samples} samples are out of range", remedy=f"use 1 to {MOST_SAMPLES}")
        self._generator = generator
        self._corpus = corpus
        self._samples = samples
        self._characters = characters
        self._note = note
        self._asked: tuple[int, str] | None = None
        self._proposals: dict[str, Proposal] = {}
        self.refusals: list[Refusal] = []
        self.requests = 0

    def ask(self, state: SearchState, n: int) -> Sequence[Proposal]:
        """See `Proposer.ask`. The model is asked once for a round and program; later calls hear what is left."""
        current = (state.round, program_hash(state.current))
        if self._asked != current:
            self._proposals = self._consensus(state, n)
            self._asked = current
        return [proposal for key, proposal in self._proposals.items() if key not in state.seen][:n]

    def tell(self, outcomes: Sequence[Outcome]) -> None:
        """Nothing to keep: outcomes stand in the next state."""

    def _consensus(self, state: SearchState, n: int) -> dict[str, Proposal]:
        votes: dict[str, list[Change]] = {}
        for sample in range(self._samples):
            for change in self._sample(state, n, sample):
                votes.setdefault(change.hash, []).append(change)
        ranked = sorted(votes.items(), key=lambda item: -len(item[1]))  # stable: the order of the answers decides ties
        return {key: self._proposal(changes) for key, changes in ranked}

    def _proposal(self, changes: Sequence[Change]) -> Proposal:
        first = changes[0]
        agreed = f" ({len(changes)} of {self._samples} samples)" if self._samples > 1 else ""
        return Proposal(first.edits, first.kind, first.why + agreed, self.name)

    def _sample(self, state: SearchState, n: int, sample: int) -> list[Change]:
        """The usable, new changes of one sample, each program once; asked a second time where there are none."""
        problem = ""
        for _ in range(2):
            prompt = proposal_prompt(
                state, self._corpus, n + _SPARE, sample=sample, characters=self._characters, problem=problem
            )
            self.requests += 1
            try:
                answer = self._generator.generate(prompt)
            except ModelError as error:
                self._refuse(state.round, sample, str(error))
                return []
            reading = read_changes(answer.text, state.current)
            reasons = list(reading.refused)
            usable: dict[str, Change] = {}
            for change in reading.changes:
                if change.hash in state.seen or change.hash in usable:
                    reasons.append(f"{change.kind}: this program was there already")
                else:
                    usable[change.hash] = change
            for reason in reasons:
                self._refuse(state.round, sample, reason)
            if usable:
                return list(usable.values())
            problem = "; ".join(reasons)[:600]
        return []

    def _refuse(self, number: int, sample: int, reason: str) -> None:
        refusal = Refusal(number, sample, " ".join(reason.split()))
        if len(self.refusals) < MOST_KEPT:
            self.refusals.append(refusal)
        if self._note is not None:
            self._note(refusal)
