"""Several proposers as one: each has a share, and who has nothing to say leaves its place to the others."""

from __future__ import annotations

from collections.abc import Sequence

from idxopt.errors import IdxoptError, UsageError
from idxopt.optimizer.edits import edited
from idxopt.optimizer.ports import Outcome, Proposal, Proposer, SearchState
from idxopt.program.canonical import program_hash


class MixedProposer:
    """Round-robin over `parts` in their order (usually heuristic, llm, random), `share` proposals of each at a turn.

    Programs that two of them propose count once. Raises UsageError where there is no part, or a share below 1.
    """

    name = "mixed"

    def __init__(self, parts: Sequence[tuple[Proposer, int]]) -> None:
        if not parts or any(share < 1 for _, share in parts):
            raise UsageError("a mix needs at least one proposer, each with a share of 1 or more")
        self._parts = tuple(parts)

    @property
    def parts(self) -> Sequence[Proposer]:
        return tuple(proposer for proposer, _ in self._parts)

    def ask(self, state: SearchState, n: int) -> Sequence[Proposal]:
        """See `Proposer.ask`. All parts are asked for `n`, as equal states must give equal proposals."""
        waiting = [(list(proposer.ask(state, n)), share) for proposer, share in self._parts]
        chosen: list[Proposal] = []
        hashes = set(state.seen)
        while len(chosen) < n and any(proposals for proposals, _ in waiting):
            for proposals, share in waiting:
                left = share
                while proposals and left and len(chosen) < n:
                    proposal = proposals.pop(0)
                    made = _hash(state, proposal)
                    if made is None or made not in hashes:
                        left -= 1
                        chosen.append(proposal)
                    if made is not None:
                        hashes.add(made)
        return chosen

    def tell(self, outcomes: Sequence[Outcome]) -> None:
        """All hear all outcomes."""
        for proposer, _ in self._parts:
            proposer.tell(outcomes)


def _hash(state: SearchState, proposal: Proposal) -> str | None:
    """None for a proposal that gives no valid program: the search refuses it with the reason."""
    try:
        return program_hash(edited(state.current, proposal.edits))
    except IdxoptError:
        return None
