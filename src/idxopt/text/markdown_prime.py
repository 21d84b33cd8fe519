r"""Markdown as PRIME's steps read it: headings and text by rules that an ingest script repeats character by character.

Blocks: front matter and a byte order mark are skipped (`front_matter`); the lines are cut by the rules of
`markdown_lines`. In the text stand, each from a line of its own: code as it is, without its fences; headings and
paragraphs without inline markup; containers likewise, each line without the `>`, `-`, `+`, `*`, spaces and tabs at its
start and then one list number (up to nine of 0-9, `.` or `)`, before a space, a tab or the end); HTML blocks likewise,
but for comments, scripts and style sheets, which are left out. Lines at the start of a paragraph that define a link
(`[label]: destination "title"`) are left out.

Inline, from left to right, the first rule that fits; what a rule leaves is not looked at again, white is a space, a tab
or a line feed, sign one of ASCII's 32 punctuation marks:

1. `\` and a sign: the sign.
2. A run of n backticks, when a later run of exactly n follows: what stands between, as it is. Otherwise they stay.
3. `<!--` up to `-->`: nothing. `<` or `</`, a name (a letter, then letters, digits, `-`) with white, `/` or `>` behind
   it, up to the next `>` with no `<` between: nothing, or a space where the name is one of `BREAKING_TAGS`.
4. `&amp;` `&lt;` `&gt;` `&quot;` `&apos;` `&nbsp;` `&#1234567;` `&#x10FFFF;`: the character (U+FFFD for 0, a
   surrogate, a number beyond U+10FFFF).
5. `]` that closes a `[` or `![` of rule 5 (the last one still open): when a destination in parentheses follows (up to
   white or `<`; one level of parentheses inside; or in `<>`; then perhaps a title), or a label in brackets, all of it
   but the text between `[` and `]` goes. Otherwise the bracket stays. No bracket may stand in what goes.
6. A run of `*` or of `_`: nothing, unless both neighbours are white (or the ends of the text), or neither is white or
   a sign (`SQL*Plus`, `max_size`): then it stays.
7. `|`: a space, outside headings.

White space in a heading is collapsed. Unlike CommonMark: references need no definition, a shortcut reference keeps its
brackets, emphasis is not matched, and other named entities stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from idxopt.text.blocks import Heading, Lines, Parsed
from idxopt.text.front_matter import front_matter_end
from idxopt.text.identifiers import collapse_whitespace
from idxopt.text.markdown_lines import Region, scan_regions

BREAKING_TAGS = frozenset("br dd div dl dt hr li ol p td th tr ul".split())
"""Tags that part words; others may stand inside a word (`H<sub>2</sub>O`)."""

_SIGNS = r"!-/:-@\[-`{-~"
_EVENT = re.compile(rf"\\[{_SIGNS}]|`+|[<&|\]]|!?\[|\*+|_+")
_LINE_OF_TEXT = re.compile(r"[A-Za-z][^\n\r\\`<&|\[\]*_]*(?<![ \t])")
"""One paragraph of one line without inline markup: no rule changes it."""
_TICKS = re.compile("`+")
_TAG = re.compile(r"</?([A-Za-z][A-Za-z0-9-]*)(?=[ \t\n/>])[^<>]*>")
_ENTITY = re.compile(r"&(?:#([0-9]{1,7})|#[xX]([0-9A-Fa-f]{1,6})|(amp|lt|gt|quot|apos|nbsp));")
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'", "nbsp": "\u00a0"}
_PLACE = r"<[^<>\[\]\n]*+>|[^ \t\n()\[\]<]*+(?:\([^ \t\n()\[\]<]*+\)[^ \t\n()\[\]<]*+)*+"
_TITLE = r"\"[^\"\[\]]*+\"|'[^'\[\]]*+'|\([^()\[\]]*+\)"
_TAIL = re.compile(rf"\([ \t\n]*+(?:{_PLACE})(?:[ \t\n]++(?:{_TITLE}))?+[ \t\n]*+\)|\[[^\[\]]++\]")
_DEFINITION = re.compile(r"\[[^\[\]]+\]:[ \t]*[^ \t]+(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?$")
_MARKER = re.compile(r"[>\-+* \t]*(?:[0-9]{1,9}[.)](?=[ \t]|$))?")
_SIGN = re.compile(f"[{_SIGNS}]")
_WHITE = " \t\n"
_MAX_POINT = 0x10FFFF


def prime_markdown(text: str) -> Parsed:
    """Headings and plain text; no blocks."""
    return Parsed((), (), text, 0) if _LINE_OF_TEXT.fullmatch(text) else _by_rules(text)


def _by_rules(text: str) -> Parsed:
    begin = front_matter_end(text)
    lines = Lines(text, begin)
    headings: list[Heading] = []
    pieces: list[str] = []
    for region in scan_regions(lines):
        if region.kind == "heading":
            plain = collapse_whitespace(strip_inline(region.texts[0], cells=False))
            headings.append(Heading(region.level, plain, lines.start(region.first), lines.start(region.last)))
        else:
            plain = _text_of(region)
        if plain:
            pieces.append(plain)
    return Parsed(tuple(headings), (), "\n".join(pieces), begin)


def _text_of(region: Region) -> str:
    if region.kind in ("code", "fence"):
        return "\n".join(region.texts)
    if region.hidden:
        return ""
    texts = region.texts
    if region.kind == "container":
        texts = [_MARKER.sub("", line, count=1) for line in texts]
    elif region.kind == "paragraph" and texts[0].startswith("["):
        first = next((number for number, line in enumerate(texts) if not _DEFINITION.match(line)), len(texts))
        texts = texts[first:]
    return strip_inline("\n".join(texts), cells=True)


def strip_inline(text: str, *, cells: bool) -> str:
    """The text without inline markup. `cells`: bars part words."""
    return _Inline(text, cells=cells).strip()


@dataclass(slots=True)
class _Inline:
    """One text on its way: `pieces` of the result, the places in it of brackets that are still open."""

    text: str
    cells: bool
    at: int = 0
    pieces: list[str] = field(default_factory=list)
    brackets: list[int] = field(default_factory=list)
    lengths: set[int] = field(default_factory=set)
    comments: bool = True

    def strip(self) -> str:
        while event := _EVENT.search(self.text, self.at):
            self.pieces.append(self.text[self.at : event.start()])
            self.at = event.end()
            self.pieces.append(self._left_of(event[0], event.start()))
        self.pieces.append(self.text[self.at :])
        return "".join(self.pieces)

    def _left_of(self, mark: str, start: int) -> str:
        match mark[0]:
            case "\\":
                return mark[1]
            case "`":
                return self._code(mark)
            case "<":
                return self._tag(start)
            case "&":
                return self._entity(start)
            case "]":
                return self._closing()
            case "*" | "_":
                return self._emphasis(mark, start)
            case "|":
                return " " if self.cells else mark
            case _:
                self.brackets.append(len(self.pieces))
                return mark

    def _code(self, mark: str) -> str:
        """`lengths`: of runs that no later run closes."""
        if len(mark) not in self.lengths:
            for ticks in _TICKS.finditer(self.text, self.at):
                if len(ticks[0]) == len(mark):
                    code, self.at = self.text[self.at : ticks.start()], ticks.end()
                    return code
            self.lengths.add(len(mark))
        return mark

    def _tag(self, start: int) -> str:
        if self.comments and self.text.startswith("<!--", start):
            end = self.text.find("-->", start + 4)
            if end >= 0:
                self.at = end + 3
                return ""
            self.comments = False
        tag = _TAG.match(self.text, start)
        if tag is None:
            return "<"
        self.at = tag.end()
        return " " if tag[1].lower() in BREAKING_TAGS else ""

    def _entity(self, start: int) -> str:
        entity = _ENTITY.match(self.text, start)
        if entity is None:
            return "&"
        self.at = entity.end()
        if entity[3]:
            return _NAMED[entity[3]]
        point = int(entity[1]) if entity[1] else int(entity[2], 16)
        surrogate = 0xD800 <= point <= 0xDFFF
        return "\ufffd" if point == 0 or surrogate or point > _MAX_POINT else chr(point)

    def _closing(self) -> str:
        if not self.brackets:
            return "]"
        opening = self.brackets.pop()
        tail = _TAIL.match(self.text, self.at)
        if tail is None:
            return "]"
        self.pieces[opening] = ""
        self.at = tail.end()
        return ""

    def _emphasis(self, mark: str, start: int) -> str:
        before = self.text[start - 1] if start else " "
        after = self.text[self.at] if self.at < len(self.text) else " "
        if before in _WHITE and after in _WHITE:
            return mark
        return "" if _parts_words(before) or _parts_words(after) else mark


def _parts_words(character: str) -> bool:
    return character in _WHITE or bool(_SIGN.match(character))
