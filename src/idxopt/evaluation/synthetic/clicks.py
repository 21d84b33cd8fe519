"""Grades from clicks: clicks over expected clicks (COEC), which takes out that the first result is clicked most.

For a query q and a document d that was shown n(q, d, p) times at position p and clicked c(q, d) times:

    rate(p)        = all clicks at p / all showings at p, over the whole log
    expected(q, d) = sum over p of n(q, d, p) * rate(p)
    COEC(q, d)     = (c(q, d) + s) / (expected(q, d) + s)

`s` (pseudo clicks) draws pairs that were rarely shown towards 1. Grades: 0 without a click or below .5; 1 below 1;
2 below 2; 3 from 2 on. A pair shown fewer times than `least_shown` is not judged.

Chapelle and Zhang, "A dynamic Bayesian network click model for web search ranking" (2009), compares COEC with others;
it was proposed for sponsored search by Zhang and Jones (2007).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace

from idxopt.evaluation.synthetic.wording import is_personal
from idxopt.text.identifiers import lowercase

GRADES = (0.5, 1.0, 2.0)
"""Bounds of grades 1, 2 and 3 for a pair that was clicked: COEC from there on."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A document among the results of a query. `session` None: counts of nobody in particular, taken as they are."""

    query: str
    document: str
    position: int
    shown: int = 1
    clicks: int = 0
    session: str | None = None


@dataclass(frozen=True, slots=True)
class ClickModel:
    """`least_shown`: showings that a pair needs; `smoothing`: pseudo clicks; `most_clicks`: a session with more clicks
    is taken for a robot and left out.
    """

    least_shown: int = 10
    smoothing: float = 1.0
    most_clicks: int = 100


@dataclass(frozen=True, slots=True)
class Pair:
    """What is known of one query and document."""

    shown: int
    clicks: int
    expected: float

    def coec(self, smoothing: float) -> float:
        return (self.clicks + smoothing) / (self.expected + smoothing)

    def grade(self, smoothing: float) -> int:
        """0 to 3."""
        return sum(self.coec(smoothing) >= bound for bound in GRADES) if self.clicks else 0


@dataclass
class ClickJudgments:
    """`qrels` by the query's text. `dropped` by reason, in queries (personal, nothing_relevant), pairs (rarely_shown,
    unknown_document), sessions (robots) and repeats (clicks of a session on what it had clicked for the same query).
    """

    qrels: dict[str, dict[str, int]] = field(default_factory=dict)
    rates: Mapping[int, float] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)


def judge(log: Iterable[Shown], model: ClickModel, known: Set[str] | None = None) -> ClickJudgments:
    """Judgments from a log. `known`: ids of the documents that exist; others are left out and counted.

    Queries that differ in case and white space are one. A query without a document of grade 1 or more cannot score and
    is left out.
    """
    found = ClickJudgments()
    rows = list(_people(_once_a_session(map(_normalised, log), found.dropped), model, found.dropped))
    found.rates = rates(rows)
    by_query: dict[str, dict[str, Pair]] = defaultdict(dict)
    for (query, document), pair in sorted(_pairs(rows, found.rates).items()):
        by_query[query][document] = pair
    for query, pairs in by_query.items():
        if is_personal(query):
            found.dropped["personal"] += 1
            continue
        graded: dict[str, int] = {}
        for document, pair in pairs.items():
            if known is not None and document not in known:
                found.dropped["unknown_document"] += 1
            elif pair.shown < model.least_shown:
                found.dropped["rarely_shown"] += 1
            else:
                graded[document] = pair.grade(model.smoothing)
        if max(graded.values(), default=0) > 0:
            found.qrels[query] = graded
        else:
            found.dropped["nothing_relevant"] += 1
    return found


def rates(rows: Iterable[Shown]) -> dict[int, float]:
    """Click-through rate by position."""
    shown: Counter[int] = Counter()
    clicks: Counter[int] = Counter()
    for row in rows:
        shown[row.position] += row.shown
        clicks[row.position] += row.clicks
    return {position: clicks[position] / count for position, count in sorted(shown.items()) if count}


def _pairs(rows: Iterable[Shown], by_position: Mapping[int, float]) -> dict[tuple[str, str], Pair]:
    shown: Counter[tuple[str, str]] = Counter()
    clicks: Counter[tuple[str, str]] = Counter()
    expected: dict[tuple[str, str], float] = defaultdict(float)
    for row in rows:
        key = (row.query, row.document)
        shown[key] += row.shown
        clicks[key] += row.clicks
        expected[key] += row.shown * by_position.get(row.position, 0.0)
    return {key: Pair(count, clicks[key], expected[key]) for key, count in shown.items()}


def _normalised(row: Shown) -> Shown:
    return replace(row, query=lowercase(" ".join(row.query.split())))


def _once_a_session(rows: Iterable[Shown], dropped: Counter[str]) -> Iterator[Shown]:
    """One showing and at most one click for each query and document of a session, at the position it was clicked at,
    else the first it was shown at. Rows without a session pass as they are.
    """
    held: dict[tuple[str, str, str], Shown] = {}
    for row in rows:
        if row.session is None:
            yield row
            continue
        key = (row.session, row.query, row.document)
        before = held.get(key)
        dropped["repeated_clicks"] += max(0, row.clicks + (before.clicks if before else 0) - 1) if row.clicks else 0
        if before is None or (row.clicks and not before.clicks):
            held[key] = replace(row, shown=1, clicks=min(1, row.clicks))
    yield from held.values()


def _people(rows: Iterable[Shown], model: ClickModel, dropped: Counter[str]) -> Iterator[Shown]:
    every = list(rows)
    clicks = Counter(row.session for row in every if row.session is not None and row.clicks)
    robots = {session for session, count in clicks.items() if count > model.most_clicks}
    if robots:
        dropped["robots"] += len(robots)
    return (row for row in every if row.session not in robots)
