"""Regular expressions of a program: RE2 only, so that none can take more than linear time or a bounded memory."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import re2

from idxopt.errors import ProgramError

MAX_MEMORY = 8 * 1024 * 1024
"""Bytes that RE2 may use for one compiled pattern."""

MAX_OUTPUT_FACTOR = 10
"""A replacement may make a text this many times longer, and no more (plus `MAX_OUTPUT_EXTRA` code points)."""

MAX_OUTPUT_EXTRA = 1_000_000


@lru_cache(maxsize=256)
def compile_pattern(pattern: str) -> Any:
    """The compiled RE2 pattern. Raises ProgramError where RE2 refuses it (back-references, look-around, too large)."""
    options = re2.Options()
    options.max_mem = MAX_MEMORY
    options.log_errors = False
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not RE2 syntax"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise ProgramError(
            f"RE2 cannot compile this regular expression: {text}",
            remedy="use RE2 syntax (no look-around, no back-references) and a small pattern",
        ) from error


@lru_cache(maxsize=256)
def compile_replacement(pattern: str, replacement: str) -> Callable[[str], str]:
    """A function that replaces every match of `pattern`.

    In `replacement`, `\\0` to `\\9` are groups (`\\0` the whole match, empty where unmatched), `\\\\` is a backslash.
    Raises ProgramError for a group that the pattern lacks. The function raises ProgramError when its result would be
    longer than ten times its input and a million code points.
    """
    compiled = compile_pattern(pattern)
    parts = _template(replacement, compiled.groups)

    def replace(text: str) -> str:
        pieces: list[str] = []
        position, length, limit = 0, 0, MAX_OUTPUT_FACTOR * len(text) + MAX_OUTPUT_EXTRA
        for match in compiled.finditer(text):
            start, end = match.span()
            added = [part if isinstance(part, str) else match.group(part) or "" for part in parts]
            pieces.append(text[position:start])
            pieces.extend(added)
            length += start - position + sum(map(len, added))
            if length > limit:
                raise ProgramError("a replacement makes the text too long", remedy="shorten the replacement")
            position = end
        if not pieces:
            return text
        pieces.append(text[position:])
        return "".join(pieces)

    return replace


def _template(replacement: str, groups: int) -> list[str | int]:
    parts: list[str | int] = []
    position = 0
    while (backslash := replacement.find("\\", position)) >= 0:
        parts.append(replacement[position:backslash])
        escaped = replacement[backslash + 1 : backslash + 2]
        if escaped == "\\":
            parts.append("\\")
        elif escaped and escaped in "0123456789":
            if int(escaped) > groups:
                raise ProgramError(
                    f"the replacement uses group {escaped}; the pattern has {groups}",
                    remedy="add the group, or use \\0",
                )
            parts.append(int(escaped))
        else:
            raise ProgramError(
                f"the replacement has a backslash before {escaped!r}",
                remedy="write \\\\ for a backslash, \\1 for a group",
            )
        position = backslash + 2
    parts.append(replacement[position:])
    return [part for part in parts if part != ""]
