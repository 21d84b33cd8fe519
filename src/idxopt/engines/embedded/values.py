"""Field values as OpenSearch reads them from JSON: numbers, booleans, keywords and dates. Pure functions."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np


class BadValue(ValueError):
    """A value that its field cannot hold; the message is a reason as a server would give it."""


INTEGER_BITS: Mapping[str, int] = {"byte": 8, "short": 16, "integer": 32, "long": 64}

MAX_TERM_BYTES = 32_766
"""Lucene's limit for one term."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND = timedelta(milliseconds=1)
_EPOCH_MILLIS = re.compile(r"[+-]?\d+(?:\.\d+)?")
_DATE = re.compile(
    r"(?P<year>\d{4})(?:-(?P<month>\d{2})(?:-(?P<day>\d{2})"
    r"(?:T(?:(?P<hour>\d{2})(?::(?P<minute>\d{2})(?::(?P<second>\d{2})(?:[.,](?P<fraction>\d{1,9}))?)?)?"
    r"(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)?)?)?)?)?"
)


def as_text(value: Any) -> str:
    """A JSON scalar as the text that an engine indexes for it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    raise BadValue(f"expected a scalar, found {_kind(value)}")


def as_integer(value: Any, bits: int) -> int:
    """A whole number; decimals are cut off as an engine's `coerce` does."""
    number = _number(value)
    if isinstance(number, float):
        if not math.isfinite(number):
            raise BadValue(f"{value!r} is not a finite number")
        number = math.trunc(number)
    if not -(1 << (bits - 1)) <= number < 1 << (bits - 1):
        raise BadValue(f"{value!r} is out of range for a number of {bits} bits")
    return number


def as_double(value: Any) -> float:
    """A double."""
    number = float(_number(value))
    if not math.isfinite(number):
        raise BadValue(f"{value!r} is not a finite number")
    return number


def as_float(value: Any) -> float:
    """A single-precision number, as a double."""
    number = as_double(value)
    if abs(number) > float(np.finfo(np.float32).max):
        raise BadValue(f"{value!r} is out of range for a float")
    return float(np.float32(number))


def as_boolean(value: Any) -> int:
    """1 or 0 from true, false, their names, and the empty string (false)."""
    if value is True or value == "true":
        return 1
    if value is False or (isinstance(value, str) and value in {"false", ""}):
        return 0
    raise BadValue(f"{value!r} is not a boolean: only true and false are")


def as_date(value: Any, *, round_up: bool = False) -> int:
    """Milliseconds since 1970 from `strict_date_optional_time||epoch_millis`.

    `round_up`: a missing time is the end of the day, as in `lte` and `gt` of a range; a missing month or day is the
    first in any case, as on a server.
    """
    text = as_text(value)
    match = _DATE.fullmatch(text)
    if match is not None:
        return _calendar(text, match.groupdict(), round_up)
    if _EPOCH_MILLIS.fullmatch(text):
        number = math.floor(float(text)) if "." in text else int(text)
        if abs(number) < 1 << 62:
            return number
    raise BadValue(f"{text!r} is not a date: use ISO 8601 such as 2024-05-31T12:00:00Z, or milliseconds since 1970")


def _calendar(text: str, parts: Mapping[str, str | None], round_up: bool) -> int:
    def part(name: str, first: int, last: int) -> int:
        digits = parts[name]
        return int(digits) if digits is not None else (last if round_up else first)

    try:
        moment = datetime(
            *(part("year", 1, 1), part("month", 1, 1), part("day", 1, 1)),
            *(part("hour", 0, 23), part("minute", 0, 59), part("second", 0, 59)),
            tzinfo=UTC,
        )
    except ValueError as error:
        raise BadValue(f"{text!r} is not a date: {error}") from error
    fraction = parts["fraction"]
    milliseconds = int(fraction.ljust(3, "0")[:3]) if fraction is not None else (999 if round_up else 0)
    return (moment - _EPOCH) // _MILLISECOND + milliseconds - _zone_milliseconds(parts["zone"])


def _zone_milliseconds(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return (-minutes if zone[0] == "-" else minutes) * 60_000


def _number(value: Any) -> int | float:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise BadValue(f"expected a number, found {_kind(value)}")
    if not isinstance(value, str):
        return value
    try:
        return int(value)
    except ValueError:
        pass
    try:
        return float(value)
    except ValueError:
        raise BadValue(f"{value!r} is not a number") from None


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return {bool: "a boolean", dict: "an object", list: "an array"}.get(type(value), type(value).__name__)


def as_term(value: Any) -> bytes:
    """The indexed term of a keyword."""
    term = as_text(value).encode("utf-8", "replace")
    if len(term) > MAX_TERM_BYTES:
        raise BadValue(f"a keyword of {len(term)} bytes is longer than the limit of {MAX_TERM_BYTES}")
    return term


_NUMERIC: Mapping[str, Callable[[Any], int | float]] = {
    "date": as_date,
    "boolean": as_boolean,
    "double": as_double,
    "float": as_float,
    **{kind: lambda value, bits=bits: as_integer(value, bits) for kind, bits in INTEGER_BITS.items()},  # type: ignore[misc]
}


def as_number(kind: str, value: Any) -> int | float:
    """The stored number of a value in a field of a numeric kind, boolean or date."""
    return _NUMERIC[kind](value)


NUMERIC_KINDS = frozenset(_NUMERIC)
