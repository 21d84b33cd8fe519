"""What a parser of one markup finds: headings, blocks, plain text. Spans count code points of the original text."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

BlockKind = Literal["heading", "paragraph", "list", "list_item", "table", "code", "quote"]

BOM = "\ufeff"
_LINE_BREAK = re.compile(r"\r\n|\n|\r")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading that begins a section. `text` has no markup; `end` lies behind its line break or closing tag."""

    level: int
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TableRow:
    """One row: the text of its cells and its span."""

    cells: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Table:
    """Header rows (none where the markup has none) and body rows."""

    header: tuple[TableRow, ...]
    body: tuple[TableRow, ...]

    @property
    def text(self) -> str:
        """A line a row, cells parted by a space."""
        return "\n".join(" ".join(row.cells) for row in (*self.header, *self.body))


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a document; inner blocks follow the block that holds them, one `depth` deeper.

    `text` has no markup. Lists and quotes hold blocks and have no text of their own; the text of a list item is that of
    its paragraphs, without inner lists, tables and code. `level`: of a heading. `info`: of a code block, its language
    and what stands behind it. `linked`: code points of `text` that are the text of links.
    """

    kind: BlockKind
    start: int
    end: int
    text: str = ""
    depth: int = 0
    level: int = 0
    info: str = ""
    table: Table | None = None
    linked: int = 0


@dataclass(frozen=True, slots=True)
class Parsed:
    """A parsed document. `body_start`: where a byte order mark and front matter end."""

    headings: tuple[Heading, ...]
    blocks: tuple[Block, ...]
    plain: str
    body_start: int = 0


@dataclass(slots=True)
class Collector:
    """What a parser gathers, in the order of the text."""

    headings: list[Heading] = field(default_factory=list)
    blocks: list[Block | None] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)

    def add(self, block: Block) -> None:
        """Add a finished block and its text."""
        self.blocks.append(block)
        self.say(block.text)

    def reserve(self) -> int:
        """A place for a block whose inner blocks come before its end is known."""
        self.blocks.append(None)
        return len(self.blocks) - 1

    def say(self, text: str) -> None:
        """Add to the plain text."""
        if text:
            self.pieces.append(text)

    def parsed(self, body_start: int = 0) -> Parsed:
        """All of it, frozen."""
        blocks = tuple(block for block in self.blocks if block is not None)
        return Parsed(tuple(self.headings), blocks, "\n".join(self.pieces), body_start)


class Lines:
    """The lines of a text from `begin` on; LF, CR LF and CR end a line. What follows `limit` lines counts as one."""

    def __init__(self, text: str, begin: int = 0, limit: int | None = None) -> None:
        self.text = text
        breaks = [match.span() for match in islice(_LINE_BREAK.finditer(text, begin), limit)]
        self._starts = [begin, *(end for _, end in breaks)]
        self._ends = [*(start for start, _ in breaks), len(text)]

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, number: int) -> str:
        """The line without its line break."""
        return self.text[self._starts[number] : self._ends[number]]

    def start(self, number: int) -> int:
        """Where the line begins; the end of the text for lines beyond the last."""
        return self._starts[number] if number < len(self._starts) else len(self.text)

    def number_at(self, offset: int) -> int:
        """The line that holds the offset."""
        return bisect_right(self._starts, offset) - 1


def skip_bom(text: str) -> int:
    """1 when the text begins with a byte order mark, else 0."""
    return 1 if text.startswith(BOM) else 0
