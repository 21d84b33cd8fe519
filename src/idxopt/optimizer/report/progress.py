"""View 2: what was gained when. Every trial, the best so far, and the held-out queries as a second line."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from idxopt.evaluation.pages.charts import Scale, axis_x, axis_y, legend, mark, svg
from idxopt.evaluation.pages.elements import Html, el, table
from idxopt.evaluation.pages.figures import counted, duration, number
from idxopt.optimizer.record import BASELINE, StudyRecord, Trial
from idxopt.optimizer.report.configurations import KEPT, column_mean
from idxopt.optimizer.report.sections import choice, nothing, opened, section, shown_mean, shown_number

_LEFT, _WIDTH, _TOP, _BOTTOM = 60, 820, 46, 300
_FEWEST = 8.0
"""Trials that the axis shows at least: with fewer its ticks would not be whole numbers."""


@dataclass(frozen=True, slots=True)
class _Point:
    trial: Trial
    at: float
    value: float | None
    best: float | None


def progress(record: StudyRecord) -> Html:
    """Three drawings (by trial, time, money) and the table of their points."""
    title = "2. Progress"
    if not record.trials:
        return section("progress", title, "No trial was made.", nothing("There is nothing to draw."))
    numbers = list(map(float, range(1, len(record.trials) + 1)))
    panels = [("by trial", _drawing(record, numbers, "trial", lambda value: f"{value:.0f}", least=_FEWEST))]
    seconds = list(accumulate(trial.seconds for trial in record.trials))
    if seconds[-1] > 0:
        panels.append(("by time", _drawing(record, seconds, "time of trials", duration)))
    money = list(accumulate(trial.money for trial in record.trials))
    if money[-1] > 0:
        panels.append(
            ("by money", _drawing(record, money, f"money, {_currency(record)}", lambda value: f"{value:.3g}"))
        )
    return section(
        "progress",
        title,
        f"Mean {record.objective.metric} over all dev queries. The held-out line shows where those queries were read; "
        "its level differs from dev because the queries differ.",
        choice("horizontal axis", panels),
        opened("The same as a table", _table(record, numbers)),
    )


def _currency(record: StudyRecord) -> str:
    return record.cost.currency if record.cost is not None else ""


def _points(record: StudyRecord, places: Sequence[float]) -> list[_Point]:
    metric = record.objective.metric
    start = column_mean(record, metric, BASELINE, "dev")
    best = None if start is None else start.mean
    found = []
    for trial, at in zip(record.trials, places, strict=True):
        interval = trial.values.get(metric)
        if interval is not None and trial.status in (*KEPT, "cut"):
            best = interval.mean
        found.append(_Point(trial, at, None if interval is None else interval.mean, best))
    return found


def _drawing(
    record: StudyRecord, places: Sequence[float], label: str, text: Callable[[float], str], least: float = 0.0
) -> Html:
    metric, points = record.objective.metric, _points(record, places)
    held = [(0.0, one.mean)] if (one := column_mean(record, record.objective.metric, BASELINE, "held_out")) else []
    held += [(point.at, point.trial.held_out.mean) for point in points if point.trial.held_out is not None]
    values = [value for point in points for value in (point.value, point.best) if value is not None]
    y = Scale.around([*values, *(value for _, value in held)], _BOTTOM, _TOP)
    x = Scale(0.0, max(least, max(places) * 1.02), _LEFT, _WIDTH - 20)
    parts = axis_y(y, _LEFT, _WIDTH - 20, record.objective.metric)
    parts += axis_x(x, _TOP, _BOTTOM, label, text)
    parts += _best_line(record, points, x, y)
    if held:
        line = "M" + "L".join(f"{x(at):.1f} {y(value):.1f}" for at, value in held)
        parts.append(el("path", d=line, class_="line held"))
        parts += [mark("diamond", x(at), y(value), f"held-out {number(value)}", "held") for at, value in held]
    for point in points:
        parts.append(_mark(point, x(point.at), _BOTTOM - 8 if point.value is None else y(point.value), metric))
    parts += legend(
        [
            ("dot", "gain", "kept"),
            ("ring", "unclear", "refused"),
            ("cross", "unclear", "invalid or failed"),
            ("diamond", "held", "held-out"),
        ],
        _LEFT,
        18,
    )
    return svg(_WIDTH, _BOTTOM + 40, f"Progress of {record.objective.metric} {label}", parts)


def _best_line(record: StudyRecord, points: Sequence[_Point], x: Scale, y: Scale) -> list[Html]:
    start = column_mean(record, record.objective.metric, BASELINE, "dev")
    path = "" if start is None else f"M{x(0):.1f} {y(start.mean):.1f}"
    for point in points:
        if point.best is not None:
            path += f"H{x(point.at):.1f}V{y(point.best):.1f}" if path else f"M{x(point.at):.1f} {y(point.best):.1f}"
    return [el("path", d=path, class_="line best")] if path else []


def _mark(point: _Point, x: float, y: float, metric: str) -> Html:
    trial = point.trial
    said = f"trial {trial.number}: {trial.kind}, {trial.status}"
    if point.value is not None:
        said += f", {number(point.value)}"
    if trial.gain is not None:
        said += f", gain in {metric} {counted(trial.gain, signed=True)}"
    if trial.reason:
        said += f": {trial.reason}"
    if trial.status in (*KEPT, "cut"):
        return mark("dot", x, y, said, "gain", 5)
    return mark("cross" if point.value is None else "ring", x, y, said, "unclear", 3.5)


def _table(record: StudyRecord, places: Sequence[float]) -> Html:
    money = accumulate(trial.money for trial in record.trials)
    seconds = accumulate(trial.seconds for trial in record.trials)
    rows = [
        (
            f"{point.trial.number}",
            duration(spent),
            f"{paid:.4f}",
            shown_mean(point.trial.values.get(record.objective.metric)),
            shown_number(point.best),
            shown_mean(point.trial.held_out),
            point.trial.status,
        )
        for point, spent, paid in zip(_points(record, places), seconds, money, strict=True)
    ]
    header = ("trial", "time", "money", record.objective.metric, "best so far", "held-out", "status")
    return table("Progress", header, rows, texts=(6,))
