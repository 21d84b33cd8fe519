"""JSON Lines, and files that hold one JSON array."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson

from idxopt.errors import SourceError
from idxopt.sources.lines import Line, opened, read_lines, refuse_utf16, text_problem, too_long
from idxopt.sources.rejects import Reject
from idxopt.sources.source import Record

MAX_DEPTH = 200
"""Objects and lists inside each other: far above what any mapping holds, far below where parsers give up."""
_CHUNK = 1 << 16
_SPACE = re.compile(r"[ \t\r\n]*")


def json_lines(path: Path, max_bytes: int) -> Iterator[Record | Reject]:
    """One JSON object a line; blank lines are skipped."""
    for line in read_lines(path, max_bytes):
        if isinstance(line, Reject):
            yield line
        elif line.raw.strip():
            yield _record(f"{path}:{line.number}", line)


def _record(place: str, line: Line) -> Record | Reject:
    try:
        value = orjson.loads(line.raw)
    except orjson.JSONDecodeError as error:
        return text_problem(place, line.raw, line.offset) or _broken(place, error.msg, error.colno)
    return _object(place, value, line.raw.count(b"{") + line.raw.count(b"["))


def _broken(place: str, cause: str, column: int) -> Reject:
    return Reject(place, f"is no valid JSON ({cause}, column {column})", "write one complete JSON object a line")


def _object(place: str, value: Any, brackets: int) -> Record | Reject:
    """`brackets`: how many open in the text; only where they are many the depth is measured."""
    if brackets > MAX_DEPTH and _deeper_than(value, MAX_DEPTH):
        return Reject(place, f"is nested deeper than {MAX_DEPTH} levels", "flatten the document")
    if isinstance(value, dict):
        return Record(place, value)
    name = {list: "a list", str: "a text", bool: "true or false", type(None): "null"}.get(type(value), "a number")
    return Reject(place, f"is {name}, no JSON object", 'write each document as an object: {"_id": ..., "title": ...}')


def _deeper_than(value: Any, levels: int) -> bool:
    layer = [value]
    for _ in range(levels + 1):
        layer = [
            inner
            for item in layer
            if isinstance(item, dict | list)
            for inner in (item.values() if isinstance(item, dict) else item)
        ]
        if not layer:
            return False
    return True


def holds_array(path: Path) -> bool:
    """Whether the first thing in the file is `[`. An empty file is no array."""
    with opened(path) as stream:
        start = stream.read(_CHUNK)
    refuse_utf16(path, start)
    return start.removeprefix(codecs.BOM_UTF8).lstrip()[:1] == b"["


def json_array(path: Path, max_bytes: int) -> Iterator[Record | Reject]:
    """The objects of one JSON array, read element by element.

    Broken JSON inside an array, or an element beyond the limit, ends the reading (SourceError): nothing says where the
    next element would begin.
    """
    text = _Window(path, max_bytes)
    with opened(path) as stream:
        text.stream = iter(lambda: stream.read(_CHUNK), b"")
        text.skip_space()
        text.expect("[")
        text.skip_space()
        if text.peek() == "]":
            text.expect("]")
        else:
            while True:
                yield text.element()
                text.skip_space()
                if text.peek() == "]":
                    text.expect("]")
                    break
                text.expect(",")
                text.skip_space()
        text.skip_space()
        if text.peek():
            raise text.broken("something follows the array")


class _Window:
    """A sliding piece of the file's text: grows while an element is incomplete, drops what was read."""

    def __init__(self, path: Path, max_bytes: int) -> None:
        self.path = path
        self.max_bytes = max_bytes
        self.stream: Iterator[bytes] = iter(())
        self._decode = codecs.getincrementaldecoder("utf-8-sig")()
        self._scan = json.JSONDecoder().raw_decode
        self._text = ""
        self._at = 0
        self._line = 1
        self._bytes = 0
        self._ended = False

    def peek(self) -> str:
        if self._at >= len(self._text):
            self._grow(1)
        return self._text[self._at : self._at + 1]

    def skip_space(self) -> None:
        while self.peek() and self.peek() in " \t\r\n":
            match = _SPACE.match(self._text, self._at)
            assert match is not None
            self._advance(match.end())

    def expect(self, character: str) -> None:
        if self.peek() != character:
            found = repr(self.peek()) if self.peek() else "the end of the file"
            raise self.broken(f"expected {character!r}, found {found}")
        self._advance(self._at + 1)

    def element(self) -> Record | Reject:
        place = f"{self.path}:{self._line}"
        while True:
            try:
                _, end = self._scan(self._text, self._at)
                # A number at the end of the window may go on in the next piece.
                if end < len(self._text) or self._ended:
                    break
            except (json.JSONDecodeError, RecursionError) as error:
                cause = error.msg if isinstance(error, json.JSONDecodeError) else "nested too deeply"
                if self._ended:
                    raise self.broken(cause) from error
            if len(self._text) - self._at > self.max_bytes:
                reject = too_long(place, self.max_bytes)
                raise SourceError(f"{reject.reason}, or is no valid JSON", remedy=reject.remedy, place=place)
            self._grow(max(_CHUNK, len(self._text) - self._at))
        raw = self._text[self._at : end]
        self._advance(end)
        if len(raw) > self.max_bytes:
            return too_long(place, self.max_bytes)
        try:
            return _object(place, orjson.loads(raw), raw.count("{") + raw.count("["))
        except (orjson.JSONDecodeError, UnicodeEncodeError) as error:
            return Reject(place, f"is no valid JSON ({error})", "correct this element of the array")

    def broken(self, cause: str) -> SourceError:
        return SourceError(
            f"is no valid JSON ({cause})",
            remedy="correct the file, or use JSON Lines",
            place=f"{self.path}:{self._line}",
        )

    def _advance(self, to: int) -> None:
        self._line += self._text.count("\n", self._at, to)
        self._at = to

    def _grow(self, characters: int) -> None:
        pieces = [self._text[self._at :]]
        added = 0
        while added < characters and not self._ended:
            raw = next(self.stream, b"")
            self._ended = not raw
            pieces.append(self._decoded(raw))
            added += len(pieces[-1])
        self._text, self._at = "".join(pieces), 0

    def _decoded(self, raw: bytes) -> str:
        if self._bytes == 0:
            refuse_utf16(self.path, raw)
        problem = f"{self.path}"
        try:
            text = self._decode.decode(raw, final=not raw)
        except UnicodeDecodeError as error:
            raise SourceError(
                f"is not UTF-8 near byte {self._bytes + error.start} of the file",
                remedy="convert the file: iconv -f LATIN1 -t UTF-8, or whichever encoding it has",
                place=problem,
            ) from error
        self._bytes += len(raw)
        return text
