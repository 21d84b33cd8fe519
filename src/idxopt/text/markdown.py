"""Markdown by markdown-it-py: CommonMark with tables and front matter.

Headings inside quotes and lists are text, not structure. Beyond MAX_PARSED code points, MAX_PARSED_LINES lines,
and where markdown-it fails, the line scanner of `markdown_lines` answers instead.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from idxopt.text.blocks import Block, BlockKind, Collector, Heading, Lines, Parsed, Table, TableRow
from idxopt.text.front_matter import front_matter_end
from idxopt.text.html import parse_html
from idxopt.text.markdown_lines import scan_markdown

MAX_PARSED = 1_000_000
"""Code points of a text that markdown-it parses; longer ones go to the line scanner."""

MAX_PARSED_LINES = 50_000
"""Lines of a text that markdown-it parses."""

_INLINE_PIECE = 20_000
_DENSE_PIECE = 500  # the parser's time grows with the square of the number of open brackets and emphasis marks
_DENSE_MARKS = 2_000
_INLINE_MARKUP = re.compile(r"[\\`*_\[\]<>&!\n]")
# Text that begins with a letter is a paragraph, and so is each line after it that does (or goes on with one). Brackets
# that no destination follows are text (only a paragraph that begins with one defines references), and so are `<` and
# `&` that begin no tag, link or character reference.
_LETTER = re.compile(r"[A-Za-z]")
_MARKUP_WITHIN = re.compile(
    r"[\\`*_\r\n\0<&\]]"
    r"(?:(?<=[\\`*_\r\0])|(?<=[ \t]\n)|(?<=\n)[^A-Za-z\n]|(?<=<)[A-Za-z/!?]|(?<=&)[#A-Za-z]|(?<=\])\()"
)
_PARSER_ERRORS = (RecursionError, LookupError, ValueError, TypeError, AttributeError, AssertionError)
_CONTAINERS: dict[str, BlockKind] = {
    "bullet_list": "list",
    "ordered_list": "list",
    "list_item": "list_item",
    "blockquote": "quote",
}


def parse_markdown(text: str) -> Parsed:
    """Headings, blocks and plain text; total, and near linear."""
    begin = front_matter_end(text)
    if _too_long(text, begin):
        return scan_markdown(text, begin)
    try:
        return _Builder(text, begin).build().parsed(begin)
    except _PARSER_ERRORS:
        return scan_markdown(text, begin)


def plain_paragraphs(text: str) -> str | None:
    """`parse_markdown(text).plain` of a text that is nothing but paragraphs without inline markup; else None."""
    begin = front_matter_end(text)
    body = text[begin:]
    if not _LETTER.match(body) or _MARKUP_WITHIN.search(body) or _too_long(text, begin):
        return None
    if "\n" not in body:
        return body.strip()
    paragraphs = (paragraph.replace("\n", " ").strip() for paragraph in body.split("\n\n"))
    return "\n".join(filter(None, paragraphs))


def _too_long(text: str, begin: int) -> bool:
    return len(text) - begin > MAX_PARSED or text.count("\n") + text.count("\r") > MAX_PARSED_LINES


@cache
def _block_parser() -> MarkdownIt:
    return MarkdownIt("commonmark", {"maxNesting": 60}).enable("table").disable("inline")


@cache
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


@dataclass(slots=True)
class _Open:
    """A list, list item, quote or table on the stack."""

    kind: BlockKind
    token: Token
    place: int
    texts: list[str] = field(default_factory=list)
    linked: int = 0
    header: list[TableRow] = field(default_factory=list)
    body: list[TableRow] = field(default_factory=list)
    cells: list[str] = field(default_factory=list)


class _Builder:
    """Walks the block tokens. Their `map` counts lines as `Lines` does."""

    def __init__(self, text: str, begin: int) -> None:
        self._text, self._begin = text, begin
        self._lines = Lines(text, begin)
        self._out = Collector()
        self._stack: list[_Open] = []
        self._references: dict[str, Any] = {}

    def build(self) -> Collector:
        tokens = _block_parser().parse(self._text[self._begin :], self._references)
        for number, token in enumerate(tokens):
            self._take(token, tokens, number)
        return self._out

    def _take(self, token: Token, tokens: Sequence[Token], number: int) -> None:
        name, _, side = token.type.rpartition("_")
        if name in _CONTAINERS:
            if side == "open":
                self._stack.append(_Open(_CONTAINERS[name], token, self._out.reserve()))
            else:
                self._end_container()
        elif name in ("table", "thead", "tr"):
            self._table(name, side, token)
        elif token.type in ("heading_open", "paragraph_open"):
            self._leaf(token, tokens[number + 1].content)
        elif token.type == "inline" and self._stack and self._stack[-1].kind == "table":
            text, linked = self._inline(token.content)
            self._stack[-1].cells.append(text)
            self._stack[-1].linked += linked
        elif token.type in ("fence", "code_block"):
            start, end = self._span(token)
            info = token.info.strip()
            self._out.add(Block("code", start, end, token.content, len(self._stack), info=info))
        elif token.type == "html_block":
            self._html(token)

    def _span(self, token: Token) -> tuple[int, int]:
        first, last = token.map or (0, 0)
        return self._lines.start(first), self._lines.start(last)

    def _leaf(self, token: Token, content: str) -> None:
        text, linked = self._inline(content)
        start, end = self._span(token)
        depth = len(self._stack)
        if token.type == "heading_open":
            level = int(token.tag[1])
            if depth == 0:
                self._out.headings.append(Heading(level, text, start, end))
            self._out.add(Block("heading", start, end, text, depth, level=level))
        elif self._stack and self._stack[-1].kind == "list_item":
            self._stack[-1].texts.append(text)
            self._stack[-1].linked += linked
            self._out.say(text)
        else:
            self._out.add(Block("paragraph", start, end, text, depth, linked=linked))

    def _end_container(self) -> None:
        done = self._stack.pop()
        start, end = self._span(done.token)
        self._out.blocks[done.place] = Block(
            done.kind, start, end, "\n".join(done.texts), len(self._stack), linked=done.linked
        )

    def _table(self, name: str, side: str, token: Token) -> None:
        if name == "table" and side == "open":
            self._stack.append(_Open("table", token, self._out.reserve()))
        elif name == "table":
            done = self._stack.pop()
            table = Table(tuple(done.header), tuple(done.body))
            start, end = self._span(done.token)
            self._out.blocks[done.place] = Block(
                "table", start, end, table.text, len(self._stack), table=table, linked=done.linked
            )
            self._out.say(table.text)
        elif name == "tr" and side == "open":
            self._stack[-1].cells = []
            self._stack[-1].token.meta["row"] = self._span(token)
        elif name == "tr":
            held = self._stack[-1]
            held.body.append(TableRow(tuple(held.cells), *held.token.meta["row"]))
        elif side == "close":
            held = self._stack[-1]
            held.header, held.body = held.body, []

    def _html(self, token: Token) -> None:
        start, end = self._span(token)
        inner = parse_html(token.content)
        linked = sum(block.linked for block in inner.blocks)
        if inner.plain:
            self._out.add(Block("paragraph", start, end, inner.plain, len(self._stack), linked=linked))

    def _inline(self, content: str) -> tuple[str, int]:
        """Text without inline markup, and how many of its code points are link text."""
        if not _INLINE_MARKUP.search(content):
            return content.strip(), 0
        pieces = [self._inline_piece(piece) for piece in _cut(content)]
        return "".join(text for text, _ in pieces).strip(), sum(linked for _, linked in pieces)

    def _inline_piece(self, content: str) -> tuple[str, int]:
        tokens: list[Token] = []
        parser = _inline_parser()
        parser.inline.parse(content, parser, self._references, tokens)
        parts: list[str] = []
        linked, links = 0, 0
        for token in tokens:
            if token.type in ("link_open", "link_close"):
                links += token.nesting
                continue
            part = _inline_text(token)
            parts.append(part)
            linked += len(part) if links > 0 else 0
        return "".join(parts), linked


def _inline_text(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "image":
        return "".join(_inline_text(child) for child in token.children or ())
    return "" if token.type == "html_inline" else token.content


def _cut(content: str) -> list[str]:
    """Pieces of bounded length, cut behind white space if there is any: bounds the parser's work."""
    length = _DENSE_PIECE if sum(map(content.count, "[*_!`<&")) > _DENSE_MARKS else _INLINE_PIECE
    pieces = []
    start = 0
    while len(content) - start > length:
        end = max(content.rfind(space, start, start + length) for space in "\n ") + 1
        end = end if end > start else start + length
        pieces.append(content[start:end])
        start = end
    return [*pieces, content[start:]]
