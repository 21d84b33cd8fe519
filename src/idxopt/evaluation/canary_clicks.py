"""What clicks say of the two arms of a canary. Pure.

A unit is what the split was made by: a session, or a query. Its arm follows from its hash, as it did in the searcher,
so clicks need no record of it. The value of a unit is the mean over its searches, and units count alike:

    clicks@1   share of searches whose first result was clicked
    CTR        share of searches with a click
    click MRR  mean of 1 / position of the first click, 0 without one

Where a row counts showings of nobody in particular, searches are the showings of the position shown most often, and
clicks beyond one a search are cut off. Sessions with more than 100 clicks are taken for robots.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from idxopt.builds.canary import Arm, Canary
from idxopt.errors import EvaluationError
from idxopt.evaluation.bootstrap import LARGE, Interval, mean_interval, unpaired_interval
from idxopt.evaluation.canary import LEAST
from idxopt.evaluation.synthetic.clicks import ClickModel, Shown
from idxopt.search.runlog import key_hash
from idxopt.search.split import arm_of_key, split_key

By = Literal["session", "query"]
METRICS = ("clicks@1", "CTR", "click MRR")


@dataclass(frozen=True, slots=True)
class ClickMetric:
    """One metric: both means, candidate - incumbent (unpaired), and the smallest difference that so many units would
    show with probability .8.
    """

    metric: str
    incumbent: Interval | None
    candidate: Interval | None
    difference: Interval | None
    detectable: float | None
    enough: bool

    @property
    def finding(self) -> str:
        """The candidate against the incumbent."""
        if not self.enough or self.difference is None:
            return "too few to tell"
        low, high = self.difference.low, self.difference.high
        if low is not None and low > 0:
            return "better"
        return "worse" if high is not None and high < 0 else "no clear difference"


@dataclass(frozen=True, slots=True)
class ClickFigures:
    """`units`, `searches` by arm."""

    by: By
    units: dict[Arm, int]
    searches: dict[Arm, int]
    robots: int
    metrics: tuple[ClickMetric, ...]

    @property
    def small(self) -> list[str]:
        """Which arms have too few units."""
        noun = "sessions" if self.by == "session" else "queries"
        return [
            f"{arm}: {count} {noun}, {LEAST} are the least that anything is concluded from"
            for arm, count in self.units.items()
            if count < LEAST
        ]


@dataclass
class _Search:
    shown: Counter[int] = field(default_factory=Counter)
    clicks: Counter[int] = field(default_factory=Counter)


def split_by(rows: Collection[Shown], logged: Collection[str]) -> By:
    """What the searcher hashed, as far as its run log tells (`logged`: its keys); else sessions where there are any."""
    sessions = {split_key(row.query, row.session) for row in rows if row.session}
    if logged:
        by_session = sum(key_hash(key) in logged for key in sessions)
        by_query = sum(key_hash(key) in logged for key in {split_key(row.query, None) for row in rows})
        if by_session or by_query:
            return "session" if by_session > by_query else "query"
    return "session" if sessions else "query"


def click_figures(rows: Iterable[Shown], canary: Canary, by: By) -> ClickFigures:
    """Compares the arms. Raises EvaluationError where nothing was shown."""
    kept, robots = _people(list(rows))
    if not kept:
        raise EvaluationError("the clicks hold no showing", remedy="give the log of the time in which the canary runs")
    first = min(row.position for row in kept)
    shift = 1 if first == 0 else 0
    found: dict[str, dict[tuple[str | None, str], _Search]] = defaultdict(lambda: defaultdict(_Search))
    for row in kept:
        unit = split_key(row.query, row.session if by == "session" else None)
        search = found[unit][row.session, split_key(row.query, None)]
        search.shown[row.position + shift] += row.shown
        search.clicks[row.position + shift] += row.clicks
    values: dict[Arm, list[tuple[float, ...]]] = {"incumbent": [], "candidate": []}
    searches: dict[Arm, int] = {"incumbent": 0, "candidate": 0}
    for unit, made in sorted(found.items()):
        arm = arm_of_key(unit, canary)
        counted = [(_values(search, session), _number(search, session)) for (session, _), search in made.items()]
        total = sum(number for _, number in counted)
        if total:
            searches[arm] += total
            values[arm].append(tuple(sum(one[m] * n for one, n in counted) / total for m in range(len(METRICS))))
    columns = {arm: [[one[m] for one in rows] for m in range(len(METRICS))] for arm, rows in values.items()}
    return ClickFigures(
        by=by,
        units={arm: len(rows) for arm, rows in values.items()},
        searches=searches,
        robots=robots,
        metrics=tuple(
            _compared(metric, columns["incumbent"][m], columns["candidate"][m]) for m, metric in enumerate(METRICS)
        ),
    )


def _people(rows: Sequence[Shown]) -> tuple[list[Shown], int]:
    clicks = Counter(row.session for row in rows if row.session is not None and row.clicks)
    robots = {session for session, count in clicks.items() if count > ClickModel().most_clicks}
    return [row for row in rows if row.session not in robots], len(robots)


def _number(search: _Search, session: str | None) -> int:
    return 1 if session is not None else max(search.shown.values(), default=0)


def _values(search: _Search, session: str | None) -> tuple[float, float, float]:
    clicked = {position: count for position, count in search.clicks.items() if count}
    if session is not None:
        return (float(1 in clicked), float(bool(clicked)), 1 / min(clicked) if clicked else 0.0)
    n = max(1, _number(search, None))
    reciprocal = sum(count / position for position, count in clicked.items())
    return (
        min(1.0, clicked.get(1, 0) / n),
        min(1.0, sum(clicked.values()) / n),
        min(1.0, reciprocal / n),
    )


def _compared(metric: str, a: Sequence[float], b: Sequence[float]) -> ClickMetric:
    return ClickMetric(
        metric=metric,
        incumbent=_mean(a),
        candidate=_mean(b),
        difference=unpaired_interval(a, b) if a and b else None,
        detectable=_detectable(a, b),
        enough=min(len(a), len(b)) >= LEAST,
    )


def _mean(values: Sequence[float]) -> Interval | None:
    if len(values) <= LARGE:
        return mean_interval(values) if values else None
    centre, half = math.fsum(values) / len(values), 1.96 * float(np.std(values, ddof=1)) / math.sqrt(len(values))
    return Interval(centre, centre - half, centre + half, len(values), 0.95, "normal")


def _detectable(a: Sequence[float], b: Sequence[float]) -> float | None:
    """Two-sided at .05 with power .8, by the normal approximation."""
    if min(len(a), len(b)) < 2:
        return None
    from scipy.stats import norm

    deviation = math.sqrt(float(np.var(a, ddof=1)) / len(a) + float(np.var(b, ddof=1)) / len(b))
    return (float(norm.ppf(0.975)) + float(norm.ppf(0.8))) * deviation or None
