"""The part of a stored document that a reader asked for, by paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def selected(source: dict[str, Any], paths: tuple[str, ...] | None) -> dict[str, Any]:
    """The part of a document under the named paths; a path may end in `.*` or `*`. None: all of it."""
    if paths is None:
        return source
    return _selected(source, "", paths)


def _selected(source: Mapping[str, Any], prefix: str, paths: tuple[str, ...]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, value in source.items():
        path = f"{prefix}{name}"
        if any(_covers(pattern, path) for pattern in paths):
            result[name] = value
        elif any(pattern.startswith(f"{path}.") for pattern in paths):
            if isinstance(value, Mapping):
                result[name] = _selected(value, f"{path}.", paths)
            elif isinstance(value, list):
                result[name] = [_selected(item, f"{path}.", paths) for item in value if isinstance(item, Mapping)]
    return result


def touches(paths: tuple[str, ...] | None, path: str) -> bool:
    """Whether a reader of these paths gets (a part of) the value at `path`."""
    return paths is None or any(_covers(each, path) or path.startswith(f"{each}.") for each in paths)


def _covers(pattern: str, path: str) -> bool:
    if pattern.endswith("*"):
        return path.startswith(pattern[:-1])
    return path == pattern
