"""Numbers, units and dates in one spelling: what a reader writes in many ways becomes one token sequence.

Only what can be read in one way is rewritten: `03/04/2024` (day or month first?) stays as it is, values are never
converted, and digits are ASCII digits.
"""

from __future__ import annotations

import calendar
import re

# Every pattern but one begins with a digit, what stands before it is looked at behind it: `re` skips to digits quickly.
_SEPARATORS = ",'\u2019_\u00a0\u2009\u202f"
_NUMBER = re.compile(
    rf"[0-9](?<![\w.,].)[0-9]{{0,2}}([{_SEPARATORS}])"
    r"(?:(?P<rest>[0-9]{3}(?:\1[0-9]{3})*+)(?P<fraction>\.[0-9]++)?(?!\w|\1[0-9])|(?:[0-9]{3}\1)++)"
)
"""Or the groups of what is no number, but for the last: each further one would be read to the same end."""

_UNITS = {
    "b": ("byte", "bytes"),
    "kb": ("kB", "KB", "kb", "kilobyte", "kilobytes"),
    "mb": ("MB", "mb", "megabyte", "megabytes"),
    "gb": ("GB", "gb", "gigabyte", "gigabytes"),
    "tb": ("TB", "tb", "terabyte", "terabytes"),
    "pb": ("PB", "pb", "petabyte", "petabytes"),
    "kib": ("KiB", "kib", "kibibyte", "kibibytes"),
    "mib": ("MiB", "mib", "mebibyte", "mebibytes"),
    "gib": ("GiB", "gib", "gibibyte", "gibibytes"),
    "tib": ("TiB", "tib", "tebibyte", "tebibytes"),
    "kbps": ("kbps", "Kbps", "kbit/s", "kilobits per second"),
    "mbps": ("Mbps", "mbps", "Mbit/s", "megabits per second"),
    "gbps": ("Gbps", "gbps", "Gbit/s", "gigabits per second"),
    "ns": ("ns", "nanosecond", "nanoseconds"),
    "us": ("us", "\u00b5s", "\u03bcs", "microsecond", "microseconds"),
    "ms": ("ms", "msec", "millisecond", "milliseconds"),
    "s": ("s", "sec", "secs", "second", "seconds"),
    "min": ("min", "mins", "minute", "minutes"),
    "h": ("h", "hr", "hrs", "hour", "hours"),
    "d": ("day", "days"),
    "hz": ("Hz", "hz", "hertz"),
    "khz": ("kHz", "KHz", "khz", "kilohertz"),
    "mhz": ("MHz", "mhz", "megahertz"),
    "ghz": ("GHz", "ghz", "gigahertz"),
    "mg": ("mg", "milligram", "milligrams"),
    "g": ("g", "gram", "grams"),
    "kg": ("kg", "kilogram", "kilograms", "kilo", "kilos"),
    "ml": ("ml", "mL", "millilitre", "millilitres", "milliliter", "milliliters"),
    "l": ("l", "L", "litre", "litres", "liter", "liters"),
    "mm": ("mm", "millimetre", "millimetres", "millimeter", "millimeters"),
    "cm": ("cm", "centimetre", "centimetres", "centimeter", "centimeters"),
    "m": ("m", "metre", "metres", "meter", "meters"),
    "km": ("km", "kilometre", "kilometres", "kilometer", "kilometers"),
    "%": ("%", "percent", "per cent"),
    "v": ("V", "volt", "volts"),
    "w": ("W", "watt", "watts"),
    "kw": ("kW", "kilowatt", "kilowatts"),
    "px": ("px", "pixel", "pixels"),
}
_CANONICAL = {spelling: unit for unit, spellings in _UNITS.items() for spelling in spellings}
_UNIT = re.compile(
    r"([0-9](?<![\w.,].)[0-9]*+(?:[.,][0-9]++)*+)([ \u00a0\u202f-]?)"
    rf"(?=[{re.escape(''.join(sorted({spelling[0] for spelling in _CANONICAL})))}])("
    + "|".join(re.escape(spelling) for spelling in sorted(_CANONICAL, key=lambda name: (-len(name), name)))
    + r")(?!\w)"
)

_MONTHS = {
    name.lower(): number
    for number, name in enumerate(
        "January February March April May June July August September October November December".split(), 1
    )
}
_MONTHS |= {name[:3]: number for name, number in _MONTHS.items()} | {"sept": 9}
_MONTH = "|".join(sorted(_MONTHS, key=lambda name: (-len(name), name)))
# What every date has: a year behind white space or a dot and before no letter, or before a dot or slash and a digit.
_YEAR = re.compile(r"[0-9](?:(?<=[\s.].)[0-9]{3}(?!\w)|[0-9]{3}[./][0-9])")
_DAY_AND_YEAR = re.compile(r"[0-9](?:st|nd|rd|th)?,?\s[0-9]{4}(?!\w)", re.IGNORECASE)
_MONTH_FIRST = re.compile(
    rf"(?<!\w)(?P<month>{_MONTH})\.?\s(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?,?\s(?P<year>[0-9]{{4}})(?!\w)",
    re.IGNORECASE,
)
_DATES = (
    re.compile(
        rf"(?P<day>[0-9](?<!\w.)[0-9]?)(?:st|nd|rd|th)?\s(?:of\s)?(?P<month>{_MONTH})\.?,?\s(?P<year>[0-9]{{4}})(?!\w)",
        re.IGNORECASE,
    ),
    _MONTH_FIRST,
    re.compile(r"(?P<year>[0-9](?<![\w./].)[0-9]{3})([./])(?P<month>[0-9]{1,2})\2(?P<day>[0-9]{1,2})(?!\w|\2[0-9])"),
    re.compile(r"(?P<day>[0-9](?<![\w.].)[0-9]?)\.(?P<month>[0-9]{1,2})\.(?P<year>[0-9]{4})(?!\w|\.[0-9])"),
)


def plain_numbers(text: str, *, keep_original: bool = False) -> str:
    """Thousands separators taken out: `1,234.5` becomes `1234.5`. One kind of separator a number."""

    def plain(match: re.Match[str]) -> str:
        if match["rest"] is None:
            return match.group()
        return _kept(match.group(), match.group().replace(match[1], ""), keep_original=keep_original)

    return _NUMBER.sub(plain, text)


def plain_units(text: str, *, keep_original: bool = False) -> str:
    """A number and its unit apart, the unit in one spelling: `5 kilobytes`, `5kB` and `5-KB` become `5 kb`."""

    def plain(match: re.Match[str]) -> str:
        number, _, unit = match.groups()
        return _kept(match.group(), f"{number} {_CANONICAL[unit]}", keep_original=keep_original)

    return _UNIT.sub(plain, text)


def iso_dates(text: str, *, keep_original: bool = False) -> str:
    """Dates as `2024-03-03`: `3 March 2024`, `Mar. 3rd, 2024`, `2024/3/3`, `3.3.2024`. Impossible ones stay."""

    def plain(match: re.Match[str]) -> str:
        year, day, name = int(match["year"]), int(match["day"]), match["month"].lower()
        month = int(name) if name.isdigit() else _MONTHS.get(name, 0)
        if not (year >= 1 and 1 <= month <= 12 and 1 <= day <= calendar.monthrange(year, month)[1]):
            return match.group()
        return _kept(match.group(), f"{year:04}-{month:02}-{day:02}", keep_original=keep_original)

    if not _YEAR.search(text):
        return text
    for pattern in _DATES:
        if pattern is not _MONTH_FIRST or _DAY_AND_YEAR.search(text):
            text = pattern.sub(plain, text)
    return text


def _kept(found: str, rewritten: str, *, keep_original: bool) -> str:
    return f"{found} {rewritten}" if keep_original and found != rewritten else rewritten
