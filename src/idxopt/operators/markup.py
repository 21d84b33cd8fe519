"""Parsed documents, each parsed once for the steps that follow each other, and once for all in a study."""

from __future__ import annotations

from functools import lru_cache

from idxopt.operators.remembering import once
from idxopt.program.schema import Markup
from idxopt.text.blocks import Parsed
from idxopt.text.markdown_prime import prime_markdown
from idxopt.text.structure import Structure, parse, plain_text

_parse = lru_cache(maxsize=4)(parse)
_parse_for_prime = lru_cache(maxsize=4)(prime_markdown)


def parsed_markup(text: str, markup: Markup) -> Parsed:
    """Headings, blocks and plain text of a document."""
    return once(f"parsed {markup}", text, lambda text: _parse(text, markup))


def plain_of(text: str, markup: Markup) -> str:
    """The text without markup, as `parsed_markup` has it."""
    return plain_text(text, markup, parsed_markup)


def prime_markup(text: str, markup: Markup) -> Parsed:
    """Headings and plain text as PRIME's steps take them: Markdown by rules that an ingest script follows too."""
    return once("prime", text, _parse_for_prime) if markup == "markdown" else parsed_markup(text, markup)


def structure_of(text: str, markup: Markup) -> Structure:
    """The structure of a document."""
    parsed = parsed_markup(text, markup)
    first = parsed.headings[0].start if parsed.headings else 0
    return Structure(len(text), parsed.body_start, parsed.headings, not text[parsed.body_start : first].strip())
