"""`enrich heading_tree` (PRIME, metadata synthesis): the headings of a document as text and as structure.

The sections are those at level 2 (the most frequent level where there is no heading of level 2), with `depth` 3 also
those at level 3, where the first are at level 2. The sections partition the field's text; white space before the first
heading belongs to the first section. Markdown is read by the rules of `text.markdown_prime`. The text has a line a
section: `Install`, or `Install > Windows` for one inside another. `{into}_sections` lists every section with its id
(its number, from 0), heading path, and span in the field's text (code points); the text before the first heading is a
section without a path.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from idxopt.operators.markup import prime_markup
from idxopt.operators.outline import split_level
from idxopt.operators.row import Row
from idxopt.operators.transform import Adding, Context, Transform, text_in, with_field
from idxopt.program.schema import Markup
from idxopt.program.steps import HeadingTree
from idxopt.text.identifiers import WHITE_SPACE
from idxopt.text.structure import PRIME_LEVEL, Section, Structure

SEPARATOR = " > "


def compile_heading_tree(step: HeadingTree, context: Context) -> Transform:
    """The step as a function over rows."""
    return _Tree(step.into, lambda row: _tree(row, step, context.markup), step, context.markup)


@dataclass(frozen=True, slots=True)
class _Tree(Adding):
    """Its text, and beside it the sections."""

    step: HeadingTree
    markup: Markup

    def __call__(self, rows: list[Row]) -> list[Row]:
        return [_with_tree(row, self.step, self.markup) for row in rows]


def _tree(row: Row, step: HeadingTree, markup: Markup) -> str | None:
    text = text_in(row, step.field)
    if text is None:
        return None
    return _text_of(tree_sections(text, markup, step.depth)) if prime_markup(text, markup).headings else ""


def _with_tree(row: Row, step: HeadingTree, markup: Markup) -> Row:
    text = text_in(row, step.field)
    if text is None:
        return row
    found = tree_sections(text, markup, step.depth)
    row = with_field(row, step.into, _text_of(found))
    return with_field(row, f"{step.into}_sections", [_plain(section) for section in found])


def _text_of(sections: Iterable[Section]) -> str:
    return "\n".join(SEPARATOR.join(section.path) for section in sections if section.path)


def tree_sections(text: str, markup: Markup, depth: int, level: int = PRIME_LEVEL) -> tuple[Section, ...]:
    """The sections of the tree. Headings above its level (the document's own title) are in no path.

    `level`: another one than PRIME's, for reranking; `depth` is then at least that.
    """
    parsed = prime_markup(text, markup)
    top = split_level(parsed.headings, level)
    levels = () if top is None else range(top, depth + 1 if top == level else top + 1)
    headings = tuple(heading for heading in parsed.headings if heading.level in levels)
    first = headings[0].start if headings else 0
    blank_before = not text[parsed.body_start : first].strip(WHITE_SPACE)
    return Structure(len(text), parsed.body_start, headings, blank_before).sections


def _plain(section: Section) -> dict[str, Any]:
    return {"id": str(section.id), "path": list(section.path), "start": section.start, "end": section.end}
