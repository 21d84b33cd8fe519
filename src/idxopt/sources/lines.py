"""Lines of a file, plain or gzip, in constant memory, with the place of whatever is wrong."""

from __future__ import annotations

import codecs
import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BufferedReader
from pathlib import Path
from typing import BinaryIO, cast

from idxopt.errors import SourceError
from idxopt.sources.rejects import Reject, reading

_GZIP_MAGIC = b"\x1f\x8b"
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_SKIP = 1 << 20
_LOOK_BYTES = 4 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Line:
    """One line: its number from 1, its offset in the (unpacked) file in bytes, its bytes without a byte order mark."""

    number: int
    offset: int
    raw: bytes


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """The bytes of a file, unpacked where its content says gzip. Raises SourceError for damage and missing files."""
    with reading(path), path.open("rb") as file, _unpacked(path, file) as stream:
        yield stream


@contextmanager
def _unpacked(path: Path, file: BinaryIO) -> Iterator[BinaryIO]:
    packed = file.read(2) == _GZIP_MAGIC
    file.seek(0)
    try:
        if packed:
            with gzip.GzipFile(fileobj=file) as unpacked:
                yield cast(BinaryIO, BufferedReader(unpacked, 1 << 18))
        else:
            yield file
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise SourceError(
            f"the gzip data are damaged or cut off ({error})",
            remedy="copy or compress the file again",
            place=str(path),
        ) from error


def read_lines(path: Path, max_bytes: int) -> Iterator[Line | Reject]:
    """Every line; one above `max_bytes` comes as a Reject and is skipped."""
    with opened(path) as stream:
        number = offset = 0
        while raw := stream.readline(max_bytes + 2):
            number += 1
            start, offset = offset, offset + len(raw)
            if len(raw.rstrip(b"\r\n")) > max_bytes:
                offset += _skip_line(stream, raw)
                yield too_long(f"{path}:{number}", max_bytes)
                continue
            if number == 1:
                refuse_utf16(path, raw)
                raw = raw.removeprefix(codecs.BOM_UTF8)
            yield Line(number, start, raw)


def refuse_utf16(path: Path, start: bytes) -> None:
    """Raises SourceError where the first bytes are a UTF-16 byte order mark."""
    if start.startswith(_UTF16):
        raise SourceError("the file is UTF-16", remedy="convert it: iconv -f UTF-16 -t UTF-8", place=str(path))


def too_long(place: str, max_bytes: int) -> Reject:
    return Reject(
        place,
        f"the document is larger than {max_bytes:,} bytes",
        "split it, leave it out, or raise max_document_bytes in the profile",
    )


def text_problem(place: str, raw: bytes, offset: int) -> Reject | None:
    """Why these bytes are no text: a NUL byte, or an encoding other than UTF-8. `offset` is where they start in the
    file.
    """
    if b"\x00" in raw:
        return Reject(
            place,
            f"holds a NUL byte at byte {offset + raw.index(0)} of the file",
            "remove it; a file full of them is binary or UTF-16",
        )
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return Reject(
            place,
            f"is not UTF-8 (byte 0x{raw[error.start]:02x} at byte {offset + error.start} of the file)",
            "convert the file: iconv -f LATIN1 -t UTF-8, or whichever encoding it has",
        )
    return None


def _skip_line(stream: BinaryIO, read: bytes) -> int:
    skipped = 0
    while read and not read.endswith(b"\n"):
        read = stream.readline(_SKIP)
        skipped += len(read)
    return skipped


def estimate_lines(path: Path) -> tuple[int, int, bool]:
    """(lines that are not blank, bytes of text, whether all was counted) from the first 4 MB and the size of the
    file.
    """
    with reading(path), path.open("rb") as file, _unpacked(path, file) as stream:
        piece = stream.read(_LOOK_BYTES)
        more = bool(stream.read(1))
        taken = file.tell()
        size = path.stat().st_size
    lines = sum(1 for line in piece.splitlines() if line.strip())
    if not more:
        return lines, len(piece), True
    total = round(size * len(piece) / taken)
    return max(lines, round(lines * total / len(piece))), total, False
