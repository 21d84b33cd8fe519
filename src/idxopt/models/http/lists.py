"""Lists in answers whose items say by `index` which text they belong to."""

from __future__ import annotations

from typing import Any

from idxopt.errors import ModelError


def in_order(items: Any, texts: int, start: int, what: str, place: str) -> list[dict[str, Any]]:
    """The items in the order of the texts, every text exactly once. `start`: position of the first text.

    Raises ModelError naming the first text that has no item, or two.
    """
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ModelError(
            f"the answer holds no list of {what}s", place=place, remedy="check that the server speaks this interface"
        )
    found: dict[int, dict[str, Any]] = {}
    for item in items:
        index = item.get("index")
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < texts:
            raise ModelError(
                f"a {what} has the index {index!r:.40}, and {texts} texts were sent", place=place, remedy=_REMEDY
            )
        if index in found:
            raise _wrong(f"text {start + index} has two {what}s", start + index, place)
        found[index] = item
    for index in range(texts):
        if index not in found:
            message = f"{len(items)} {what}s came back for {texts} texts; text {start + index} has none"
            raise _wrong(message, start + index, place)
    return [found[index] for index in range(texts)]


_REMEDY = "check the model's server; nothing of this batch was kept"


def _wrong(message: str, position: int, place: str) -> ModelError:
    return ModelError(message, place=place, item=position, remedy=_REMEDY)
