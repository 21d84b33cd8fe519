"""What pydantic found wrong with a value, as a plain sentence and a remedy: the one place for programs, plans and
configuration.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import ErrorDetails

_SHAPES = {
    "model": ("is no JSON object", "write {...}"),
    "model_attributes": ("is no JSON object", "write {...}"),
    "dict": ("is no JSON object", "write {...}"),
    "list": ("is no list", "write [...]"),
    "tuple": ("is no list", "write [...]"),
    "string": ("is no text", "write it in quotes"),
    "bool": ("is neither true nor false", "write true or false, without quotes"),
    "int": ("is no whole number", "write a whole number, without quotes"),
    "float": ("is no number", "write a number, without quotes"),
    "finite_number": ("is no finite number", "write an ordinary number"),
}
_ENDINGS = ("_type", "_parsing", "_from_float", "_parsing_size")


def plain_words(error: ErrorDetails) -> tuple[str, str]:
    """(what is wrong, remedy), to be put behind the place or the value: `is no whole number`."""
    kind, context = error["type"], error.get("ctx", {})
    for ending in _ENDINGS:
        kind = kind.removesuffix(ending)
    if kind in _SHAPES:
        return _SHAPES[kind]
    if kind in ("literal_error", "enum"):
        return "is unknown", f"use {context['expected']}"
    if kind == "missing":
        return "is missing", "add it"
    if kind == "value_error":
        return _own_words(str(context["error"]))
    return _limits(kind, context) or (f"is not accepted ({error['msg']})", "correct the value")


def shown(value: Any) -> str:
    """A value as JSON, shortened."""
    text = f'"{value}"' if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def _own_words(text: str) -> tuple[str, str]:
    """A message of ours: `CAUSE: REMEDY`, or only what to do."""
    if text.startswith("give "):
        return text, "name one of them, and only one"
    cause, _, remedy = text.partition(": ")
    return cause, remedy


def _number(value: float) -> str:
    return f"{int(value):,}" if value == int(value) else f"{value:g}"


def _limits(kind: str, context: Mapping[str, Any]) -> tuple[str, str] | None:
    match kind:
        case "too_short" | "string_too_short":
            least = context["min_length"]
            what = "character" if kind.startswith("string") else "entry" if least == 1 else "entries"
            return "is empty" if least == 1 else "is too short", f"give at least {least} {what}"
        case "too_long" | "string_too_long":
            what = "characters" if kind.startswith("string") else "entries"
            return "is too long", f"give at most {context['max_length']:,} {what}"
        case "greater_than_equal":
            return "is too small", f"use {_number(context['ge'])} or more"
        case "greater_than":
            return "is too small", f"use a number above {_number(context['gt'])}"
        case "less_than_equal":
            return "is too large", f"use {_number(context['le'])} or less"
        case "less_than":
            return "is too large", f"use a number below {_number(context['lt'])}"
    return None
