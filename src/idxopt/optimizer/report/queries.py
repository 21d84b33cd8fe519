"""Views 5 and 7: which queries win and lose, and how the values of all of them are spread."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from urllib.parse import quote

import numpy as np

from idxopt.evaluation.bootstrap import mean_interval
from idxopt.evaluation.comparison import TIE
from idxopt.evaluation.pages.charts import Scale, axis_x, axis_y, legend, svg
from idxopt.evaluation.pages.elements import Child, Html, el, foreign, table
from idxopt.evaluation.pages.figures import counted, number
from idxopt.optimizer.record import Role, StudyRecord
from idxopt.optimizer.report.paired import ROLES, Pair, pairs, tally
from idxopt.optimizer.report.sections import choice, how_many, nothing, section, shown_difference

MOST_ROWS = 400
"""Rows of a table of queries: more than that, and only the ends are shown."""
_WIDTH = 820
_GOLDEN = 0.618_033_988_749_895
_PERCENTS = (10, 25, 50, 75, 90)


def query_link(query_id: str) -> str:
    """The deep link to a query's rankings."""
    return f"#q={quote(query_id, safe='')}"


def by_role(found: Sequence[Pair]) -> list[tuple[str, list[Pair]]]:
    """Pairs of each role that has some: test first, for it is what counts."""
    order: tuple[Role, ...] = ("test", "held_out", "dev")
    grouped = [(ROLES[role], [one for one in found if one.query.role == role]) for role in order]
    return [(name, some) for name, some in grouped if some]


def wins_and_losses(record: StudyRecord) -> Html:
    """View 5: a bar a query, largest gain first, and the same as a table."""
    title, metric = "5. Wins and losses by query", record.objective.metric
    found = pairs(record, metric)
    if not found:
        return section("queries", title, "Who wins, who loses.", nothing("No query has a value under both programs."))
    linked = {one.query_id for one in record.rankings}
    panels = [(name, _side(name, some, metric, linked)) for name, some in by_role(found)]
    return section(
        "queries",
        title,
        f"{metric} of the winner - {metric} of the baseline, query by query. Queries that moved most link to their "
        "rankings.",
        choice("set", panels),
    )


def _side(name: str, found: Sequence[Pair], metric: str, linked: set[str]) -> Html:
    ordered = sorted(found, key=lambda one: (-one.difference, one.query.id))
    count = tally(found)
    line = el(
        "p",
        f"{name}: {count} wins / ties / losses of n={len(found)}; mean difference ",
        shown_difference(mean_interval([one.difference for one in found])),
        f"; sign test over the {count.wins + count.losses} that differ: {_sign_test(count.wins, count.losses)}.",
    )
    shown = ordered
    note = ""
    if len(ordered) > MOST_ROWS:
        shown = [*ordered[: MOST_ROWS // 2], *ordered[-MOST_ROWS // 2 :]]
        note = f"The {len(ordered) - MOST_ROWS} queries in the middle are only in the data."
    rows = [_row(one, linked) for one in shown]
    header = ("query", "kind", "set", "baseline", "winner", "difference", "")
    listed = table(f"{metric} by query, {name}", header, rows, note=note, texts=(1, 2), class_="sortable queries")
    return el("div", line, _waterfall(ordered, metric, name), listed)


def _sign_test(wins: int, losses: int) -> str:
    if not wins + losses:
        return "no query differs"
    from scipy import stats  # slow to import

    p = float(stats.binomtest(wins, wins + losses).pvalue)
    return f"p {'< .001' if p < 0.001 else f'= {number(p)}'}, two-sided"


def _row(one: Pair, linked: set[str]) -> list[Child]:
    text: Child = foreign(one.query.text)
    if one.query.id in linked:
        text = el("a", text, href=query_link(one.query.id))
    width = f"width:{min(100.0, abs(one.difference) * 100):.1f}%"
    way = "gain" if one.difference > TIE else "loss" if one.difference < -TIE else "tie"
    bar = el("span", el("span", style=width, class_=f"fill {way}"), class_="track")
    return [
        [text, " ", el("small", foreign(one.query.id), class_="faint")],
        one.query.kind,
        one.query.set,
        number(one.before),
        number(one.after),
        number(one.difference, signed=True),
        bar,
    ]


def _waterfall(ordered: Sequence[Pair], metric: str, name: str) -> Html:
    left, top, bottom = 60, 30, 210
    y = Scale.around([0.0, *(one.difference for one in ordered)], bottom, top)
    step = (_WIDTH - 20 - left) / len(ordered)
    parts = axis_y(y, left, _WIDTH - 20, f"difference of {metric}", lambda value: number(value, signed=True))
    for place, one in enumerate(ordered):
        if abs(one.difference) <= TIE:
            continue
        x, end = left + place * step, y(one.difference)
        box = f"M{x:.2f} {y(0):.1f}V{end:.1f}h{max(step * 0.85, 0.4):.2f}V{y(0):.1f}z"
        said = f"{one.query.text[:80]}: {number(one.difference, signed=True)}"
        parts.append(el("path", el("title", said), d=box, class_="fill gain" if one.difference > 0 else "fill loss"))
    parts.append(el("path", d=f"M{left} {y(0):.1f}H{_WIDTH - 20}", class_="axis"))
    label = f"{how_many(len(ordered), 'query', 'queries')}, largest gain first"
    parts.append(el("text", label, x=(_WIDTH + left) / 2, y=bottom + 20, text_anchor="middle", class_="label"))
    return svg(_WIDTH, bottom + 30, f"Differences of {metric} by query, {name}", parts)


def distribution(record: StudyRecord) -> Html:
    """View 7: empirical distribution functions of baseline and winner, with the points they are made of."""
    title, metric = "7. Distribution of values", record.objective.metric
    found = pairs(record, metric)
    if not found:
        return section("distribution", title, "Wide or narrow?", nothing("No query has a value under both programs."))
    panels = [(name, _spread(name, some, metric)) for name, some in by_role(found)]
    return section(
        "distribution",
        title,
        f"Share of queries at or below each {metric}: where the winner's line runs lower, fewer queries do badly. "
        "Below, a point a query.",
        choice("set", panels),
    )


def _spread(name: str, found: Sequence[Pair], metric: str) -> Html:
    before, after = [one.before for one in found], [one.after for one in found]
    sides = (("baseline", before), ("winner", after))
    rows = []
    for label, values in sides:
        quantiles = [number(float(one)) for one in np.percentile(values, _PERCENTS)]
        low, high = sum(one <= TIE for one in values), sum(one >= 1 - TIE for one in values)
        rows.append([label, counted(mean_interval(values)), number(min(values)), *quantiles, number(max(values))])
        rows[-1] += [f"{low}", f"{high}"]
    header = ("program", "mean", "least", *(f"p{one}" for one in _PERCENTS), "most", "at 0", "at 1")
    return el("div", _functions(name, before, after, metric), table(f"{metric}, {name}", header, rows))


def _functions(name: str, before: Sequence[float], after: Sequence[float], metric: str) -> Html:
    left, top, bottom, strip = 60, 46, 230, 34
    x = Scale(0.0, max(1.0, *before, *after), left, _WIDTH - 20)
    y = Scale(0.0, 1.0, bottom, top)
    low = bottom + 2 * strip + 12
    parts = axis_y(y, left, _WIDTH - 20, "share of queries")
    parts += axis_x(x, top, low, metric)
    for place, (class_, values) in enumerate((("base", before), ("gain", after))):
        parts.append(el("path", d=_steps(sorted(values), x, y), class_=f"line {class_}"))
        middle = bottom + 6 + strip * place + strip / 2
        dots = "".join(
            f"M{x(value):.1f} {middle + (strip - 10) * ((number * _GOLDEN) % 1 - 0.5):.1f}h0"
            for number, value in enumerate(values, 1)
        )
        parts.append(el("path", d=dots, class_=f"points {class_}"))
    parts += legend([("square", "base", "baseline (dashed)"), ("dot", "gain", "winner")], left, 18)
    return svg(_WIDTH, low + 40, f"Distribution of {metric}, {name}", parts)


def _steps(values: Sequence[float], x: Scale, y: Scale) -> str:
    path, done = f"M{x(0):.1f} {y(0):.1f}", 0
    for value, same in groupby(values):
        done += len(list(same))
        path += f"H{x(value):.1f}V{y(done / len(values)):.1f}"
    return f"{path}H{x.end:.1f}"
