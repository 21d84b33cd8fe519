"""One file that holds named numpy arrays, written once, read through a memory map that processes share.

Layout: magic, the arrays (each at a multiple of 64 bytes), the directory as JSON, and a trailer with the directory's
place and checksum. Arrays are checked against their checksums when a file is opened, except those that the writer marks
as large: their reader checks each record.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt
import orjson

from idxopt.engines.embedded.durable import disk_errors
from idxopt.engines.embedded.sealed import FORMAT, check_format, damaged

Array = npt.NDArray[Any]

_MAGIC = b"IDXPACK1"
_TRAILER = struct.Struct("<QQI8s")
_ALIGN = 64

CHUNK_BYTES = 4 << 20
"""How much of a large array is read at once."""


class PackWriter:
    """Writes arrays one after the other into an open file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file
        self._position = file.write(_MAGIC)
        self._arrays: dict[str, dict[str, Any]] = {}

    def add(self, name: str, array: Array) -> None:
        """One whole array."""
        self.stream(name, array.dtype, [array])

    def stream(self, name: str, dtype: npt.DTypeLike, parts: Iterable[Array | bytes], *, large: bool = False) -> None:
        """An array in parts, so that it need not be in memory. Parts of bytes are taken as they are."""
        self._position += self._file.write(bytes(-self._position % _ALIGN))
        start, checksum = self._position, 0
        kind = np.dtype(dtype)
        for part in parts:
            data = part if isinstance(part, bytes) else np.ascontiguousarray(part, dtype=kind).view(np.uint8).data
            if not large:
                checksum = zlib.crc32(data, checksum)
            self._position += self._file.write(data)
        size = self._position - start
        self._arrays[name] = {"dtype": kind.str, "start": start, "bytes": size, "crc": None if large else checksum}

    def finish(self, about: Mapping[str, Any]) -> None:
        """Writes the directory. `about` is any JSON that belongs to the file."""
        directory = orjson.dumps({"format": FORMAT, "arrays": self._arrays, "about": dict(about)})
        self._file.write(directory)
        self._file.write(_TRAILER.pack(self._position, len(directory), zlib.crc32(directory), _MAGIC))


class Pack:
    """An open file. Its arrays are read-only views of the memory map."""

    def __init__(self, path: Path) -> None:
        """Opens and checks. FileNotFoundError when there is none; EngineError when it is damaged or too new."""
        self.path = path
        with disk_errors(path), path.open("rb") as file:
            self.bytes = file.seek(0, 2)
            if self.bytes < len(_MAGIC) + _TRAILER.size:
                raise damaged(path)
            self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        directory = self._directory()
        self.about: dict[str, Any] = directory["about"]
        self._arrays = {name: self._view(place) for name, place in directory["arrays"].items()}

    def _directory(self) -> Any:
        start, size, checksum, magic = _TRAILER.unpack(self._map[-_TRAILER.size :])
        text = self._map[start : start + size]
        if magic != _MAGIC or start + size + _TRAILER.size != self.bytes or zlib.crc32(text) != checksum:
            raise damaged(self.path)
        directory = orjson.loads(text)
        check_format(directory["format"], self.path)
        return directory

    def _view(self, place: Mapping[str, Any]) -> Array:
        dtype = np.dtype(place["dtype"])
        if place["crc"] is not None and self._checksum(place["start"], place["bytes"]) != place["crc"]:
            raise damaged(self.path)
        return np.frombuffer(self._map, dtype=dtype, count=place["bytes"] // dtype.itemsize, offset=place["start"])

    def _checksum(self, start: int, size: int) -> int:
        checksum = 0
        with memoryview(self._map) as content:
            for first in range(start, start + size, CHUNK_BYTES):
                checksum = zlib.crc32(content[first : min(first + CHUNK_BYTES, start + size)], checksum)
                self.release()
        return checksum

    def release(self) -> None:
        """Lets go of the memory through which the file was read so far; the system still has it in its cache.

        For those who read through a whole file once: it would count as this process's memory otherwise.
        """
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def __contains__(self, name: str) -> bool:
        return name in self._arrays

    def __getitem__(self, name: str) -> Array:
        return self._arrays[name]


class Strings:
    """Byte strings stored as `{name}.bytes` and `{name}.offsets`."""

    def __init__(self, pack: Pack, name: str) -> None:
        self._bytes = pack[f"{name}.bytes"].data
        self._offsets = pack[f"{name}.offsets"].data  # a memoryview gives plain int, which is faster one at a time

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, index: int) -> bytes:
        return bytes(self._bytes[self._offsets[index] : self._offsets[index + 1]])


def add_strings(writer: PackWriter, name: str, values: list[bytes]) -> None:
    """Stores byte strings so that `Strings` reads them."""
    writer.stream(f"{name}.bytes", np.uint8, [b"".join(values)])
    writer.add(f"{name}.offsets", offsets([len(value) for value in values]))


def offsets(lengths: Any) -> Array:
    """Where each of several runs starts, and where the last one ends."""
    result = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=result[1:])
    return result
