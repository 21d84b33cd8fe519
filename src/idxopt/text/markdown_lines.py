"""Markdown structure line by line: for texts that are too long for the parser, and where the parser fails.

Rules, over lines that end in LF, CR LF or CR, from the first line behind front matter; the first rule that fits wins:

1. In a code fence: a line of up to three spaces and at least as many of the fence's characters (` or ~) as it opened
   with, then only spaces and tabs, closes it; all other lines are code, to the end of the text if need be.
2. In an HTML block: `<!--`, `<pre`, `<script`, `<style` and `<textarea` blocks end with the line that holds `-->` or
   the closing tag, any other with a blank line; nothing in it is structure.
3. A blank line (spaces and tabs) ends a paragraph or container.
4. Outside paragraphs, a line of four or more columns of indentation is code; in a paragraph it belongs to it.
5. Up to three spaces, then three or more ` or ~ (no ` behind a fence of `) opens a code fence; the rest is its info.
6. Up to three spaces, one to six `#`, then a space, a tab or the end: a heading. Its text is the rest without a closing
   run of `#` that stands alone or behind a space or tab. Behind two spaces it belongs to a container that is open.
7. In a paragraph, up to three spaces and only `=` or only `-`, then spaces and tabs: the paragraph is a heading, of
   level 1 or 2.
8. A thematic break (three or more of one of `*`, `-`, `_`, with spaces between) ends a paragraph or container.
9. A quote (`>`), a list marker (`-`, `+`, `*`, or up to nine digits and `.` or `)`, then a space, tab or the end; in a
   paragraph only with text behind it, and for numbers only 1) begins a container, which holds every line up to the next
   blank line, heading, fence or break.
10. `<` and a letter, `/`, `!` or `?`, outside a paragraph, begins an HTML block.
11. Anything else begins or continues a paragraph; in a container it continues that.

This is CommonMark but for what is indented inside containers, for link reference definitions, HTML blocks, and a
table of one column whose second line is `---`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Literal

from idxopt.text.blocks import Block, Collector, Heading, Lines, Parsed

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)", re.DOTALL)
_ATX = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t](?P<text>.*))?$", re.DOTALL)
_SETEXT = re.compile(r" {0,3}(?:(?P<first>=+)|-+)[ \t]*$")
_BREAK = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_CONTAINER = re.compile(r" {0,3}(?:>|(?:[-+*]|\d{1,9}[.)])(?=[ \t]|$))")
_CONTAINER_IN_PARAGRAPH = re.compile(r" {0,3}(?:>|(?:[-+*]|1[.)])[ \t]+[^ \t])")
_HTML = re.compile(r" {0,3}<[A-Za-z/!?]")
_HTML_UNTIL = (
    (re.compile(r" {0,3}<!--"), re.compile("-->")),
    (re.compile(r" {0,3}<pre\b", re.IGNORECASE), re.compile("</pre>", re.IGNORECASE)),
    (re.compile(r" {0,3}<script\b", re.IGNORECASE), re.compile("</script>", re.IGNORECASE)),
    (re.compile(r" {0,3}<style\b", re.IGNORECASE), re.compile("</style>", re.IGNORECASE)),
    (re.compile(r" {0,3}<textarea\b", re.IGNORECASE), re.compile("</textarea>", re.IGNORECASE)),
)
_INDENTED = re.compile(r"(?: {4}| {0,3}\t)")

_Kind = Literal["", "paragraph", "container", "code", "fence", "html"]


@dataclass(slots=True)
class _Region:
    """What the lines since `first` are."""

    kind: _Kind = ""
    first: int = 0
    texts: list[str] = field(default_factory=list)
    info: str = ""
    until: re.Pattern[str] | None = None


def scan_markdown(text: str, begin: int = 0) -> Parsed:
    """Headings, code blocks and paragraphs (a container is a paragraph); inline markup stays in their text."""
    scanner = _Scanner(Lines(text, begin))
    for number in range(len(scanner.lines)):
        scanner.take(number)
    scanner.end(len(scanner.lines))
    return scanner.out.parsed(begin)


class _Scanner:
    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self.out = Collector()
        self._region = _Region()

    def take(self, number: int) -> None:
        """One line, by the rules of the module."""
        line, region = self.lines[number], self._region
        if region.kind in ("fence", "html"):
            self._inside(number, line)
        elif not line.strip(" \t"):
            if region.kind == "code":
                region.texts.append("")
            else:
                self.end(number)
        elif region.kind in ("", "code") and _INDENTED.match(line):
            self._continue(number, "code", _INDENTED.sub("", line, count=1))
        elif not (self._opens_fence(number, line) or self._heading(number, line)):
            self._other(number, line)

    def end(self, number: int) -> None:
        """Line `number` is the first behind the region."""
        region, self._region = self._region, _Region()
        start, stop = self.lines.start(region.first), self.lines.start(number)
        if region.kind in ("code", "fence"):
            code = "\n".join(region.texts).rstrip("\n")
            self.out.add(Block("code", start, stop, code + "\n" if code else "", info=region.info))
        elif region.kind in ("paragraph", "container"):
            self.out.add(Block("paragraph", start, stop, " ".join(region.texts)))

    def _begin(self, number: int, kind: _Kind) -> _Region:
        self.end(number)
        self._region = _Region(kind, number)
        return self._region

    def _continue(self, number: int, kind: _Kind, text: str) -> None:
        region = self._region if self._region.kind == kind else self._begin(number, kind)
        region.texts.append(text)

    def _inside(self, number: int, line: str) -> None:
        region = self._region
        if region.until is None:
            if not line.strip(" \t"):
                self.end(number)
        elif region.until.search(line):
            self.end(number + 1)
        elif region.kind == "fence":
            region.texts.append(line)

    def _opens_fence(self, number: int, line: str) -> bool:
        match = _FENCE.match(line)
        if not match:
            return False
        region = self._begin(number, "fence")
        fence = match["fence"]
        region.info = match["info"].strip()
        region.until = re.compile(rf"^ {{0,3}}{fence[0]}{{{len(fence)},}}[ \t]*$")
        return True

    def _heading(self, number: int, line: str) -> bool:
        inside = self._region.kind == "container" and line.startswith("  ")
        if not inside and (match := _ATX.match(line)):
            self.end(number)
            self._add_heading(len(match["marks"]), _without_closing(match["text"] or ""), number, number + 1)
            return True
        if self._region.kind == "paragraph" and (match := _SETEXT.match(line)):
            region, self._region = self._region, _Region()
            self._add_heading(1 if match["first"] else 2, " ".join(region.texts), region.first, number + 1)
            return True
        return False

    def _add_heading(self, level: int, text: str, first: int, last: int) -> None:
        start, end = self.lines.start(first), self.lines.start(last)
        self.out.headings.append(Heading(level, text, start, end))
        self.out.add(Block("heading", start, end, text, level=level))

    def _other(self, number: int, line: str) -> None:
        kind = self._region.kind
        if _BREAK.match(line):
            self.end(number)
        elif (_CONTAINER_IN_PARAGRAPH if kind == "paragraph" else _CONTAINER).match(line):
            self._continue(number, "container", line.strip(" \t"))
        elif kind not in ("paragraph", "container") and _HTML.match(line):
            self._opens_html(number, line)
        else:
            self._continue(number, "container" if kind == "container" else "paragraph", line.strip(" \t"))

    def _opens_html(self, number: int, line: str) -> None:
        until = next((until for opening, until in _HTML_UNTIL if opening.match(line)), None)
        self._begin(number, "html").until = until
        if until and until.search(line):
            self.end(number + 1)


def _without_closing(text: str) -> str:
    text = text.strip(" \t")
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else text
