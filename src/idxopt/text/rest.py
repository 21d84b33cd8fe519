"""reStructuredText: sections, blocks and plain text, line by line.

Why not docutils: few of its nodes carry positions, and it reads the files that directives name. The rules for titles
are its own: a line at the margin that begins a block, with an underline of one punctuation character (as long as the
title, or at least four), or between two equal such lines. A style's level is the order in which styles appear. What is
indented (literal blocks, directives, quotes) holds no section. The tests compare the sections with those of docutils.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from idxopt.text.blocks import Block, Collector, Heading, Lines, Parsed, skip_bom
from idxopt.text.inline import strip_rest
from idxopt.text.rest_tables import read_table, table_length

_ADORNMENT = re.compile(r"([!-/:-@\[-`{-~])\1*$")
_BULLET = re.compile(r"[-+*\u2022\u2023\u2043](?: +|$)")
_ORDINAL = r"(?:[A-Za-z]|\d{1,9}|[ivxlcdmIVXLCDM]{1,12}|#)"
_ENUMERATOR = re.compile(rf"(?:\({_ORDINAL}\)|{_ORDINAL}[.)])(?: +|$)")
_EXPLICIT = re.compile(r"\.\.(?: +|$)")
_DIRECTIVE = re.compile(r"\.\. +(?:\|[^|]*\| +)?(?P<name>[A-Za-z][\w.:+-]*?) ?::(?: +(?P<argument>.*))?$")
_FOOTNOTE = re.compile(r"\.\. +\[[^\]\s]+\] +")
_OPTION = re.compile(r" *:[\w-]+:(?: |$)")
_CODE_NAMES = (
    "code code-block sourcecode parsed-literal doctest testcode testoutput testsetup prompt math productionlist"
)
_CODE = frozenset(_CODE_NAMES.split())
_SILENT_NAMES = (
    "class contents currentmodule date default-role figure footer header highlight image include index literalinclude "
    "meta module raw replace role sectionauthor sectnum tabularcolumns target-notes toctree unicode"
)
_SILENT = frozenset(_SILENT_NAMES.split())
_MAX_DEPTH = 30


@dataclass(frozen=True, slots=True)
class _Line:
    """A line by its number in the text, without the margin of the block that holds it."""

    number: int
    text: str

    @property
    def indent(self) -> int:
        return len(self.text) - len(self.text.lstrip(" "))


@dataclass(slots=True)
class _Item:
    depth: int
    texts: list[str] = field(default_factory=list)
    linked: int = 0


def parse_rest(text: str) -> Parsed:
    """Headings, blocks and plain text; total and near linear."""
    begin = skip_bom(text)
    lines = Lines(text, begin)
    reader = _Reader(lines)
    reader.read([_Line(number, lines[number].expandtabs().rstrip()) for number in range(len(lines))], 0)
    return reader.out.parsed(begin)


class _Reader:
    """Reads blocks; a method for a kind of block takes the lines and where it begins, and returns where it ends."""

    def __init__(self, lines: Lines) -> None:
        self.out = Collector()
        self._source = lines
        self._styles: list[tuple[str, bool]] = []
        self._items: list[_Item] = []
        self._literal_follows = False

    def read(self, lines: list[_Line], depth: int) -> None:
        """The blocks of `lines`, whose margin is column 0."""
        at = 0
        while at < len(lines):
            if not lines[at].text:
                at += 1
                continue
            literal, self._literal_follows = self._literal_follows, False
            at = self._literal(lines, at, depth) if literal else self._block(lines, at, depth)

    def _block(self, lines: list[_Line], at: int, depth: int) -> int:
        line = lines[at].text
        if line[0] == " ":
            return self._indented(lines, at, depth)
        if _EXPLICIT.match(line):
            return self._explicit(lines, at, depth)
        if _BULLET.match(line):
            return self._list(lines, at, depth)
        if length := self._title(lines, at, depth):
            return at + length
        if length := table_length(lines[number].text for number in range(at, len(lines))):
            return self._table(lines, at, at + length, depth)
        if _is_enumerated(lines, at):
            return self._list(lines, at, depth)
        if line.startswith(">>> "):
            return self._code(lines, at, _paragraph_end(lines, at), depth)
        if _ADORNMENT.match(line) and len(line) >= 4:
            return at + 1
        return self._paragraph(lines, at, depth)

    def _span(self, lines: list[_Line], at: int, end: int) -> tuple[int, int]:
        return self._source.start(lines[at].number), self._source.start(lines[end - 1].number + 1)

    def _title(self, lines: list[_Line], at: int, depth: int) -> int:
        """How many lines the section title at `at` takes; 0 when there is none."""
        if depth > 0 or at + 1 >= len(lines):
            return 0
        first, second = lines[at].text, lines[at + 1].text
        overlined = bool(_ADORNMENT.match(first))
        if overlined and (at + 2 >= len(lines) or lines[at + 2].text != first or not second):
            return 0
        title, adornment = (second, first) if overlined else (first, second)
        if not _ADORNMENT.match(adornment) or (len(adornment) < 4 and _width(title.rstrip()) > len(adornment)):
            return 0
        style = (adornment[0], overlined)
        if style not in self._styles:
            self._styles.append(style)
        length = 3 if overlined else 2
        level, (start, end) = self._styles.index(style) + 1, self._span(lines, at, at + length)
        text, _ = strip_rest(title.strip())
        self.out.headings.append(Heading(level, text, start, end))
        self.out.add(Block("heading", start, end, text, level=level))
        return length

    def _paragraph(self, lines: list[_Line], at: int, depth: int) -> int:
        end = _paragraph_end(lines, at)
        source = " ".join(held.text.removeprefix("| ") for held in lines[at:end])
        if source.endswith("::"):
            self._literal_follows = True
            source = source[:-2] if source[:-2].endswith(" ") else source[:-1]
        if source != ":":
            self._say(source, *self._span(lines, at, end), depth)
        return end

    def _say(self, source: str, start: int, end: int, depth: int) -> None:
        text, linked = strip_rest(source.strip())
        if self._items and depth == self._items[-1].depth + 1:
            self._items[-1].texts.append(text)
            self._items[-1].linked += linked
            self.out.say(text)
        elif text:
            self.out.add(Block("paragraph", start, end, text, depth, linked=linked))

    def _literal(self, lines: list[_Line], at: int, depth: int) -> int:
        """What stands behind `::`: an indented block, or lines that all begin with the same punctuation character."""
        mark = lines[at].text[0]
        if mark == " ":
            return self._code(lines, at, _indented_end(lines, at), depth)
        if not _ADORNMENT.match(mark):
            return self._block(lines, at, depth)
        end = at
        while end < len(lines) and lines[end].text.startswith(mark):
            end += 1
        return self._code(lines, at, end, depth)

    def _code(self, lines: list[_Line], at: int, end: int, depth: int, info: str = "") -> int:
        code = "\n".join(held.text for held in _dedented(lines[at:end])).strip("\n")
        self.out.add(Block("code", *self._span(lines, at, end), code + "\n" if code else "", depth, info=info))
        return end

    def _indented(self, lines: list[_Line], at: int, depth: int) -> int:
        """A quote, or the body of a definition right below its term."""
        end = _indented_end(lines, at)
        inner = _dedented(lines[at:end])
        if depth >= _MAX_DEPTH:
            self._say(" ".join(held.text for held in inner), *self._span(lines, at, end), depth)
        elif at > 0 and lines[at - 1].text:
            self.read(inner, depth)
        else:
            place = self.out.reserve()
            self.read(inner, depth + 1)
            self.out.blocks[place] = Block("quote", *self._span(lines, at, end), depth=depth)
        return end

    def _explicit(self, lines: list[_Line], at: int, depth: int) -> int:
        """A directive, footnote, target or comment; of the last two nothing is kept."""
        end = at + 1 if at + 1 >= len(lines) else _indented_end(lines, at + 1)
        line, body = lines[at].text, _dedented(lines[at + 1 : end])
        if match := _DIRECTIVE.match(line):
            self._directive(match["name"].lower(), match["argument"] or "", lines[at], body, depth)
        elif (match := _FOOTNOTE.match(line)) and depth < _MAX_DEPTH:
            self.read([_Line(lines[at].number, line[match.end() :]), *body], depth)
        return end

    def _directive(self, name: str, argument: str, line: _Line, body: list[_Line], depth: int) -> None:
        options = 0
        while options < len(body) and _OPTION.match(body[options].text):
            options += 1
        content = _dedented(body[options:])
        if name in _SILENT or depth >= _MAX_DEPTH:
            return
        if name in _CODE:
            whole = [line, *content]
            start, end = self._span(whole, 0, len(whole))
            code = "\n".join(held.text for held in content).strip("\n")
            self.out.add(Block("code", start, end, code + "\n" if code else "", depth, info=argument))
            return
        if argument:
            self._say(argument, *self._span([line], 0, 1), depth)
        self.read(content, depth + 1)

    def _list(self, lines: list[_Line], at: int, depth: int) -> int:
        bullet = lines[at].text[0] if _BULLET.match(lines[at].text) else ""
        place, end, first = self.out.reserve(), at, at
        while end < len(lines) and self._continues(lines, end, bullet):
            at, end = end, _indented_end(lines, end + 1)
            self._item(lines, at, end, depth + 1)
        while not lines[end - 1].text:
            end -= 1
        self.out.blocks[place] = Block("list", *self._span(lines, first, end), depth=depth)
        return end

    def _continues(self, lines: list[_Line], at: int, bullet: str) -> bool:
        if bullet:
            return lines[at].text.startswith(bullet) and bool(_BULLET.match(lines[at].text))
        return _is_enumerated(lines, at)

    def _item(self, lines: list[_Line], at: int, end: int, depth: int) -> None:
        marker = _BULLET.match(lines[at].text) or _ENUMERATOR.match(lines[at].text)
        width = marker.end() if marker else 0
        rest = [_Line(held.number, held.text[min(width, held.indent) :]) for held in lines[at + 1 : end]]
        place, item = self.out.reserve(), _Item(depth)
        self._items.append(item)
        inner = [_Line(lines[at].number, lines[at].text[width:]), *rest]
        if depth >= _MAX_DEPTH:
            self._say(" ".join(held.text for held in inner), *self._span(lines, at, end), depth + 1)
        else:
            self.read(inner, depth + 1)
        self._items.pop()
        self.out.blocks[place] = Block(
            "list_item", *self._span(lines, at, end), "\n".join(item.texts), depth, linked=item.linked
        )

    def _table(self, lines: list[_Line], at: int, end: int, depth: int) -> int:
        rows = [(held.text, *self._span([held], 0, 1)) for held in lines[at:end]]
        table = read_table(rows)
        self.out.add(Block("table", *self._span(lines, at, end), table.text, depth, table=table))
        return end


def _is_enumerated(lines: list[_Line], at: int) -> bool:
    """Whether a line begins an item of a numbered list: what follows must be blank, indented or another item."""
    if not _ENUMERATOR.match(lines[at].text):
        return False
    following = lines[at + 1].text if at + 1 < len(lines) else ""
    return not following or following[0] == " " or bool(_ENUMERATOR.match(following))


def _paragraph_end(lines: list[_Line], at: int) -> int:
    end = at + 1
    while end < len(lines) and lines[end].text and lines[end].text[0] != " ":
        end += 1
    return end


def _indented_end(lines: list[_Line], at: int) -> int:
    """The first line from `at` on with text at the margin."""
    end = at
    while end < len(lines) and (not lines[end].text or lines[end].text[0] == " "):
        end += 1
    return end


def _dedented(lines: list[_Line]) -> list[_Line]:
    margin = min((held.indent for held in lines if held.text), default=0)
    return [_Line(held.number, held.text[margin:]) for held in lines] if margin else lines


def _width(text: str) -> int:
    """Columns on a terminal, as docutils counts them."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in text)
    return len(text) + wide - sum(unicodedata.combining(character) > 0 for character in text)
