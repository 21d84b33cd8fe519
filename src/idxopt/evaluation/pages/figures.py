"""How figures are written on pages and in tables: three decimals, the interval in brackets."""

from __future__ import annotations

from idxopt.evaluation.bootstrap import Interval


def number(value: float, *, signed: bool = False) -> str:
    """`.412`, `+.031`, `1.000`."""
    text = f"{value:+.3f}" if signed else f"{value:.3f}"
    text = text if float(text) else text.replace("-", "+" if signed else "")
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text


def figure(interval: Interval, *, signed: bool = False) -> str:
    """`.412 [.350, .471]`."""
    if interval.low is None or interval.high is None:
        return f"{number(interval.mean, signed=signed)} (no interval)"
    ends = f"{number(interval.low, signed=signed)}, {number(interval.high, signed=signed)}"
    return f"{number(interval.mean, signed=signed)} [{ends}]"


def counted(interval: Interval | None, *, signed: bool = False) -> str:
    """`.412 [.350, .471] n=120`; `-` for none."""
    return "-" if interval is None else f"{figure(interval, signed=signed)} n={interval.n}"


def size_of(count: float) -> str:
    """Bytes: `812 B`, `3.4 MB`; powers of 1000."""
    for unit in ("B", "kB", "MB", "GB"):
        if abs(count) < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def duration(seconds: float) -> str:
    """`0.42 s`, `3 min 05 s`, `2 h 10 min`."""
    if seconds < 60:
        return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
