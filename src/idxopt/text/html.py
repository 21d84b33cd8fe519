"""HTML: headings, blocks and plain text with offsets into the source.

Why not a library: html.parser takes quadratic time on unclosed tags and comments (55 s for 75 kB of `<a `) on Python
3.11, and lxml, html5lib and BeautifulSoup keep no offsets. The tokens are those of the HTML standard, found by one
regular expression in linear time; no tree is built, only what blocks need: the stack of open lists, tables and quotes.
Left out: comments, declarations, `head`, `script`, `style`, `template`, `noscript`, `svg`, and headings inside `pre`.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from idxopt.text.blocks import Block, BlockKind, Collector, Heading, Parsed, Table, TableRow, skip_bom

_MARKUP = re.compile(
    r"<!--(?:-?>|(?s:.)*?(?:--!?>|\Z))"
    r"|<[!?][^>]*+>?"
    r"|<(?P<close>/?)(?P<name>[A-Za-z][^\s/>]*+)"
    r"(?P<attributes>(?:[^\"'>]++|\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z))*+)(?P<end>>?)"
    r"|</[^>]*+>?"
)
_REFERENCE = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});?")
_LANGUAGE = re.compile(r"\b(?:language|lang|brush:|highlight-source)[- ]?([\w+#.-]{1,40})")
_SPACE = re.compile(r"[ \t\n\f\r]+")
_NOT_PLAIN = ["  ", "\t", "\n", "\f", "\r"]
_MAX_DEPTH = 200

_HIDDEN = frozenset(["script", "style", "template", "noscript", "svg", "head"])
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_CONTAINERS: dict[str, BlockKind] = {"ul": "list", "ol": "list", "dl": "list", "menu": "list", "blockquote": "quote"}
_ITEMS = frozenset(["li", "dt", "dd"])
_CELLS = frozenset(["td", "th"])
_BREAKING_NAMES = (
    "address article aside body button caption center details dialog div fieldset figcaption figure footer form header "
    "hgroup hr html legend main nav option p search section select summary table tbody tfoot thead tr pre"
)
_BREAKING = frozenset(_BREAKING_NAMES.split()) | {*_HEADINGS, *_CONTAINERS, *_ITEMS, *_CELLS}
_ENDS_HEADING = frozenset(["p", "table", "pre", *_CONTAINERS, *_HEADINGS])


@dataclass(slots=True)
class _Open:
    """An element on the stack; its block will stand at `place`."""

    kind: BlockKind
    start: int
    depth: int
    place: int = -1
    level: int = 0
    info: str = ""
    texts: list[str] = field(default_factory=list)
    linked: int = 0
    header: list[TableRow] = field(default_factory=list)
    body: list[TableRow] = field(default_factory=list)
    row_start: int = -1
    cells: list[list[str]] = field(default_factory=list)
    only_headers: bool = True


def parse_html(text: str) -> Parsed:
    """Headings, blocks and plain text of an HTML document or fragment; total and linear."""
    begin = skip_bom(text)
    builder = _Builder(text)
    for start, end, match in _tokens(text, begin):
        builder.take(start, end, match)
    return builder.finish().parsed(begin)


def plain_html(text: str) -> str:
    """`parse_html(text).plain`, at once where there is no tag."""
    begin = skip_bom(text)
    if "<" in text and _MARKUP.search(text, begin):
        return parse_html(text).plain
    return _collapsed(unescape(text[begin:]))


def _collapsed(text: str) -> str:
    if not any(map(text.__contains__, _NOT_PLAIN)):
        return text.strip(" ")
    return _SPACE.sub(" ", text).strip(" ")


def _tokens(text: str, position: int) -> Iterator[tuple[int, int, re.Match[str] | None]]:
    """Runs of character data (no match) and tags, without what is hidden."""
    head_seen = False
    while position < len(text):
        for match in _MARKUP.finditer(text, position):
            if match.start() > position:
                yield position, match.start(), None
            name = (match["name"] or "").lower()
            if name and not match["end"]:  # a tag that never ends is text
                yield match.start(), len(text), None
                return
            if name:
                yield match.start(), match.end(), match
            position = match.end()
            if name in _HIDDEN and not match["close"] and not (name == "head" and head_seen):
                head_seen = head_seen or name == "head"
                position = _hidden_end(text, name, position)
                break
        else:
            if position < len(text):
                yield position, len(text), None
            return


def _hidden_end(text: str, name: str, position: int) -> int:
    if text[position - 2] == "/":
        return position
    closing = r"</head[\s/>]|<body[\s/>]" if name == "head" else rf"</{name}[\s/>]"
    match = re.compile(closing, re.IGNORECASE).search(text, position)
    if match:
        return match.start()
    return position if name == "head" else len(text)


def unescape(text: str) -> str:
    """Character references replaced; those out of range stay or become U+FFFD as the standard says."""
    if "&" not in text:
        return text
    return _REFERENCE.sub(lambda match: html.unescape(match.group()), text)


class _Builder:
    """Takes tags and character data, makes blocks."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._out = Collector()
        self._stack: list[_Open] = []
        self._run: list[tuple[str, bool]] = []
        self._run_span = (0, 0)
        self._links = 0
        self._code: _Open | None = None
        self._heading: _Open | None = None

    def take(self, start: int, end: int, tag: re.Match[str] | None) -> None:
        """One token."""
        if tag is None:
            self._say(self._text[start:end], start, end)
            return
        name, closing = tag["name"].lower(), bool(tag["close"])
        if name == "br":
            self._say("\n", start, end)
        elif name == "a":
            self._links = max(0, self._links + (-1 if closing else 1))
        elif self._code is not None:
            self._inside_code(name, closing, tag["attributes"], end)
        elif name in _BREAKING:
            self._flush()
            if closing:
                self._close(name, start, end)
            else:
                self._begin(name, start, tag["attributes"])

    def finish(self) -> Collector:
        """Close what is open at the end of the text."""
        end = len(self._text)
        if self._code is not None:
            self._end_code(end)
        self._flush()
        self._end_heading(end)
        self._pop(0, end)
        return self._out

    def _say(self, text: str, start: int, end: int) -> None:
        self._run_span = (self._run_span[0] if self._run else start, end)
        self._run.append((text, self._links > 0))

    def _flush(self) -> None:
        """What was said since the last break, as a paragraph or as text of the innermost item, cell or heading."""
        if not self._run:
            return
        pieces = [(unescape(text), linked) for text, linked in self._run]
        self._run = []
        text = _collapsed("".join(piece for piece, _ in pieces))
        if not text:
            return
        linked = min(len(text), sum(len(_SPACE.sub(" ", piece)) for piece, is_link in pieces if is_link))
        top = self._stack[-1] if self._stack else None
        if self._heading is not None:
            self._heading.texts.append(text)
        elif top is not None and top.kind == "table":
            top.linked += linked
            (top.cells[-1] if top.cells else top.texts).append(text)
        elif top is not None and top.kind == "list_item":
            top.linked += linked
            top.texts.append(text)
            self._out.say(text)
        else:
            start, end = self._run_span
            self._out.add(Block("paragraph", start, end, text, len(self._stack), linked=linked))

    def _begin(self, name: str, start: int, attributes: str) -> None:
        if name in _ENDS_HEADING:
            self._end_heading(start)
        if name in _HEADINGS:
            self._heading = _Open("heading", start, len(self._stack), level=_HEADINGS[name])
        elif name == "pre":
            self._code = _Open("code", start, len(self._stack), info=_language(attributes))
        elif name in _CONTAINERS:
            self._push(_CONTAINERS[name], start)
        elif name in _ITEMS:
            self._close(name, start, start)
            self._push("list_item", start)
        elif name == "table":
            self._push("table", start)
        elif name == "tr":
            self._end_row(start)
            self._begin_row(start)
        elif name in _CELLS:
            self._begin_cell(name, start)

    def _push(self, kind: BlockKind, start: int) -> None:
        if len(self._stack) < _MAX_DEPTH:
            self._stack.append(_Open(kind, start, len(self._stack), self._out.reserve()))

    def _close(self, name: str, start: int, end: int) -> None:
        """An end tag or the next item: the element that it closes ends at `end`, those left open in it at `start`."""
        if name in _HEADINGS:
            self._end_heading(end)
        elif name in _ITEMS:
            self._close_innermost("list_item", {"list", "table", "quote"}, start, end)
        elif name in _CONTAINERS:
            self._close_innermost(_CONTAINERS[name], {"table"}, start, end)
        elif name == "table":
            self._close_innermost("table", set(), start, end)
        elif name == "tr":
            self._end_row(end)

    def _close_innermost(self, kind: BlockKind, barriers: set[str], start: int, end: int) -> None:
        for place in range(len(self._stack) - 1, -1, -1):
            if self._stack[place].kind == kind:
                self._pop(place + 1, start)
                self._pop(place, end)
                return
            if self._stack[place].kind in barriers:
                return

    def _pop(self, height: int, end: int) -> None:
        """Finish the elements above `height`."""
        while len(self._stack) > height:
            if self._stack[-1].kind == "table":
                self._end_row(end)
            done = self._stack.pop()
            table = Table(tuple(done.header), tuple(done.body)) if done.kind == "table" else None
            text = "\n".join([*done.texts, *([table.text] if table and table.text else [])])
            if table:
                self._out.say(text)
            self._out.blocks[done.place] = Block(
                done.kind, done.start, end, text, done.depth, table=table, linked=min(done.linked, len(text))
            )

    def _begin_row(self, start: int) -> None:
        if self._stack and self._stack[-1].kind == "table":
            self._stack[-1].row_start = start

    def _begin_cell(self, name: str, start: int) -> None:
        table = next((held for held in reversed(self._stack) if held.kind == "table"), None)
        if table is None:
            return
        self._pop(table.depth + 1, start)
        if table.row_start < 0:
            table.row_start = start
        table.only_headers = name == "th" and (table.only_headers or not table.cells)
        table.cells.append([])

    def _end_row(self, end: int) -> None:
        table = self._stack[-1] if self._stack else None
        if table is None or table.kind != "table":
            return
        if table.cells:
            row = TableRow(tuple(" ".join(cell) for cell in table.cells), table.row_start, end)
            (table.header if table.only_headers and not table.body else table.body).append(row)
        table.cells, table.row_start, table.only_headers = [], -1, True

    def _end_heading(self, end: int) -> None:
        done, self._heading = self._heading, None
        if done is None:
            return
        text = " ".join(done.texts)
        if text:
            self._out.headings.append(Heading(done.level, text, done.start, end))
            self._out.add(Block("heading", done.start, end, text, done.depth, level=done.level))

    def _inside_code(self, name: str, closing: bool, attributes: str, end: int) -> None:
        if self._code is None:
            return
        if name == "pre" and closing:
            self._end_code(end)
        elif name == "code" and not closing:
            self._code.info = self._code.info or _language(attributes)

    def _end_code(self, end: int) -> None:
        done, self._code = self._code, None
        if done is None:
            return
        text = "".join(unescape(piece) for piece, _ in self._run).replace("\r\n", "\n")
        self._run = []
        self._out.add(Block("code", done.start, end, text.removeprefix("\n"), done.depth, info=done.info))


def _language(attributes: str) -> str:
    match = _LANGUAGE.search(attributes[:1000])
    return match[1] if match else ""
