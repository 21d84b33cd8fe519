"""A canary as lines and tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rich.markup import escape
from rich.table import Table

from idxopt.cli.units import counted

if TYPE_CHECKING:
    from idxopt.builds.canary import Canary
    from idxopt.evaluation.bootstrap import Interval
    from idxopt.evaluation.canary import LogFigures
    from idxopt.evaluation.canary_clicks import ClickFigures


def canary_lines(canary: Canary) -> Iterator[str]:
    """What runs."""
    from idxopt.deploy.beside import share_text

    yield (
        f"{canary.name}: build {canary.candidate} answers {share_text(canary.share)} of the queries beside build "
        f"{canary.incumbent}, since {canary.started}, by {canary.who}"
    )
    if canary.message:
        yield f"  {canary.message}"
    yield f"  run log: {canary.log or 'none named'}"


def log_table(figures: LogFigures) -> Table:
    """A line an arm."""
    table = Table(title="Answers by arm, with 95% intervals", title_justify="left")
    for heading in ("arm", "build", "answers", "sessions or queries", "p50 ms", "p95 ms", "found nothing"):
        table.add_column(heading, justify="left" if heading in ("arm", "build") else "right")
    for arm in (figures.incumbent, figures.candidate):
        table.add_row(
            arm.arm,
            arm.build,
            f"{arm.answers:,}",
            f"{arm.keys:,}",
            _figure(arm.p50, 1),
            _figure(arm.p95, 1),
            _figure(arm.zero, 1, percent=True),
        )
    return table


def log_lines(figures: LogFigures) -> Iterator[str]:
    """What deserves a look."""
    if figures.share is not None:
        yield (
            f"share that fell to the candidate: {_figure(figures.share, 2, percent=True)} of "
            f"{counted(figures.share.n, 'session or query', 'sessions or queries')}"
        )
    if figures.mismatch:
        yield "! that share is implausible for this split: part of the traffic is not logged, or is routed otherwise"
    if figures.fallbacks:
        failed = counted(figures.fallbacks, "query", "queries")
        yield f"! {failed} of the candidate's: it failed there, and the live build answered"
    for small in figures.small:
        yield f"! too few to tell: {small}"


def click_table(figures: ClickFigures) -> Table:
    """A line a metric."""
    unit = "sessions" if figures.by == "session" else "queries"
    table = Table(
        title=f"Clicks, split by {figures.by}: {figures.units['incumbent']:,} {unit} of the incumbent, "
        f"{figures.units['candidate']:,} of the candidate (unpaired, 95% intervals)",
        title_justify="left",
    )
    for heading in ("metric", "incumbent", "candidate", "candidate - incumbent", "candidate is", "would show from"):
        table.add_column(heading, justify="left" if heading in ("metric", "candidate is") else "right")
    for one in figures.metrics:
        table.add_row(
            one.metric,
            _figure(one.incumbent, 3),
            _figure(one.candidate, 3),
            _figure(one.difference, 3, signed=True),
            one.finding,
            "-" if one.detectable is None else f"{one.detectable:.3f}",
        )
    return table


def click_lines(figures: ClickFigures) -> Iterator[str]:
    """Notes of the table."""
    if figures.robots:
        yield f"{counted(figures.robots, 'session')} with more than 100 clicks left out"
    for small in figures.small:
        yield f"! too few to tell: {small}"


def log_json(figures: LogFigures) -> dict[str, Any]:
    """As one document."""
    return {**asdict(figures), "notes": list(log_lines(figures))}


def click_json(figures: ClickFigures) -> dict[str, Any]:
    """As one document."""
    return {
        **asdict(figures),
        "metrics": [{**asdict(one), "finding": one.finding} for one in figures.metrics],
        "notes": list(click_lines(figures)),
    }


def _figure(interval: Interval | None, digits: int, *, signed: bool = False, percent: bool = False) -> str:
    if interval is None:
        return "-"
    scale, unit = (100.0, "%") if percent else (1.0, "")
    sign = "+" if signed else ""

    def number(value: float) -> str:
        return f"{value * scale:{sign}.{digits}f}{unit}"

    if interval.low is None or interval.high is None:
        return f"{number(interval.mean)} (no interval)"
    return escape(f"{number(interval.mean)} [{number(interval.low)}, {number(interval.high)}]")
