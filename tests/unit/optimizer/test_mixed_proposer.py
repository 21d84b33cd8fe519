"""Several proposers as one: shares, order, doubles, and parts with nothing to say."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from idxopt.errors import UsageError
from idxopt.optimizer.autoindex.heuristic import HeuristicProposer
from idxopt.optimizer.autoindex.mixed import MixedProposer
from idxopt.optimizer.autoindex.random import RandomProposer
from idxopt.optimizer.edits import EDITS
from idxopt.optimizer.ports import Outcome, Proposal, SearchState
from tests.unit.optimizer.proposing import state


class Fixed:
    """Proposes weights of the title, in turn."""

    def __init__(self, name: str, weights: Sequence[float]) -> None:
        self.name = name
        self._weights = weights
        self.told: list[Outcome] = []

    def ask(self, _: SearchState, n: int) -> Sequence[Proposal]:
        edits = [{"edit": "search_field", "view": "content", "field": "title"}]
        return [
            Proposal(tuple(EDITS.validate_python([{**edits[0], "weight": weight}])), f"{weight}", "", self.name)
            for weight in self._weights[:n]
        ]

    def tell(self, outcomes: Sequence[Outcome]) -> None:
        self.told += outcomes


def kinds(found: Sequence[Proposal]) -> list[str]:
    return [f"{one.proposer}{one.kind}" for one in found]


def test_parts_take_turns_by_their_shares():
    one, other = Fixed("a", [1.5, 2.5, 3.5, 4.5]), Fixed("b", [0.1, 0.2, 0.3, 0.4])
    mixed = MixedProposer([(one, 2), (other, 1)])
    assert kinds(mixed.ask(state(), 6)) == ["a1.5", "a2.5", "b0.1", "a3.5", "a4.5", "b0.2"]


def test_one_program_is_proposed_once_by_the_first():
    mixed = MixedProposer([(Fixed("a", [1.5, 2.5]), 1), (Fixed("b", [2.5, 1.5, 0.1]), 1)])
    assert kinds(mixed.ask(state(), 6)) == ["a1.5", "b2.5", "b0.1"]


def test_who_has_nothing_to_say_leaves_the_place():
    mixed = MixedProposer([(Fixed("a", []), 3), (Fixed("b", [0.1, 0.2, 0.3]), 1)])
    assert kinds(mixed.ask(state(), 3)) == ["b0.1", "b0.2", "b0.3"]
    assert MixedProposer([(Fixed("a", []), 1)]).ask(state(), 3) == []


def test_all_are_told():
    one, other = Fixed("a", []), Fixed("b", [])
    outcomes: list[Outcome] = []
    MixedProposer([(one, 1), (other, 1)]).tell(outcomes)
    assert one.told == other.told == outcomes


def test_it_works_without_a_language_model():
    mixed = MixedProposer([(HeuristicProposer(), 1), (RandomProposer(1), 1)])
    found = mixed.ask(state(), 4)
    assert len(found) == 4
    assert found[0].proposer == "heuristic"
    assert "random" in {one.proposer for one in found}
    assert mixed.ask(state(), 4) == found


@pytest.mark.parametrize("parts", [[], [(Fixed("a", []), 0)]])
def test_a_mix_of_nothing_is_refused(parts: list[tuple[Fixed, int]]):
    with pytest.raises(UsageError, match="at least one proposer"):
        MixedProposer(parts)
