"""`discard`: takes noise out of a field, or whole fields out of the rows.

- `phrases`: exact substrings, case-sensitive, wherever they stand (inside words too); from left to right, the longest
  phrase that fits at a place; what surrounds them stays as it is.
- `regex`: matches of an RE2 pattern.
- `repeated_lines`: lines that stand in at least `min_docs` documents of the corpus, compared without the white space
  around them. Headings, code fences and lines without a letter or digit stay.
- `heading`, `references`, `footers`: whole sections, with the sections below them, by the text of their heading
  (without regard to case, numbers before it and punctuation after it).
- `navigation`: paragraphs, lists and tables of which more than `link_density` is the text of links.
- `fields`: the fields; the primary view still stores the source as it is.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from idxopt.operators.counting import is_counted, line_digest
from idxopt.operators.markup import parsed_markup
from idxopt.operators.outline import section_end, without_spans
from idxopt.operators.phrases import phrase_pattern
from idxopt.operators.row import Row
from idxopt.operators.tables import Tables
from idxopt.operators.transform import Context, Transform, rewriting, without_field
from idxopt.program.patterns import compile_replacement
from idxopt.program.schema import Markup
from idxopt.program.steps import Discard
from idxopt.text.blocks import Block

Rewrite = Callable[[str], str]

REFERENCES = (
    "bibliography", "citations", "external links", "footnotes", "further reading", "literature", "literature cited",
    "notes and references", "reference", "reference list", "references", "references and notes", "related links",
    "see also", "sources", "works cited",
)  # fmt: skip
FOOTERS = (
    "about this page", "contact", "contact us", "copyright", "disclaimer", "feedback", "footer", "helpful links",
    "last updated", "legal", "legal notice", "license", "more information", "next steps", "privacy policy",
    "related articles", "related content", "related pages", "related topics", "share this page", "terms of use",
    "was this helpful", "was this page helpful",
)  # fmt: skip

_NUMBERING = re.compile(r"^(?:[0-9]+(?:\.[0-9]+)*[.)]?|[ivxlc]+[.)]|[a-z][.)])\s+")
_CONTENT = frozenset({"paragraph", "table", "list", "quote"})


def compile_discard(step: Discard, context: Context) -> Transform:
    """The step as a function over rows."""
    if step.span.fields is not None:
        names = sorted(set(step.span.fields))
        return lambda rows: [_without(row, names) for row in rows]
    return rewriting((step.field,), _rewrite(step, context))


def _without(row: Row, names: Sequence[str]) -> Row:
    for name in names:
        row = without_field(row, name)
    return row


def _rewrite(step: Discard, context: Context) -> Rewrite:
    span = step.span
    if span.phrases is not None:
        pattern = phrase_pattern(span.phrases)
        return lambda text: pattern.sub("", text)
    if span.regex is not None:
        return compile_replacement(span.regex, "")
    if span.repeated_lines is not None:
        return without_repeated_lines(context.tables, step.field, span.repeated_lines.min_docs)
    if span.navigation is not None:
        density = span.navigation.link_density
        return lambda text: without_navigation(text, context.markup, density)
    names = span.heading if span.heading is not None else REFERENCES if span.references else FOOTERS
    wanted = frozenset(map(heading_key, names))
    return lambda text: without_sections(text, context.markup, wanted)


def without_repeated_lines(tables: Tables, field: str, min_docs: int) -> Rewrite:
    """Takes lines out that the table counted in at least `min_docs` documents."""
    repeated = {line for line, count in tables.lines.get(field, {}).items() if count >= min_docs}

    def rewrite(text: str) -> str:
        if not repeated:
            return text
        lines = text.split("\n")
        kept = [line for line in lines if not (is_counted(line) and line_digest(line) in repeated)]
        return text if len(kept) == len(lines) else "\n".join(kept)

    return rewrite


def heading_key(text: str) -> str:
    """A heading as it is compared: lower case, without numbering and outer punctuation, one space between words."""
    key = " ".join(text.casefold().split())
    return _NUMBERING.sub("", key).strip(" .:?!*_#-")


def without_sections(text: str, markup: Markup, wanted: frozenset[str]) -> str:
    """Takes out the sections whose heading is among `wanted` (as `heading_key`)."""
    headings = parsed_markup(text, markup).headings
    spans = [
        (heading.start, section_end(headings, number, len(text)))
        for number, heading in enumerate(headings)
        if heading_key(heading.text) in wanted
    ]
    return without_spans(text, spans)


def without_navigation(text: str, markup: Markup, density: float) -> str:
    """Takes out the outermost blocks of whose text more than `density` is the text of links."""
    spans: list[tuple[int, int]] = []
    for blocks in _outermost(parsed_markup(text, markup).blocks):
        leaves = [block for block in blocks if block.kind not in ("list", "quote")]
        length = sum(len(block.text) for block in leaves)
        if blocks[0].kind in _CONTENT and length and sum(block.linked for block in leaves) > density * length:
            spans.append((blocks[0].start, blocks[0].end))
    return without_spans(text, spans)


def _outermost(blocks: Iterable[Block]) -> Iterator[Sequence[Block]]:
    """Each outermost block with the blocks inside it."""
    group: list[Block] = []
    for block in blocks:
        if block.depth == 0 and group:
            yield group
            group = []
        group.append(block)
    if group:
        yield group
