"""What a benchmark prints: tables of figures, and the bars that decide its exit code."""

from __future__ import annotations

import json
import operator
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rich.console import Console
from rich.table import Table

from idxopt.errors import IdxoptError
from tests.nodes.artifacts import NodeUnavailableError

Value = str | int | float | bool | None
_HOLDS: dict[str, Callable[[float, float], bool]] = {
    ">=": operator.ge,
    ">": operator.gt,
    "<=": operator.le,
    "==": operator.eq,
}


@dataclass(frozen=True, slots=True)
class Bar:
    """A figure and the limit that it must keep."""

    name: str
    value: float
    bound: Literal[">=", ">", "<=", "=="]
    limit: float

    @property
    def met(self) -> bool:
        """False also for a figure that is not a number."""
        return _HOLDS[self.bound](self.value, self.limit)


@dataclass(frozen=True, slots=True)
class Figures:
    """One table: a title, and a row of named values a line."""

    title: str
    rows: Sequence[Mapping[str, Value]]


@dataclass
class Report:
    """Everything that one run of a benchmark found."""

    name: str
    tables: list[Figures] = field(default_factory=list)
    bars: list[Bar] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def met(self) -> bool:
        """True when there is a bar and all are kept."""
        return bool(self.bars) and all(bar.met for bar in self.bars)

    def to_json(self) -> dict[str, Any]:
        """One JSON object with every figure."""
        return {
            "benchmark": self.name,
            "met": self.met,
            "bars": [
                {"name": bar.name, "value": bar.value, "bound": bar.bound, "limit": bar.limit, "met": bar.met}
                for bar in self.bars
            ],
            "tables": [{"title": table.title, "rows": [dict(row) for row in table.rows]} for table in self.tables],
            "notes": self.notes,
            "machine": machine(),
        }


def machine() -> dict[str, Value]:
    """Where the figures come from."""
    return {
        "processors": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),
        "python": platform.python_version(),
        "system": platform.system(),
    }


def shown(value: Value) -> str:
    """A figure as the tables print it."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1_000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else value


def printed(report: Report, console: Console) -> None:
    """The report as tables."""
    for figures in report.tables:
        table = Table(title=figures.title, title_justify="left")
        names = list(dict.fromkeys(name for row in figures.rows for name in row))
        for name in names:
            numeric = all(not isinstance(row.get(name), str) for row in figures.rows)
            table.add_column(name, justify="right" if numeric else "left")
        for row in figures.rows:
            table.add_row(*(shown(row.get(name)) for name in names))
        console.print(table)
    bars = Table(title="bars", title_justify="left")
    for name in ("bar", "figure", "", "limit", "kept"):
        bars.add_column(name)
    for bar in report.bars:
        bars.add_row(bar.name, f"{bar.value:.4g}", bar.bound, f"{bar.limit:g}", "yes" if bar.met else "NO")
    console.print(bars)
    for note in report.notes:
        console.print(note)


def present(report: Report, *, as_json: bool) -> int:
    """Prints and returns the exit code: 1 when a bar is not kept."""
    if as_json:
        print(json.dumps(report.to_json(), indent=1))
    else:
        wide = None if sys.stdout.isatty() else 160
        printed(report, Console(width=wide))
    return 0 if report.met else 1


def tell(text: str) -> None:
    """Progress, on stderr."""
    print(text, file=sys.stderr, flush=True)


def run(measure: Callable[[], Report], *, as_json: bool) -> int:
    """Measures and presents; what keeps a benchmark from running is said in one line, and is a failure."""
    try:
        report = measure()
    except (IdxoptError, NodeUnavailableError) as error:
        tell(f"cannot measure: {error}")
        return 1
    return present(report, as_json=as_json)
