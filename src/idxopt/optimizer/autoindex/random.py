"""The control: changes drawn at random from the space in which the other proposers move."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from idxopt.errors import IdxoptError
from idxopt.hashing import digest
from idxopt.optimizer.autoindex.space import Space, Table
from idxopt.optimizer.edits import edited
from idxopt.optimizer.ports import Outcome, Proposal, SearchState
from idxopt.program.canonical import program_hash

TRIES = 100
"""Draws for each proposal that is asked for; draws that are no valid, new program are thrown away."""


class RandomProposer:
    """Valid changes of the current program, uniformly over kinds, then over parameters. Looks at no outcome.

    Deterministic by seed, round and the programs seen. `tables`: term tables by scheme (`abbreviations`, `terms`), as
    `optimizer.mining` makes them; without one, the forms that want it are left out.
    """

    name = "random"

    def __init__(self, seed: int, tables: Mapping[str, Table] | None = None) -> None:
        self._seed = seed
        self._tables = dict(tables or {})

    def ask(self, state: SearchState, n: int) -> Sequence[Proposal]:
        """See `Proposer.ask`."""
        start = digest([self._seed, state.round, program_hash(state.current), sorted(state.seen)])
        space = Space(state.current, random.Random(start), self._tables)
        seen = {*state.seen, program_hash(state.current)}
        found: list[Proposal] = []
        for _ in range(TRIES * n):
            if len(found) == n:
                break
            drawn = space.draw()
            if drawn is None:
                continue
            kind, edits = drawn
            try:
                made = program_hash(edited(state.current, edits))
            except IdxoptError:
                continue
            if made not in seen:
                seen.add(made)
                found.append(Proposal(tuple(edits), kind, "drawn at random", self.name))
        return found

    def tell(self, outcomes: Sequence[Outcome]) -> None:
        """Nothing is learnt: this is the control."""
