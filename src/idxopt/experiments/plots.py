"""Inline SVG: paired differences with their intervals, one panel a pipeline, and the cost of representations."""

from __future__ import annotations

import math
from html import escape

from idxopt.evaluation.bootstrap import Interval
from idxopt.experiments.methods import BY_NAME, COLUMN_NAMES, COLUMNS, RAW
from idxopt.experiments.results import CollectionResult

_LABELS, _PANEL, _ROW, _TOP, _GAP = 230, 210, 20, 26, 14
_COLOURS = {"better": "#1a7f37", "worse": "#c4302b", "no clear difference": "#6e7781"}


def difference_plot(result: CollectionResult) -> str:
    """A line a method: the mean difference of nDCG@5 to raw and its interval; 0 is the dashed line."""
    methods = [name for name in result.methods if name != RAW]
    reach = max([0.05, *(_reach(cell.difference) for cell in result.cells if cell.difference is not None)])
    reach = math.ceil(reach * 20) / 20
    width = _LABELS + len(COLUMNS) * (_PANEL + _GAP)
    height = _TOP + len(methods) * _ROW + 24
    parts = [_svg(width, height, f"Differences of nDCG@5 to raw windows on {result.name}")]
    for row, name in enumerate(methods):
        y = _TOP + row * _ROW + _ROW // 2
        parts.append(f'<text x="{_LABELS - 8}" y="{y + 4}" text-anchor="end">{escape(BY_NAME[name].label)}</text>')
    for number, column in enumerate(COLUMNS):
        left = _LABELS + number * (_PANEL + _GAP)
        parts += _panel(left, height, COLUMN_NAMES[column], reach)
        for row, name in enumerate(methods):
            cell = result.cell(name, column)
            if cell is not None and cell.difference is not None:
                y = _TOP + row * _ROW + _ROW // 2
                parts += _interval(cell.difference, left, y, reach, _COLOURS[str(cell.finding)])
    return "".join([*parts, "</svg>"])


def _reach(interval: Interval) -> float:
    ends = (interval.mean, interval.low or 0.0, interval.high or 0.0)
    return max(abs(end) for end in ends)


def _panel(left: int, height: int, name: str, reach: float) -> list[str]:
    bottom, middle = height - 24, left + _PANEL / 2
    labels = [
        f'<text x="{place:g}" y="{height - 8}" text-anchor="middle">{value:+.2g}</text>'
        for place, value in ((left, -reach), (left + _PANEL, reach))
    ]
    return [
        f'<text x="{middle:g}" y="14" text-anchor="middle" font-weight="bold">{escape(name)}</text>',
        f'<rect x="{left}" y="{_TOP - 4}" width="{_PANEL}" height="{bottom - _TOP + 8}" fill="none" stroke="#d0d7de"/>',
        f'<path d="M{middle:g} {_TOP - 4}V{bottom + 4}" stroke="#57606a" stroke-dasharray="3 3"/>',
        f'<text x="{middle:g}" y="{height - 8}" text-anchor="middle">0</text>',
        *labels,
    ]


def _interval(found: Interval, left: int, y: int, reach: float, colour: str) -> list[str]:
    def x(value: float) -> float:
        return left + _PANEL / 2 * (1 + value / reach)

    parts = [f'<circle cx="{x(found.mean):.1f}" cy="{y}" r="3.5" fill="{colour}"/>']
    if found.low is not None and found.high is not None:
        parts.append(
            f'<line x1="{x(found.low):.1f}" x2="{x(found.high):.1f}" y1="{y}" y2="{y}" stroke="{colour}" '
            'stroke-width="2"/>'
        )
    return parts


def cost_plot(result: CollectionResult) -> str:
    """Quality against cost: nDCG@5 dense only over embedded tokens a document (log scale)."""
    points = [
        (name, cost.tokens_a_document, cell.main.mean)
        for name, cost in result.costs.items()
        if cost.tokens and (cell := result.cell(name, "dense")) is not None
    ]
    if not points:
        return ""
    width, height, left, bottom = 760, 300, 50, 260
    low = math.floor(math.log10(min(tokens for _, tokens, _ in points)))
    high = math.ceil(math.log10(max(tokens for _, tokens, _ in points)) + 0.01)
    top = max(0.1, math.ceil(max(value for _, _, value in points) * 10) / 10)
    parts = [_svg(width, height, f"nDCG@5, dense only, over embedded tokens a document on {result.name}")]

    def x(tokens: float) -> float:
        return left + (width - left - 190) * (math.log10(tokens) - low) / (high - low)

    def y(value: float) -> float:
        return bottom - (bottom - 20) * value / top

    for power in range(low, high + 1):
        place = x(10**power)
        parts.append(f'<line x1="{place:.1f}" x2="{place:.1f}" y1="20" y2="{bottom}" stroke="#eaeef2"/>')
        parts.append(f'<text x="{place:.1f}" y="{bottom + 16}" text-anchor="middle">{10**power:,}</text>')
    for step in range(6):
        value = top * step / 5
        parts.append(f'<text x="{left - 6}" y="{y(value) + 4:.1f}" text-anchor="end">{value:.2f}</text>')
    parts.append(f'<text x="{left}" y="{height - 6}">embedded tokens a document</text>')
    for name, tokens, value in points:
        parts.append(f'<circle cx="{x(tokens):.1f}" cy="{y(value):.1f}" r="4" fill="#0969da"/>')
        label = escape(BY_NAME[name].label)
        parts.append(f'<text x="{x(tokens) + 7:.1f}" y="{y(value) + 4:.1f}" font-size="10">{label}</text>')
    return "".join([*parts, "</svg>"])


def _svg(width: int, height: int, title: str) -> str:
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" font-family="sans-serif" '
        f'font-size="12"><title>{escape(title)}</title>'
    )
