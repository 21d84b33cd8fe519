"""The level that a document's sections have, where a section ends, and text with spans taken out of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from idxopt.text.blocks import Heading


def split_level(headings: Iterable[Heading], level: int) -> int | None:
    """`level` where a heading has it, else the most frequent level (of equals the outermost), else None."""
    levels = Counter(heading.level for heading in headings)
    if not levels:
        return None
    if level in levels:
        return level
    return min(levels, key=lambda found: (-levels[found], found))


def section_end(headings: Sequence[Heading], number: int, length: int) -> int:
    """Where the section of heading `number` ends, the sections below it included."""
    level = headings[number].level
    return next((other.start for other in headings[number + 1 :] if other.level <= level), length)


def without_spans(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """The text with the spans (which may overlap) taken out."""
    pieces: list[str] = []
    position = 0
    for start, end in sorted(spans):
        if start > position:
            pieces.append(text[position:start])
        position = max(position, end)
    pieces.append(text[position:])
    return "".join(pieces)
