"""View 3: quality against what a program costs to keep (bytes or rows), with the front that nothing dominates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from idxopt.evaluation.bootstrap import Interval
from idxopt.evaluation.pages.charts import Scale, Shape, axis_x, axis_y, legend, mark, svg
from idxopt.evaluation.pages.elements import Html, el, table
from idxopt.evaluation.pages.figures import counted, size_of
from idxopt.optimizer.ports import Size
from idxopt.optimizer.record import BASELINE, WINNER, StudyRecord
from idxopt.optimizer.report.configurations import column_mean
from idxopt.optimizer.report.sections import choice, copied, nothing, section, shown_mean

_LEFT, _WIDTH, _TOP, _BOTTOM = 60, 820, 46, 320
_WIDE = 20.0
"""Costs that differ by more than this factor are drawn on a logarithmic scale."""

Kind = Literal["trial", "baseline", "winner", "random", "control"]
_MARKS: dict[Kind, tuple[Shape, str]] = {
    "trial": ("dot", "line-colour"),
    "baseline": ("square", "base"),
    "winner": ("diamond", "gain"),
    "random": ("triangle", "control"),
    "control": ("triangle", "control"),
}


@dataclass(frozen=True, slots=True)
class Point:
    """A program with its quality and cost. `label`: what it is called; `link`: its row in view 1."""

    kind: Kind
    label: str
    value: Interval
    size: Size
    plan: str = ""
    link: str = ""


def points(record: StudyRecord) -> list[Point]:
    """Everything that has both figures: baseline and winner last, so that they are drawn on top."""
    metric = record.objective.metric
    found = [
        Point(
            "random" if trial.proposer == "random" else "trial",
            f"trial {trial.number}: {trial.kind}",
            trial.values[metric],
            trial.size,
            trial.plan,
            f"#trial-{trial.number}",
        )
        for trial in record.trials
        if trial.size is not None and metric in trial.values
    ]
    found += [Point("control", control.label, control.value, control.size) for control in record.controls]
    labels: tuple[tuple[Kind, str], ...] = (("baseline", BASELINE), ("winner", WINNER))
    for kind, label in labels:
        size = next((one.size for one in record.columns if one.label == label), None)
        value = column_mean(record, metric, label, "dev")
        if size is not None and value is not None:
            found.append(Point(kind, label, value, size, record.plan if kind == "winner" else ""))
    return found


def front(found: Sequence[Point], cost: Callable[[Point], float]) -> list[Point]:
    """The points that no other one equals or beats in both quality and cost, cheapest first; of equals the last."""
    best: list[Point] = []
    places = sorted(range(len(found)), key=lambda place: (cost(found[place]), -found[place].value.mean, -place))
    for point in (found[place] for place in places):
        if not best or point.value.mean > best[-1].value.mean:
            best.append(point)
    return best


def pareto(record: StudyRecord) -> Html:
    """Two drawings, bytes and rows, and the table of the front."""
    title = "3. Quality against cost"
    found = points(record)
    if not found:
        why = "No program has both a figure and a size."
        return section("pareto", title, "What quality costs to keep.", nothing(why))
    panels = [
        ("bytes", _drawing(record, found, lambda one: one.size.bytes, "bytes of text and postings", size_of)),
        (
            "rows",
            _drawing(record, found, lambda one: one.size.rows, "rows over all views", lambda value: f"{value:,.0f}"),
        ),
    ]
    rows = [
        (
            el("a", one.label, href=one.link) if one.link else one.label,
            shown_mean(one.value),
            el("span", size_of(one.size.bytes), data_sort=one.size.bytes),
            f"{one.size.rows:,}",
            f"{one.size.views}",
            copied(one.plan),
        )
        for one in front(found, lambda point: point.size.bytes)
    ]
    return section(
        "pareto",
        title,
        f"Mean {record.objective.metric} over all dev queries against structural cost: what is stored, not what the "
        "search spent. Programs that another one beats in both are faint. Select a point to see its line in the table.",
        choice("cost", panels),
        table(
            "The front by bytes",
            ("program", f"dev {record.objective.metric}", "bytes", "rows", "views", ""),
            rows,
            class_="sortable",
        ),
    )


def _drawing(
    record: StudyRecord,
    found: Sequence[Point],
    cost: Callable[[Point], float],
    label: str,
    text: Callable[[float], str],
) -> Html:
    costs = [cost(one) for one in found]
    wide = min(costs) > 0 and max(costs) / min(costs) > _WIDE
    if wide:
        x = Scale.logarithmic(costs, _LEFT, _WIDTH - 20)
    else:
        x = Scale.around(costs, _LEFT, _WIDTH - 20, least=max(1.0, 0.2 * max(costs)))
    y = Scale.around([one.value.mean for one in found], _BOTTOM, _TOP)
    best = front(found, cost)
    parts = axis_y(y, _LEFT, _WIDTH - 20, record.objective.metric)
    parts += axis_x(x, _TOP, _BOTTOM, f"{label}{', logarithmic' if wide else ''}", text)
    line = f"M{x(cost(best[0])):.1f} {y(best[0].value.mean):.1f}"
    line += "".join(f"H{x(cost(one)):.1f}V{y(one.value.mean):.1f}" for one in best[1:])
    parts.append(el("path", d=line, class_="line best"))
    for one in found:
        shape, class_ = _MARKS[one.kind]
        faint = "" if one in best or one.kind in ("baseline", "winner") else " dominated"
        said = f"{one.label}: {counted(one.value)}, {text(cost(one))}"
        size = 6.0 if one.kind in ("baseline", "winner") else 4.5
        drawn = mark(shape, x(cost(one)), y(one.value.mean), said, f"{class_}{faint}", size)
        parts.append(el("a", drawn, href=one.link) if one.link else drawn)
    named: dict[str, tuple[Shape, str, str]] = {
        one.kind: (*_MARKS[one.kind], "control" if one.kind in ("random", "control") else one.kind) for one in found
    }
    parts += legend(list(dict.fromkeys(named.values())), _LEFT, 18)
    return svg(_WIDTH, _BOTTOM + 40, f"{record.objective.metric} against {label}", parts)
