"""Parsed documents, each parsed once for the steps that follow each other."""

from __future__ import annotations

from functools import lru_cache

from idxopt.program.schema import Markup
from idxopt.text.blocks import Heading, Parsed
from idxopt.text.structure import Structure, parse


@lru_cache(maxsize=4)
def parsed_markup(text: str, markup: Markup) -> Parsed:
    """Headings, blocks and plain text of a document."""
    return parse(text, markup)


def structure_of(text: str, markup: Markup, headings: tuple[Heading, ...] | None = None) -> Structure:
    """The structure of a document; by `headings` alone where they are given."""
    parsed = parsed_markup(text, markup)
    headings = parsed.headings if headings is None else headings
    first = headings[0].start if headings else 0
    return Structure(len(text), parsed.body_start, headings, not text[parsed.body_start : first].strip())
