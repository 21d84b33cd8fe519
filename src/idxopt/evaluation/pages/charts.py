"""Inline SVG: scales, axes, intervals. Colours are classes of the page's style sheet, so that they follow its theme.

Meaning is never carried by colour alone: marks differ in shape, lines in their dashes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from idxopt.evaluation.bootstrap import Interval
from idxopt.evaluation.pages.elements import Child, Html, el
from idxopt.evaluation.pages.figures import figure, number

Shape = Literal["dot", "ring", "cross", "square", "diamond", "triangle"]
CHARACTER = 6.6
"""Width of an average character at 12 px."""


def svg(width: float, height: float, title: str, *children: Child) -> Html:
    """A drawing that says what it shows, in a box of its own that scrolls sideways."""
    drawn = el(
        "svg",
        el("title", title),
        *children,
        viewBox=f"0 0 {width:g} {height:g}",
        width=width,
        height=height,
        role="img",
        font_size="12",
    )
    return el("div", drawn, class_="chart")


@dataclass(frozen=True, slots=True)
class Scale:
    """Values `low`..`high` to places `start`..`end`; logarithmic where `log` (values above 0 only)."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high, at = (math.log10(x) for x in (self.low, self.high, value)) if self.log else self._plain(value)
        return self.start + (self.end - self.start) * ((at - low) / (high - low))

    def _plain(self, value: float) -> tuple[float, float, float]:
        return self.low, self.high, value

    def ticks(self, most: int = 6) -> list[float]:
        """Round values inside the scale: 1, 2 or 5 times a power of ten."""
        if self.log:
            return _log_ticks(self.low, self.high, most)
        step = _round_step((self.high - self.low) / most)
        first = math.ceil(self.low / step - 1e-9)
        return [count * step for count in range(first, math.floor(self.high / step + 1e-9) + 1)]

    @classmethod
    def around(cls, values: Sequence[float], start: float, end: float, *, least: float = 0.02) -> Scale:
        """A linear scale that holds all values with a little room; at least `least` wide."""
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        room = max((high - low) * 0.06, (least - (high - low)) / 2, 1e-9)
        return cls(low - room, high + room, start, end)

    @classmethod
    def logarithmic(cls, values: Sequence[float], start: float, end: float) -> Scale:
        """A logarithmic scale that holds all values (above 0)."""
        return cls(min(values) / 1.3, max(values) * 1.3, start, end, log=True)


def _round_step(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= step * (1 - 1e-9))


def _log_ticks(low: float, high: float, most: int) -> list[float]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for times in ((1, 2, 5), (1, 3), (1,)):
        ticks = [one * 10.0**power for power in powers for one in times if low <= one * 10.0**power <= high]
        if len(ticks) <= most:
            break
    return ticks or [math.sqrt(low * high)]


def axis_x(scale: Scale, top: float, bottom: float, label: str, text: Callable[[float], str] = number) -> list[Html]:
    """Lines upwards at each tick, figures below, the label under them."""
    parts = []
    for value in scale.ticks(max(2, int(abs(scale.end - scale.start) / 70))):
        x = scale(value)
        parts.append(el("path", d=f"M{x:.1f} {top:g}V{bottom:g}", class_="grid"))
        parts.append(el("text", text(value), x=x, y=bottom + 15, text_anchor="middle"))
    middle = (scale.start + scale.end) / 2
    return [*parts, el("text", label, x=middle, y=bottom + 32, text_anchor="middle", class_="label")]


def axis_y(scale: Scale, left: float, right: float, label: str, text: Callable[[float], str] = number) -> list[Html]:
    """Lines sideways at each tick, figures at the left, the label above them."""
    parts = []
    for value in scale.ticks():
        y = scale(value)
        parts.append(el("path", d=f"M{left:g} {y:.1f}H{right:g}", class_="grid"))
        parts.append(el("text", text(value), x=left - 6, y=y + 4, text_anchor="end"))
    return [*parts, el("text", label, x=left - 40, y=min(scale.start, scale.end) - 10, class_="label")]


def mark(shape: Shape, x: float, y: float, tip: str, class_: str, size: float = 4.5) -> Html:
    """One mark with a text that shows when pointed at."""
    s = size
    paths = {
        "dot": f"M{x - s:.1f} {y:.1f}a{s} {s} 0 1 0 {2 * s} 0a{s} {s} 0 1 0 {-2 * s} 0z",
        "square": f"M{x - s:.1f} {y - s:.1f}h{2 * s}v{2 * s}h{-2 * s}z",
        "diamond": f"M{x:.1f} {y - s - 1:.1f}l{s + 1} {s + 1}l{-s - 1} {s + 1}l{-s - 1} {-s - 1}z",
        "triangle": f"M{x:.1f} {y - s - 1:.1f}l{s + 1} {2 * s}h{-2 * s - 2}z",
        "cross": f"M{x - s:.1f} {y - s:.1f}l{2 * s} {2 * s}m0 {-2 * s}l{-2 * s} {2 * s}",
    }
    paths["ring"] = paths["dot"]
    hollow = " hollow" if shape in ("ring", "cross") else ""
    return el("path", el("title", tip), d=paths[shape], class_=f"mark {class_}{hollow}")


def legend(entries: Sequence[tuple[Shape, str, str]], x: float, y: float) -> list[Html]:
    """Marks and what they mean, side by side: (shape, class, text)."""
    parts = []
    for shape, class_, text in entries:
        parts.append(mark(shape, x, y - 4, text, class_))
        parts.append(el("text", text, x=x + 10, y=y))
        x += 26 + CHARACTER * len(text)
    return parts


def direction(interval: Interval) -> Literal["gain", "loss", "unclear"]:
    """Whether the interval leaves out 0, and on which side."""
    if interval.low is not None and interval.low > 0:
        return "gain"
    return "loss" if interval.high is not None and interval.high < 0 else "unclear"


_SHAPES: dict[str, Shape] = {"gain": "dot", "loss": "square", "unclear": "ring"}


def forest(title: str, label: str, rows: Sequence[tuple[str, Interval]]) -> Html:
    """A line a row: the mean of differences with its interval; the dashed line is 0."""
    longest = max((len(name) for name, _ in rows), default=0)
    left, width, row, top = min(30 + CHARACTER * min(longest, 44), 330), 760, 22, 12
    ends = [0.0, *(end for _, one in rows for end in (one.mean, one.low, one.high) if end is not None)]
    scale = Scale.around(ends, left, width - 60)
    bottom = top + row * len(rows)
    parts = axis_x(scale, top, bottom, label, lambda value: number(value, signed=True))
    parts.append(el("path", d=f"M{scale(0):.1f} {top}V{bottom}", class_="zero"))
    for place, (name, one) in enumerate(rows):
        y = top + row * place + row / 2
        way = direction(one)
        shown = name if len(name) <= 44 else f"{name[:43]}…"
        parts.append(el("text", shown, x=left - 10, y=y + 4, text_anchor="end"))
        parts += interval_line(scale, one, y, way)
        parts.append(mark(_SHAPES[way], scale(one.mean), y, f"{name}: {figure(one, signed=True)} n={one.n}", way))
        parts.append(el("text", f"n={one.n}", x=width - 50, y=y + 4, class_="faint"))
    return svg(width, bottom + 40, title, parts)


def interval_line(scale: Scale, interval: Interval, y: float, class_: str) -> list[Html]:
    """The interval as a line sideways; nothing where there is none."""
    if interval.low is None or interval.high is None:
        return []
    path = f"M{scale(interval.low):.1f} {y:.1f}H{scale(interval.high):.1f}"
    return [el("path", d=path, class_=f"bar {class_}")]
