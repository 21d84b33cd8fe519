"""Reading text files line by line, with the line number in every error.

Plain or gzip (told by content, not by name), UTF-8 with or without byte order mark, in constant memory.
"""

from __future__ import annotations

import codecs
import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from idxopt.errors import SourceError

MAX_LINE_BYTES = 4 * 1024 * 1024
"""Longest line of a query, judgment or run file; a longer one is no such file."""

_GZIP_MAGIC = b"\x1f\x8b"
_UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number from 1, text with its line end). Raises SourceError with FILE:LINE."""
    number = 0
    try:
        with _open(path) as stream:
            while raw := stream.readline(MAX_LINE_BYTES + 1):
                number += 1
                yield number, _decode(path, number, raw)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise SourceError(
            f"the gzip data are damaged or cut off ({error})",
            remedy="copy or compress the file again",
            place=f"{path}:{number + 1}",
        ) from error
    except OSError as error:
        raise SourceError(
            f"cannot be read ({error.strerror or error})", remedy="check the path and its permissions", place=str(path)
        ) from error


def content_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Like `read_lines`, without line ends and without blank lines."""
    for number, text in read_lines(path):
        stripped = text.rstrip("\r\n")
        if stripped.strip():
            yield number, stripped


def first_line(path: Path) -> str:
    """The first line that is not blank. Raises SourceError where there is none."""
    for _, text in content_lines(path):
        return text
    raise empty_file(path)


def existing_file(folder: Path, names: Sequence[str]) -> Path | None:
    """The first of these files that the folder holds, each also under its name with `.gz`."""
    candidates = (folder / f"{name}{suffix}" for name in names for suffix in ("", ".gz"))
    return next((path for path in candidates if path.is_file()), None)


def empty_file(path: Path) -> SourceError:
    """The error for a file without content."""
    return SourceError("the file is empty", remedy="give a file with at least one entry", place=str(path))


@contextmanager
def _open(path: Path) -> Iterator[io.BufferedReader]:
    with path.open("rb") as file:
        packed = file.read(2) == _GZIP_MAGIC
        file.seek(0)
        if packed:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield io.BufferedReader(unpacked)
        else:
            yield file


def _decode(path: Path, number: int, raw: bytes) -> str:
    place = f"{path}:{number}"
    if len(raw) > MAX_LINE_BYTES:
        raise SourceError(
            f"the line is longer than {MAX_LINE_BYTES:,} bytes",
            remedy="check that this is a file of queries, judgments or results with one entry a line",
            place=place,
        )
    if number == 1:
        if raw.startswith(_UTF16_MARKS):
            raise SourceError("the file is UTF-16", remedy="convert it: iconv -f UTF-16 -t UTF-8", place=place)
        raw = raw.removeprefix(codecs.BOM_UTF8)
    if b"\x00" in raw:
        raise SourceError(
            f"holds a NUL byte (byte {raw.index(0) + 1} of the line)",
            remedy="remove it, or convert the file to UTF-8 if it is UTF-16",
            place=place,
        )
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise SourceError(
            f"is not UTF-8 (byte 0x{raw[error.start]:02x} at position {error.start + 1} of the line)",
            remedy="convert the file: iconv -f LATIN1 -t UTF-8, or whichever encoding it has",
            place=place,
        ) from error
