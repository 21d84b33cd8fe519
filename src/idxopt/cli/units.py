"""Reading and writing times, sizes and counts; texts as a terminal may have them."""

from __future__ import annotations

import re

from idxopt.errors import UsageError

_TIME = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)?", re.ASCII)
_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SECONDS = {"ms": 0.001, "s": 1.0, None: 1.0, "m": 60.0, "h": 3_600.0}


def parse_seconds(text: str, option: str, *, like: str = "30s, 3m or 1h") -> float:
    """`30`, `30s`, `3m`, `1h` as seconds. `like`: examples for the remedy. Raises UsageError."""
    found = _TIME.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"{text!r} is no time", place=option, remedy=f"write it like {like}")
    return float(found[1]) * _SECONDS[found[2]]


def seconds_text(seconds: float) -> str:
    """`3 s`, `2 min`, `1.5 h`."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60)} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


def bytes_text(size: float) -> str:
    """`12 kB`, `3.4 MB`: powers of 1,000."""
    for unit in ("B", "kB", "MB"):
        if size < 1_000:
            return f"{size:.0f} {unit}" if size >= 10 or unit == "B" else f"{size:.1f} {unit}"
        size /= 1_000
    return f"{size:.1f} GB"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 index`, `2 indices`, `1,000 documents`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def harmless(text: str) -> str:
    """Without control characters, but for line ends and tabs: documents and queries may hold orders to the terminal."""
    return _CONTROLS.sub("", text)


def shortened(text: str, width: int) -> str:
    """At most `width` characters, with `...` for what was cut."""
    return text if len(text) <= width else text[: max(0, width - 3)] + "..."
