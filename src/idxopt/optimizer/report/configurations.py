"""View 1: every program that was tried, a line each, the baseline first, the winner marked."""

from __future__ import annotations

from idxopt.evaluation.bootstrap import Interval, mean_interval
from idxopt.evaluation.pages.elements import Attribute, Child, Html, el, table
from idxopt.evaluation.pages.figures import duration, size_of
from idxopt.optimizer.ports import Size
from idxopt.optimizer.record import BASELINE, WINNER, Role, StudyRecord, Trial
from idxopt.optimizer.report.paired import column, value
from idxopt.optimizer.report.sections import copied, how_many, nothing, section, shown_difference, shown_mean

KEPT = ("kept", "merged")


def configurations(record: StudyRecord) -> Html:
    """The table, sortable and filtered by the page's script."""
    if not record.trials and not record.columns:
        return section("configurations", "1. Configurations", "What was tried.", nothing("No program was tried."))
    metrics = _metrics(record)
    header: list[Child] = ["#", "change", "status", f"dev {metrics[0]}", f"{metrics[0]} to baseline"]
    header += [*(f"dev {metric}" for metric in metrics[1:]), f"held-out {metrics[0]}"]
    header += ["p95", "bytes", "rows", "views", "time", "cost", ""]
    rows: list[list[Child]] = []
    extras: list[dict[str, Attribute]] = []
    for role_row in (_pinned(record, BASELINE), _pinned(record, WINNER)):
        if role_row is not None:
            rows.append(role_row)
            extras.append({"class_": "pinned"})
    for trial in record.trials:
        rows.append(_trial(trial, metrics))
        extras.append(_attributes(trial))
    box = el(
        "p",
        el("label", "Filter ", el("input", type="search", data_filter="trials", placeholder="kept, title, 12 ...")),
        class_="filter",
    )
    return section(
        "configurations",
        "1. Configurations",
        f"{how_many(len(record.tried), 'program was', 'programs were')} proposed, "
        f"{sum(one.status in KEPT for one in record.trials)} kept{_waiting(record)}. "
        "Figures are means over all dev queries with 95% intervals; select a heading to sort.",
        box,
        table("Programs tried", header, rows, row_attributes=extras, id="trials", texts=(1, 2), class_="sortable"),
    )


def _waiting(record: StudyRecord) -> str:
    left = len(record.trials) - len(record.tried)
    return f"; {how_many(left, 'more waits', 'more wait')} for the next run" if left else ""


def _metrics(record: StudyRecord) -> list[str]:
    named = [metric for trial in record.trials for metric in trial.values]
    named += [metric for query in record.queries for metric in query.values]
    rest = [metric for metric in dict.fromkeys(named) if metric != record.objective.metric]
    return [record.objective.metric, *rest]


def _attributes(trial: Trial) -> dict[str, Attribute]:
    return {"id": f"trial-{trial.number}", "class_": trial.status}


def column_mean(record: StudyRecord, metric: str, label: str, role: Role) -> Interval | None:
    """Mean of one column over all queries of one role."""
    place = column(record, label)
    known = [one for query in record.queries if query.role == role and (one := value(query, metric, place)) is not None]
    return mean_interval(known) if known else None


def _pinned(record: StudyRecord, label: str) -> list[Child] | None:
    place = column(record, label)
    if place is None:
        return None
    means = [shown_mean(column_mean(record, metric, label, "dev")) for metric in _metrics(record)]
    metric = record.objective.metric
    first = column(record, BASELINE)
    moved = [
        after - before
        for query in record.queries
        if query.role == "dev"
        and (before := value(query, metric, first)) is not None
        and (after := value(query, metric, place)) is not None
    ]
    difference = mean_interval(moved) if moved and label != BASELINE else None
    best = "★ " if label == WINNER else ""
    command = record.plan if label == WINNER else ""
    return [
        "",
        el("strong", f"{best}{label}"),
        "",
        means[0],
        shown_difference(difference),
        *means[1:],
        shown_mean(column_mean(record, metric, label, "held_out")),
        "-",
        *_size(record.columns[place].size),
        "",
        "",
        copied(command),
    ]


def _size(size: Size | None) -> list[Child]:
    if size is None:
        return ["-", "-", "-"]
    return [el("span", size_of(size.bytes), data_sort=size.bytes), f"{size.rows:,}", f"{size.views}"]


def _trial(trial: Trial, metrics: list[str]) -> list[Child]:
    reason = el("small", trial.reason, class_="why") if trial.reason else None
    money = f"{trial.money:.4f}" if trial.money else "-"
    return [
        f"{trial.number}",
        [el("strong", trial.kind), " ", el("small", trial.why, class_="why"), _proposer(trial)],
        [el("span", trial.status, class_=f"status {trial.status}"), reason],
        shown_mean(trial.values.get(metrics[0])),
        shown_difference(trial.difference),
        *(shown_mean(trial.values.get(metric)) for metric in metrics[1:]),
        shown_mean(trial.held_out),
        "-" if trial.p95_ms is None else f"{trial.p95_ms:.1f} ms",
        *_size(trial.size),
        [
            el("span", duration(trial.seconds), data_sort=trial.seconds),
            el("small", " cached") if trial.cached else None,
        ],
        money,
        copied(trial.plan),
    ]


def _proposer(trial: Trial) -> Html:
    return el("small", f"round {trial.round}, {trial.proposer}", class_="faint")
