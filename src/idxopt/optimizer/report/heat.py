"""View 4: configurations against kinds of query, and, opened, against single queries."""

from __future__ import annotations

import math
from collections.abc import Sequence

from idxopt.evaluation.bootstrap import Interval, mean_interval
from idxopt.evaluation.pages.elements import Child, Html, el, foreign, table
from idxopt.evaluation.pages.figures import figure, number
from idxopt.optimizer.record import BASELINE, QueryValues, StudyRecord
from idxopt.optimizer.report.paired import column, value
from idxopt.optimizer.report.sections import how_many, nothing, opened, section

_RESAMPLES = 2_000
_MOST = 120
"""Queries that an opened kind shows: those where the configurations differ most."""
_STEPS = (0.02, 0.08, 0.2)
"""Differences from which a cell gets the next stronger colour."""


def heat(record: StudyRecord) -> Html:
    """Means of differences to the baseline by kind; colours run from orange (loss) over grey to blue (gain)."""
    title = "4. Configurations by kind of query"
    metric, first = record.objective.metric, column(record, BASELINE)
    known = [query for query in record.queries if value(query, metric, first) is not None]
    if len(record.columns) < 2 or not known:
        return section("heat", title, "Who gains.", nothing("There are no values of two programs to compare."))
    kinds: dict[str, list[QueryValues]] = {}
    for query in known:
        kinds.setdefault(query.kind, []).append(query)
    names = sorted(kinds)
    order = _by_mean(record, metric, known)
    header: list[Child] = ["program", *(f"{name} (n={len(kinds[name])})" for name in names), f"all (n={len(known)})"]
    rows = []
    for place in order:
        cells: list[Child] = [record.columns[place].label]
        groups = (*(kinds[name] for name in names), known)
        cells += [_mean_cell(_differences(queries, metric, place, first)) for queries in groups]
        rows.append(cells)
    return section(
        "heat",
        title,
        f"Mean difference of {metric} to the baseline, all sets together, rows ordered by mean. Blue: gain, orange: "
        f"loss; stronger from {', '.join(map(str, _STEPS))}.",
        table(
            f"{metric} - baseline, by kind of query",
            header,
            rows,
            note=f"95% BCa intervals, {_RESAMPLES:,} resamples; a program's n is smaller where only some queries were "
            "scored under it",
            class_="heat",
        ),
        *(_opened(record, f"heat-{place}", name, kinds[name], order) for place, name in enumerate(names)),
    )


def _by_mean(record: StudyRecord, metric: str, queries: Sequence[QueryValues]) -> list[int]:
    first = column(record, BASELINE)

    def mean(place: int) -> float:
        found = _differences(queries, metric, place, first)
        return sum(found) / len(found) if found else -math.inf

    return sorted(range(len(record.columns)), key=lambda place: (-mean(place), place))


def _differences(queries: Sequence[QueryValues], metric: str, place: int, first: int | None) -> list[float]:
    return [
        here - start
        for query in queries
        if (here := value(query, metric, place)) is not None and (start := value(query, metric, first)) is not None
    ]


def level(difference: float) -> str:
    """The class of a cell: `l3` (strong loss) ... `h0` ... `g3` (strong gain)."""
    strength = sum(abs(difference) >= step for step in _STEPS)
    return "h0" if not strength else f"{'g' if difference > 0 else 'l'}{strength}"


def _mean_cell(found: list[float]) -> Html:
    if not found:
        return el("span", "-", class_="cell")
    interval: Interval = mean_interval(found, resamples=_RESAMPLES)
    return el(
        "span",
        figure(interval, signed=True),
        el("small", f" n={interval.n}", class_="n"),
        class_=f"cell {level(interval.mean)}",
    )


def _opened(record: StudyRecord, anchor: str, name: str, queries: Sequence[QueryValues], order: Sequence[int]) -> Html:
    """One kind query by query: hardest first (lowest mean over the programs)."""
    metric, first = record.objective.metric, column(record, BASELINE)
    shown = sorted(queries, key=lambda query: -_spread(query, metric))[:_MOST]
    shown.sort(key=lambda query: (_mean(query, metric), query.id))
    header: list[Child] = [
        "program",
        *(el("a", str(n), href=f"#{anchor}-{n}", title=query.text) for n, query in enumerate(shown, 1)),
    ]
    rows = []
    for place in order:
        cells: list[Child] = [record.columns[place].label]
        for query in shown:
            here, start = value(query, metric, place), value(query, metric, first)
            cells.append(_query_cell(query, here, start))
        rows.append(cells)
    listed = [
        (el("span", str(n), id=f"{anchor}-{n}"), foreign(query.text), _values(query, metric, record))
        for n, query in enumerate(shown, 1)
    ]
    left = f"; {len(queries) - len(shown)} that differ less are left out here" if len(queries) > len(shown) else ""
    return opened(
        f"{name}: {how_many(len(queries), 'query', 'queries')}",
        table(f"{name}, query by query, hardest first{left}", header, rows, class_="heat fine"),
        table(
            f"The queries of kind {name}",
            ("no.", "query", f"{metric}: baseline, then the others"),
            listed,
            texts=(1, 2),
        ),
    )


def _spread(query: QueryValues, metric: str) -> float:
    known = [one for one in query.values[metric] if one is not None]
    return max(known) - min(known)


def _mean(query: QueryValues, metric: str) -> float:
    known = [one for one in query.values[metric] if one is not None]
    return sum(known) / len(known)


def _query_cell(query: QueryValues, here: float | None, start: float | None) -> Html:
    if here is None or start is None:
        return el("span", "·", class_="cell")
    said = f"{query.text[:80]}: {number(here)}, {number(here - start, signed=True)} to the baseline"
    sign = "+" if here - start >= _STEPS[0] else "-" if start - here >= _STEPS[0] else "·"
    return el("span", sign, class_=f"cell {level(here - start)}", title=said)


def _values(query: QueryValues, metric: str, record: StudyRecord) -> str:
    first = column(record, BASELINE)
    found = query.values[metric]
    order = [first or 0, *(place for place in range(len(found)) if place != first)]
    return ", ".join("-" if (one := found[place]) is None else number(one) for place in order)
