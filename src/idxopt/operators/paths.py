"""Values at dotted paths of a source document, as the engines read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def value_at(source: Mapping[str, Any], path: str) -> Any:
    """The value at `path`, or None where there is none.

    Objects are followed by name; a key that holds the dots itself (`{"a.b": 1}`) is found too, after the nested form;
    in a list of objects the values of all of them are taken, in order, without nulls.
    """
    if path in source:
        return source[path]
    head, dot, rest = path.partition(".")
    while dot:
        if head in source:
            found = _inside(source[head], rest)
            if found is not None:
                return found
        following, dot, rest = rest.partition(".")
        head = f"{head}.{following}"
    return None


def _inside(value: Any, path: str) -> Any:
    if isinstance(value, Mapping):
        return value_at(value, path)
    if isinstance(value, list):
        found = [item for item in (_inside(item, path) for item in value) if item is not None]
        flat = [part for item in found for part in (item if isinstance(item, list) else [item])]
        return flat or None
    return None


def place(target: dict[str, Any], path: str, value: Any) -> None:
    """Sets `value` at `path` of `target`, making the objects on the way."""
    *outer, last = path.split(".")
    for name in outer:
        target = target.setdefault(name, {})
    target[last] = value
