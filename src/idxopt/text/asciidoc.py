"""AsciiDoc: sections, blocks and plain text, line by line. No maintained Python library parses AsciiDoc.

As Asciidoctor does: a section title is a line of one to six `=` (or `#`), white space and text that begins a block at
the top level, so not inside delimited blocks (listing `----`, literal `....`, comment `////`, passthrough `++++`,
fence, example `====`, sidebar `****`, quote `____`, open `--`, table `|===`), within a paragraph, or below
`[discrete]`. The level is the number of signs. Underlined titles, includes and conditionals are not followed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from idxopt.text.asciidoc_tables import read_table
from idxopt.text.blocks import Block, Collector, Heading, Lines, Parsed, skip_bom
from idxopt.text.html import parse_html
from idxopt.text.inline import strip_asciidoc

_TITLE = re.compile(r"(?P<marks>={1,6}|#{1,6})[ \t]+(?P<text>\S.*)$", re.DOTALL)
_VERBATIM = re.compile(r"(?:-{4,}|\.{4,}|/{4,}|\+{4,}|```[^\s`]*)$")
_COMPOUND = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--)$")
_TABLE = re.compile(r"[|!]={3,}$")
_ATTRIBUTES = re.compile(r"\[[^\[\]]*\]$|\[\[[^\[\]]*\]\]$")
_SILENT = re.compile(r"//(?!/)|:!?\w[\w-]*!?:(?:[ \t]|$)|[a-z]\w*::\S*\[.*\]$|(?:'''|<<<|---|\*\*\*|- - -|\* \* \*)$")
_BLOCK_TITLE = re.compile(r"\.[^\s.]")
_ITEM = re.compile(
    r"[ \t]*(?P<marker>-|\*{1,5}|\.{1,5}|\d{1,9}\.|[a-zA-Z]\.|<(?:\d{1,9}|\.)>)[ \t]+(?P<text>\S.*)$", re.DOTALL
)
_TERM = re.compile(
    r"[ \t]*(?P<text>[^\s:;](?:[^:;]|[:;](?![:;]))*)(?P<marker>:{2,4}|;;)(?:[ \t]+(?P<rest>.*))?$", re.DOTALL
)
_CODE_STYLES = frozenset(["source", "listing", "literal", ""])
_MAX_DEPTH = 50


@dataclass(slots=True)
class _List:
    """The list being read; markers from the outermost to the current one."""

    place: int
    start: int
    depth: int
    markers: list[str] = field(default_factory=list)
    items: list[_Item] = field(default_factory=list)


@dataclass(slots=True)
class _Item:
    place: int
    start: int
    depth: int
    texts: list[str] = field(default_factory=list)
    linked: int = 0


@dataclass(slots=True)
class _Compound:
    """An open example, sidebar, quote or open block, and the list that goes on behind it."""

    delimiter: str
    place: int
    start: int
    outer: _List | None


def parse_asciidoc(text: str) -> Parsed:
    """Headings, blocks and plain text; total and near linear."""
    begin = skip_bom(text)
    reader = _Reader(Lines(text, begin))
    reader.read()
    return reader.out.parsed(begin)


class _Reader:
    """Reads blocks; a method for a kind of block takes the line where it begins and returns the one behind it."""

    def __init__(self, lines: Lines) -> None:
        self.out = Collector()
        self._lines = lines
        self._compounds: list[_Compound] = []
        self._list: _List | None = None
        self._attached = False
        self._attributes = ""

    def read(self) -> None:
        at = 0
        while at < len(self._lines):
            line = self._line(at)
            at = self._block(line, at) if line else at + 1
        while self._compounds:
            self._close(self._compounds[-1].delimiter, at)
        self._end_list(at)

    def _line(self, at: int) -> str:
        return self._lines[at].rstrip()

    def _block(self, line: str, at: int) -> int:
        if _SILENT.match(line):
            return at + 1
        if line == "+" and self._list is not None:
            self._attached = True
            return at + 1
        if _ATTRIBUTES.match(line):
            self._attributes = line[1:-1]
            return at + 1
        if _COMPOUND.match(line):
            return self._compound(line, at)
        if match := _ITEM.match(line) or _TERM.match(line):
            return self._item(match, at)
        if not self._attached:
            self._end_list(at)
        if _BLOCK_TITLE.match(line):
            self._paragraph_text(line[1:], at, at + 1)
            return at + 1
        end = self._leaf(line, at)
        self._attached, self._attributes = False, ""
        return end

    def _leaf(self, line: str, at: int) -> int:
        if _VERBATIM.match(line):
            return self._verbatim(line, at)
        if _TABLE.match(line):
            return self._table(line, at)
        if match := _TITLE.match(line):
            return self._title(match, at)
        return self._paragraph(line, at)

    def _span(self, at: int, end: int) -> tuple[int, int]:
        return self._lines.start(at), self._lines.start(end)

    @property
    def _depth(self) -> int:
        return self._list.items[-1].depth + 1 if self._list and self._list.items else len(self._compounds)

    def _style(self) -> tuple[str, str]:
        """Style and second attribute of the block attribute line above: `[source,python]`."""
        parts = [part.strip() for part in self._attributes.split(",")]
        style = re.split(r"[%#.]", parts[0], maxsplit=1)[0]
        return style, parts[1] if len(parts) > 1 and "=" not in parts[1] else ""

    def _title(self, match: re.Match[str], at: int) -> int:
        marks, (start, end) = match["marks"], self._span(at, at + 1)
        source = match["text"].rstrip()
        closed = source.removesuffix(marks)
        text, _ = strip_asciidoc(closed.rstrip() if closed[-1:].isspace() else source)
        section = not self._compounds and not self._attached and self._style()[0] not in ("discrete", "float")
        first = not self.out.blocks
        if section:
            self.out.headings.append(Heading(len(marks), text, start, end))
        self.out.add(Block("heading", start, end, text, self._depth, level=len(marks)))
        return self._header_end(at + 1) if section and first and len(marks) == 1 else at + 1

    def _header_end(self, at: int) -> int:
        """Behind the author, revision and attribute lines below a document's title."""
        while at < len(self._lines) and self._line(at):
            at += 1
        return at

    def _verbatim(self, line: str, at: int) -> int:
        closing = "```" if line.startswith("```") else line
        end = at + 1
        while end < len(self._lines) and self._line(end) != closing:
            end += 1
        body = [self._lines[number] for number in range(at + 1, min(end, len(self._lines)))]
        end = min(end + 1, len(self._lines))
        if line[0] == "+":
            self._paragraph_text(parse_html("\n".join(body)).plain, at, end, markup=False)
        elif line[0] != "/":
            self._code(body, at, end, line.removeprefix("```") if closing == "```" else "")
        return end

    def _code(self, body: list[str], at: int, end: int, info: str = "") -> None:
        style, language = self._style()
        info = info or (language if style in _CODE_STYLES else "")
        text = "".join(f"{line}\n" for line in body)
        self.out.add(Block("code", *self._span(at, end), text, self._depth, info=info))

    def _table(self, line: str, at: int) -> int:
        end = at + 1
        while end < len(self._lines) and self._line(end) != line:
            end += 1
        rows = [(self._line(number), *self._span(number, number + 1)) for number in range(at + 1, end)]
        end = min(end + 1, len(self._lines))
        table = read_table(rows, line[0], self._attributes)
        self.out.add(Block("table", *self._span(at, end), table.text, self._depth, table=table))
        return end

    def _compound(self, line: str, at: int) -> int:
        if any(held.delimiter == line for held in self._compounds):
            self._close(line, at + 1)
        elif len(self._compounds) < _MAX_DEPTH:
            if not self._attached:
                self._end_list(at)
            place = self.out.reserve()
            self._compounds.append(_Compound(line, place, self._lines.start(at), self._list))
            self._list = None
        self._attached, self._attributes = False, ""
        return at + 1

    def _close(self, delimiter: str, end: int) -> None:
        """Close the compound block of that delimiter, and those left open inside it."""
        while True:
            self._end_list(end)
            done = self._compounds.pop()
            self._list = done.outer
            if done.delimiter[0] == "_":
                stop = self._lines.start(end)
                self.out.blocks[done.place] = Block("quote", done.start, stop, depth=len(self._compounds))
            if done.delimiter == delimiter:
                return

    def _item(self, match: re.Match[str], at: int) -> int:
        start = self._lines.start(at)
        if self._list is None:
            self._list = _List(self.out.reserve(), start, len(self._compounds))
        held, marker = self._list, re.sub(r"\w+", "1", match["marker"])
        if marker in held.markers:
            del held.markers[held.markers.index(marker) + 1 :]
        else:
            held.markers.append(marker)
        self._end_items(held.depth + len(held.markers), start)
        item = _Item(self.out.reserve(), start, held.depth + len(held.markers))
        held.items.append(item)
        end = self._text_end(at + 1)
        lines = [match["text"], match.groupdict().get("rest") or "", *(self._line(n) for n in range(at + 1, end))]
        self._attached, self._attributes = False, ""
        self._paragraph_text(" ".join(line.strip() for line in lines if line), at, end)
        return end

    def _end_items(self, depth: int, end: int) -> None:
        """Finish the open items at `depth` and deeper."""
        while self._list and self._list.items and self._list.items[-1].depth >= depth:
            done = self._list.items.pop()
            text = "\n".join(done.texts)
            self.out.blocks[done.place] = Block("list_item", done.start, end, text, done.depth, linked=done.linked)

    def _end_list(self, at: int) -> None:
        if self._list is None:
            return
        end = self._lines.start(at)
        self._end_items(0, end)
        self.out.blocks[self._list.place] = Block("list", self._list.start, end, depth=self._list.depth)
        self._list = None

    def _text_end(self, at: int) -> int:
        """Where a paragraph ends whose next line is `at`."""
        while at < len(self._lines):
            line = self._line(at)
            if not line or (line == "+" and self._list) or _VERBATIM.match(line) or _COMPOUND.match(line):
                break
            if (
                _TABLE.match(line)
                or _ATTRIBUTES.match(line)
                or (self._list and (_ITEM.match(line) or _TERM.match(line)))
            ):
                break
            at += 1
        return at

    def _paragraph(self, line: str, at: int) -> int:
        end = self._text_end(at + 1)
        lines = [self._lines[number] for number in range(at, end)]
        if line[0] in " \t" or (self._attributes and self._style()[0] in _CODE_STYLES - {""}):
            self._code(lines, at, end)
        else:
            kept = (held.strip() for held in lines if not held.startswith("//"))
            self._paragraph_text(" ".join(kept), at, end)
        return end

    def _paragraph_text(self, source: str, at: int, end: int, *, markup: bool = True) -> None:
        text, linked = strip_asciidoc(source) if markup else (source, 0)
        if self._list and self._list.items:
            item = self._list.items[-1]
            item.texts.append(text)
            item.linked += linked
            self.out.say(text)
        elif text:
            self.out.add(Block("paragraph", *self._span(at, end), text, self._depth, linked=linked))
