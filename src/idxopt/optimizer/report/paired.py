"""Values of two columns of a record side by side: what views and derived tables are made of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from idxopt.evaluation.bootstrap import Interval, mean_interval
from idxopt.evaluation.comparison import TIE
from idxopt.optimizer.record import BASELINE, WINNER, QueryValues, Role, StudyRecord

ROLES: dict[Role, str] = {"dev": "dev", "held_out": "held-out", "test": "test"}


@dataclass(frozen=True, slots=True)
class Pair:
    """One query under the baseline and under the winner."""

    query: QueryValues
    before: float
    after: float

    @property
    def difference(self) -> float:
        return self.after - self.before


@dataclass(frozen=True, slots=True)
class Tally:
    """Queries that gained, that stayed, that lost."""

    wins: int
    ties: int
    losses: int

    def __str__(self) -> str:
        return f"{self.wins} / {self.ties} / {self.losses}"


def column(record: StudyRecord, label: str) -> int | None:
    """The place of a column's values; None where the record has no such column."""
    return next((place for place, one in enumerate(record.columns) if one.label == label), None)


def value(query: QueryValues, metric: str, place: int | None) -> float | None:
    """The value of one query in one column, where it is known."""
    found = query.values.get(metric, ())
    return found[place] if place is not None and place < len(found) else None


def pairs(record: StudyRecord, metric: str, queries: Iterable[QueryValues] | None = None) -> list[Pair]:
    """The queries whose value is known under both the baseline and the winner."""
    first, last = column(record, BASELINE), column(record, WINNER)
    found = []
    for query in record.queries if queries is None else queries:
        before, after = value(query, metric, first), value(query, metric, last)
        if before is not None and after is not None:
            found.append(Pair(query, before, after))
    return found


def tally(found: Sequence[Pair]) -> Tally:
    """Wins, ties and losses; differences of rounding are ties."""
    wins = sum(one.difference > TIE for one in found)
    losses = sum(one.difference < -TIE for one in found)
    return Tally(wins, len(found) - wins - losses, losses)


def three_intervals(found: Sequence[Pair]) -> tuple[Interval, Interval, Interval]:
    """Baseline, winner, and the paired difference. At least one pair is needed."""
    return (
        mean_interval([one.before for one in found]),
        mean_interval([one.after for one in found]),
        mean_interval([one.difference for one in found]),
    )


def set_name(name: str, role: Role) -> str:
    """`cranfield (held-out)`."""
    return f"{name} ({ROLES[role]})"
