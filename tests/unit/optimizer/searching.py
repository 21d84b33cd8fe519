"""Searches over scripted scores: what a field is worth is said here, the state machine is the real one."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from idxopt.optimizer.autoindex.search import Search
from idxopt.optimizer.autoindex.settings import Found, RoundRecord, SearchSettings
from idxopt.optimizer.edits import SearchField
from idxopt.optimizer.ports import JUDGED, NDCG, RECALL, Candidate, Outcome, Proposal, Scores, SearchState, Size
from idxopt.optimizer.splits import HeldOut, PlacedQueries
from idxopt.program.schema import Program
from tests.unit.optimizer.proposing import baseline, diagnosis, searched

N, DEV = 100, 80
EFFECTS = {"title": (0.10, 30), "body": (0.05, 40), "lead": (0.0, 0), "noise": (-0.2, 30), "small": (0.02, 60)}
"""Field -> (what it adds to nDCG@10, to how many queries from the first)."""


def placed(places=range(DEV), name="dev") -> PlacedQueries:
    found = np.array(list(places), dtype=np.int64)
    return PlacedQueries(name, tuple(f"q{place}" for place in found), found)


def held_out(places=range(DEV, N)) -> HeldOut:
    return HeldOut((placed(places, "dev"),))


def search_field(field: str, weight: float = 1.0, proposer="listed") -> Proposal:
    return Proposal(
        (SearchField(edit="search_field", view="content", field=field, weight=weight),), field, "", proposer
    )


def wide_baseline() -> Program:
    """Searches the joined field; the source has a field for each of EFFECTS."""
    return baseline(source={"fields": {name: name for name in EFFECTS}, "markup": "markdown"})


def scored(program: Program, effects=EFFECTS) -> Scores:
    ndcg = np.full(N, 0.4)
    fields = searched(program)
    for field in fields:
        by, count = effects.get(field, (0.0, 0))
        ndcg[:count] += by
    values = {NDCG: ndcg, RECALL: np.full(N, 0.99), JUDGED: np.full(N, 0.5)}
    return Scores(values, Size(100 * len(program.views), 1_000 * len(fields), len(program.views)))


class Listed:
    """Proposes lists of its own, one an ask, and nothing after."""

    name = "listed"

    def __init__(self, *rounds: Sequence[Proposal]) -> None:
        self._rounds = list(rounds)
        self.states: list[SearchState] = []
        self.told: list[tuple[Outcome, ...]] = []

    def ask(self, state: SearchState, n: int) -> Sequence[Proposal]:
        self.states.append(state)
        return self._rounds.pop(0) if self._rounds else ()

    def tell(self, outcomes: Sequence[Outcome]) -> None:
        self.told.append(tuple(outcomes))


class Endless:
    """Proposes new weights of one field for ever."""

    name = "endless"

    def __init__(self, field: str = "lead") -> None:
        self._field = field

    def ask(self, state: SearchState, n: int) -> Sequence[Proposal]:
        return [search_field(self._field, 0.001 * (len(state.seen) + place)) for place in range(n)]

    def tell(self, outcomes: Sequence[Outcome]) -> None:
        pass


def started(proposer, score: Callable[[Program], Scores] = scored, **more) -> Search:
    given = {key: more.pop(key) for key in list(more) if key in SearchSettings.__dataclass_fields__}
    start = wide_baseline()
    more = {"documents": 30, "diagnose": lambda _: diagnosis(), **more}
    return Search(SearchSettings(**given), start, score(start), (placed(),), proposer, **more)


def driven(search: Search, score=scored) -> list[RoundRecord]:
    records = []
    while pending := search.pending():
        records.append(search.report({each.hash: score(each.program) for each in pending}))
    return records


def kind_of(candidate: Candidate) -> str:
    """The kind of the proposal that made it."""
    assert candidate.proposal is not None
    return candidate.proposal.kind


def fields_of(found: Found) -> set[str]:
    return set(searched(found.program.program))
