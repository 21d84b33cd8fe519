"""What every view of the report is made of: a section with a heading, cells for figures, boxes that open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from idxopt.evaluation.bootstrap import Interval
from idxopt.evaluation.pages.charts import direction
from idxopt.evaluation.pages.elements import Child, Html, el, table
from idxopt.evaluation.pages.figures import figure, number

_MARKS = {"gain": "▲", "loss": "▼", "unclear": "≈"}


def section(anchor: str, title: str, lead: Child, *children: Child) -> Html:
    """One view: its heading can be linked to."""
    return el("section", el("h2", title), el("p", lead, class_="lead"), *children, id=anchor, class_="view")


def how_many(count: int, one: str, many: str) -> str:
    """`1 query`, `12 queries`."""
    return f"{count:,} {one if count == 1 else many}"


def nothing(why: str) -> Html:
    """Instead of a plot that has nothing to show."""
    return el("p", why, class_="nothing")


def opened(summary: Child, *children: Child, open_: bool = False) -> Html:
    """A box that opens; printed as it stands."""
    return el("details", el("summary", summary), *children, open=open_)


def shown_mean(interval: Interval | None) -> Html:
    """A mean with interval and n."""
    if interval is None:
        return el("span", "-", class_="faint")
    return el("span", figure(interval), el("small", f" n={interval.n}", class_="n"))


def shown_difference(interval: Interval | None) -> Html:
    """A difference with interval, n, and a mark that says whether it is clear."""
    if interval is None:
        return el("span", "-", class_="faint")
    way = direction(interval)
    return el(
        "span",
        el("span", _MARKS[way], class_=f"way {way}", title=_SAID[way]),
        " ",
        figure(interval, signed=True),
        el("small", f" n={interval.n}", class_="n"),
    )


_SAID = {
    "gain": "the interval lies above 0",
    "loss": "the interval lies below 0",
    "unclear": "the interval holds 0: no clear difference",
}


def shown_number(value: float | None, *, signed: bool = False) -> str:
    """Three decimals; `-` for none."""
    return "-" if value is None else number(value, signed=signed)


def copied(command: str) -> Html | None:
    """A command that a click copies."""
    if not command:
        return None
    return el("button", "copy plan", type="button", class_="copy", data_copy=command, title=command)


def pairs_table(caption: str, rows: Iterable[tuple[str, Child]], *, note: str = "") -> Html:
    """Names and values."""
    return table(caption, ("", "value"), list(rows), note=note, texts=(1,), class_="pairs")


def choice(name: str, panels: Sequence[tuple[str, Html]]) -> Html:
    """Several drawings of which one is shown at a time; all of them without script, the first when printed."""
    buttons = [
        el("button", label, type="button", data_panel=place, aria_pressed="true" if place == 0 else "false")
        for place, (label, _) in enumerate(panels)
    ]
    boxes = [el("div", panel, class_="panel", data_panel=place) for place, (_, panel) in enumerate(panels)]
    if len(panels) == 1:
        return boxes[0]
    return el("div", el("div", buttons, class_="tabs", role="group", aria_label=name), boxes, class_="choice")
