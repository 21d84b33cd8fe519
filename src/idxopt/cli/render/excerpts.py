"""A piece of a document's text around what the query asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from idxopt.cli.units import shortened
from idxopt.operators.paths import value_at

if TYPE_CHECKING:
    from idxopt.program.schema import Program

EXCERPT = 90
"""Characters of an excerpt."""
_TITLE = "title"
_PARSED = 200_000
_WORD = re.compile(r"\w+")
_BEFORE = 24
_LOOKED_AT = 500


def title_of(source: Mapping[str, Any], program: Program) -> str | None:
    """The title on one line; None where the program has no such field."""
    path = program.source.fields.get(_TITLE)
    return None if path is None else shortened(" ".join(_text(source, path).split()), EXCERPT)


def excerpt_of(source: Mapping[str, Any], program: Program, query: str) -> str:
    """The text around the query's terms, from the first field beside the title that has one of them.

    Terms count by their beginnings, for the index knows `rotate` and `rotation` as one. Without any: the beginning.
    """
    bodies = [_plain(text, program) for text in _bodies(source, program)]
    found = [(where, text) for text in bodies if (where := _best(text, query)) is not None]
    where, text = found[0] if found else (0, bodies[0] if bodies else "")
    return _cut(text, where)


def section_excerpt(text: str, program: Program, query: str) -> str:
    """The text of a section around the query's terms."""
    plain = _plain(text, program)
    return _cut(plain, _best(plain, query) or 0)


def _bodies(source: Mapping[str, Any], program: Program) -> Iterator[str]:
    for name, path in program.source.fields.items():
        text = _text(source, path)
        if name != _TITLE and text.strip():
            yield text


def _text(source: Mapping[str, Any], path: str) -> str:
    value = value_at(source, path)
    return value if isinstance(value, str) else ""


def _plain(text: str, program: Program) -> str:
    from idxopt.text.structure import plain_text  # its parsers are slow to import

    if program.source.markup != "text" and len(text) <= _PARSED:
        text = plain_text(text, program.source.markup)
    return " ".join(text.split())


def _best(text: str, query: str) -> int | None:
    """Where most of the query's terms stand together, longer ones counting more; the first such place."""
    stems = {word.lower()[: max(3, len(word) - 3)] for word in _WORD.findall(query)}
    every = (
        (found.start(), stem)
        for found in _WORD.finditer(text.lower())
        for stem in stems
        if found[0] == stem or (len(stem) >= 3 and found[0].startswith(stem))
    )
    hits = list(islice(every, _LOOKED_AT))
    best, gain = None, 0
    for start, _ in hits:
        near = {stem for place, stem in hits if start <= place < start + EXCERPT - _BEFORE}
        if (worth := sum(map(len, near))) > gain:
            best, gain = start, worth
    return best


def _cut(text: str, where: int) -> str:
    """Whole words from a little before `where`."""
    if where <= _BEFORE:
        return shortened(text, EXCERPT)
    start = text.rfind(" ", 0, where - _BEFORE) + 1
    return shortened(("..." if start else "") + text[start:], EXCERPT)
