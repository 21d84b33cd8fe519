"""The sections of a document: its headings cut the text into spans that partition it, in any of five markups."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from idxopt.text.asciidoc import parse_asciidoc
from idxopt.text.blocks import Block, Heading, Parsed
from idxopt.text.html import parse_html, plain_html
from idxopt.text.markdown import parse_markdown, plain_paragraphs
from idxopt.text.plain import parse_plain
from idxopt.text.rest import parse_rest

Markup = Literal["markdown", "html", "rest", "asciidoc", "text"]

PRIME_LEVEL = 2
"""The heading level whose sections PRIME works on."""


@dataclass(frozen=True, slots=True)
class Section:
    """One span of a text.

    `id` counts from 0 in the order of the text. `heading` and `level` are None and 0 for the text before the first
    heading; `path` holds the headings above it and its own. `start` to `end` is the whole section, `body_start` to
    `end` what stands behind its heading, and behind byte order mark and front matter.
    """

    id: int
    level: int
    path: tuple[str, ...]
    heading: str | None
    start: int
    end: int
    body_start: int


@dataclass(frozen=True, slots=True)
class Structure:
    """The headings of a text and the sections that they begin."""

    length: int
    body_start: int
    headings: tuple[Heading, ...]
    blank_before: bool

    @property
    def sections(self) -> tuple[Section, ...]:
        """A section for every heading, and one for text before the first; they partition the text."""
        return self._cut(self.headings)

    def section_level(self, level: int = PRIME_LEVEL) -> int | None:
        """The level at which `sections_at(level)` cuts.

        `level` itself where a heading has it; else the most frequent level of the document (the upper of two equally
        frequent ones), but none above `level`; None when there is no heading.
        """
        counts = Counter(heading.level for heading in self.headings)
        if not counts:
            return None
        if level in counts:
            return level
        frequent = min(counts, key=lambda candidate: (-counts[candidate], candidate))
        return max(level, frequent)

    def sections_at(self, level: int = PRIME_LEVEL) -> tuple[Section, ...]:
        """Sections that headings of `section_level(level)` and above begin; deeper headings stay inside them."""
        deepest = self.section_level(level)
        return self._cut([heading for heading in self.headings if deepest is not None and heading.level <= deepest])

    def _cut(self, headings: Sequence[Heading]) -> tuple[Section, ...]:
        if self.length == 0:
            return ()
        sections: list[Section] = []
        if not headings or not self._nothing_before(headings[0]):
            end = headings[0].start if headings else self.length
            sections.append(Section(0, 0, (), None, 0, end, min(self.body_start, end)))
        above: list[Heading] = []
        for place, heading in enumerate(headings):
            while above and above[-1].level >= heading.level:
                above.pop()
            above.append(heading)
            path = tuple(held.text for held in above)
            start = heading.start if sections else 0
            end = headings[place + 1].start if place + 1 < len(headings) else self.length
            sections.append(Section(len(sections), heading.level, path, heading.text, start, end, heading.end))
        return tuple(sections)

    def _nothing_before(self, heading: Heading) -> bool:
        return heading is self.headings[0] and self.blank_before


def structure(text: str, markup: Markup) -> Structure:
    """The heading structure of any text; never fails."""
    parsed = parse(text, markup)
    first = parsed.headings[0].start if parsed.headings else 0
    return Structure(len(text), parsed.body_start, parsed.headings, not text[parsed.body_start : first].strip())


def blocks(text: str, markup: Markup) -> tuple[Block, ...]:
    """The blocks of a text in its order; inner blocks follow the one that holds them."""
    return parse(text, markup).blocks


def parse(text: str, markup: Markup) -> Parsed:
    """Everything that the parser of the markup finds."""
    return _PARSERS[markup](text)


def plain_text(text: str, markup: Markup, parsed: Callable[[str, Markup], Parsed] = parse) -> str:
    """The text without markup: blocks on lines of their own, code and table cells kept, front matter left out.

    `parsed` stands in for `parse`: one that remembers what it found.
    """
    if markup == "html":
        return plain_html(text)
    plain = plain_paragraphs(text) if markup == "markdown" else None
    return parsed(text, markup).plain if plain is None else plain


_PARSERS: dict[Markup, Callable[[str], Parsed]] = {
    "markdown": parse_markdown,
    "html": parse_html,
    "rest": parse_rest,
    "asciidoc": parse_asciidoc,
    "text": parse_plain,
}
