"""Markdown structure line by line: for PRIME's steps, which an ingest script must repeat (`markdown_prime`), for texts
that are too long for the parser, and where the parser fails.

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
9. A quote (`>`), a list marker (`-`, `+`, `*`, or up to nine of 0-9 and `.` or `)`, then a space, tab or the end; in a
   paragraph only with text behind it, and for numbers only 1) begins a container, which holds every line up to the next
   blank line, heading, fence or break.
10. `<` and a letter, `/`, `!` or `?`, outside a paragraph, begins an HTML block.
11. Anything else begins or continues a paragraph; in a container it continues that.

This is CommonMark but for what is indented inside containers, for link reference definitions, HTML blocks, and a
table of one column whose second line is `---`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Literal

from idxopt.text.blocks import Block, Collector, Heading, Lines, Parsed

_FENCE = re.compile(r" {0,3}(?P<fence>`{3,}(?=[^`]*$)|~{3,})(?P<info>.*)", re.DOTALL)
_ATX = re.compile(r" {0,3}(?P<marks>#{1,6})(?:[ \t](?P<text>.*))?$", re.DOTALL)
_SETEXT = re.compile(r" {0,3}(?:(?P<first>=+)|-+)[ \t]*$")
_BREAK = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_CONTAINER = re.compile(r" {0,3}(?:>|(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t]|$))")
_CONTAINER_IN_PARAGRAPH = re.compile(r" {0,3}(?:>|(?:[-+*]|1[.)])[ \t]+[^ \t])")
_HTML = re.compile(r" {0,3}<[A-Za-z/!?]")
_HTML_UNTIL = (
    (re.compile(r" {0,3}<!--"), re.compile("-->"), True),
    (re.compile(r" {0,3}<pre\b", re.IGNORECASE | re.ASCII), re.compile("</pre>", re.IGNORECASE | re.ASCII), False),
    (re.compile(r" {0,3}<script\b", re.IGNORECASE | re.ASCII), re.compile("</script>", re.IGNORECASE | re.ASCII), True),
    (re.compile(r" {0,3}<style\b", re.IGNORECASE | re.ASCII), re.compile("</style>", re.IGNORECASE | re.ASCII), True),
    (
        re.compile(r" {0,3}<textarea\b", re.IGNORECASE | re.ASCII),
        re.compile("</textarea>", re.IGNORECASE | re.ASCII),
        False,
    ),
)
_INDENTED = re.compile(r"(?: {4}| {0,3}\t)")

RegionKind = Literal["paragraph", "container", "code", "fence", "html", "heading"]


@dataclass(slots=True)
class Region:
    """What the lines from `first` to before `last` are.

    `texts`: the lines without what marks the region (a heading has one text). `level`: of a heading. `info`: of a
    fence. `hidden`: HTML that no browser shows (a comment, a script, a style sheet).
    """

    kind: RegionKind
    first: int
    last: int = 0
    texts: list[str] = field(default_factory=list)
    level: int = 0
    info: str = ""
    hidden: bool = False
    until: re.Pattern[str] | None = None


def scan_markdown(text: str, begin: int = 0) -> Parsed:
    """Headings, code blocks and paragraphs (a container is a paragraph); inline markup stays in their text."""
    out = Collector()
    lines = Lines(text, begin)
    for region in scan_regions(lines):
        start, end = lines.start(region.first), lines.start(region.last)
        if region.kind in ("code", "fence"):
            code = "\n".join(region.texts).rstrip("\n")
            out.add(Block("code", start, end, code + "\n" if code else "", info=region.info))
        elif region.kind == "heading":
            out.headings.append(Heading(region.level, region.texts[0], start, end))
            out.add(Block("heading", start, end, region.texts[0], level=region.level))
        elif region.kind != "html":
            out.add(Block("paragraph", start, end, " ".join(region.texts)))
    return out.parsed(begin)


def scan_regions(lines: Lines) -> Iterator[Region]:
    """The regions of a text in their order, by the rules of the module. Blank lines and breaks are in none."""
    scanner = _Scanner(lines)
    for number in range(len(lines)):
        scanner.take(number)
        yield from scanner.finished()
    scanner.end(len(lines))
    yield from scanner.finished()


class _Scanner:
    def __init__(self, lines: Lines) -> None:
        self.lines = lines
        self._region: Region | None = None
        self._done: list[Region] = []

    def finished(self) -> list[Region]:
        """The regions that have ended since the last call."""
        done, self._done = self._done, []
        return done

    @property
    def _kind(self) -> RegionKind | None:
        return self._region.kind if self._region else None

    def take(self, number: int) -> None:
        """One line."""
        line, region = self.lines[number], self._region
        if region is not None and region.kind in ("fence", "html"):
            self._inside(region, number, line)
        elif not line.strip(" \t"):
            if region is not None and region.kind == "code":
                region.texts.append("")
            else:
                self.end(number)
        elif self._kind in (None, "code") and _INDENTED.match(line):
            self._continue(number, "code", _INDENTED.sub("", line, count=1))
        elif not (self._opens_fence(number, line) or self._heading(number, line)):
            self._other(number, line)

    def end(self, number: int) -> None:
        """Line `number` is the first behind the region."""
        if self._region is not None:
            self._region.last = number
            self._done.append(self._region)
            self._region = None

    def _begin(self, number: int, kind: RegionKind) -> Region:
        self.end(number)
        self._region = region = Region(kind, number)
        return region

    def _continue(self, number: int, kind: RegionKind, text: str) -> None:
        region = self._region
        if region is None or region.kind != kind:
            region = self._begin(number, kind)
        region.texts.append(text)

    def _inside(self, region: Region, number: int, line: str) -> None:
        if region.until is None:
            if not line.strip(" \t"):
                self.end(number)
                return
        elif region.until.search(line):
            if region.kind == "html":
                region.texts.append(line)
            self.end(number + 1)
            return
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
        inside = self._kind == "container" and line.startswith("  ")
        if not inside and (match := _ATX.match(line)):
            self.end(number)
            self._add_heading(len(match["marks"]), _without_closing(match["text"] or ""), number, number + 1)
            return True
        region = self._region
        if region is not None and region.kind == "paragraph" and (match := _SETEXT.match(line)):
            self._region = None
            self._add_heading(1 if match["first"] else 2, " ".join(region.texts), region.first, number + 1)
            return True
        return False

    def _add_heading(self, level: int, text: str, first: int, last: int) -> None:
        self._done.append(Region("heading", first, last, [text], level))

    def _other(self, number: int, line: str) -> None:
        kind = self._kind
        if _BREAK.match(line):
            self.end(number)
        elif (_CONTAINER_IN_PARAGRAPH if kind == "paragraph" else _CONTAINER).match(line):
            self._continue(number, "container", line.strip(" \t"))
        elif kind not in ("paragraph", "container") and _HTML.match(line):
            self._opens_html(number, line)
        else:
            self._continue(number, "container" if kind == "container" else "paragraph", line.strip(" \t"))

    def _opens_html(self, number: int, line: str) -> None:
        region = self._begin(number, "html")
        region.texts.append(line)
        for opening, until, hidden in _HTML_UNTIL:
            if opening.match(line):
                region.until, region.hidden = until, hidden
                if until.search(line):
                    self.end(number + 1)
                return


def _without_closing(text: str) -> str:
    text = text.strip(" \t")
    bare = text.rstrip("#")
    return bare.rstrip(" \t") if not bare or bare[-1] in " \t" else text
