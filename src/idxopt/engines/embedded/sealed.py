"""Small JSON files with a format number and a checksum: the catalogue, the commits and the written documents."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import orjson

from idxopt.engines.embedded import durable
from idxopt.errors import EngineError

FORMAT = 1
"""Of the whole folder. A folder of a higher number is refused."""

_MAGIC = b"idxopt-embedded"


def write(path: Path, value: Any) -> None:
    """Writes one JSON value, atomically."""
    durable.write_bytes(path, _sealed(value))


def _sealed(value: Any) -> bytes:
    payload = orjson.dumps(value)
    return b"%s %d %s\n%s" % (_MAGIC, FORMAT, _checksum(payload), payload)


def read(path: Path) -> Any:
    """The value in a file. FileNotFoundError where there is none; EngineError when it is damaged or too new."""
    with durable.disk_errors(path):
        content = path.read_bytes()
    header, _, payload = content.partition(b"\n")
    match header.split(b" "):
        case [magic, number, checksum] if magic == _MAGIC and number.isdigit():
            check_format(int(number), path)
            if checksum == _checksum(payload):
                return orjson.loads(payload)
    raise damaged(path)


def stamp(path: Path) -> bytes | None:
    """The first line of a file, which holds the checksum of the rest: equal for equal content. None: not there."""
    try:
        with path.open("rb") as file:
            return file.readline(128)
    except FileNotFoundError:
        return None


def check_format(number: int, path: Path) -> None:
    """EngineError when a file was written by a later idxopt."""
    if number > FORMAT:
        raise EngineError(
            f"this folder has format {number}, made by a newer idxopt; this one reads up to {FORMAT}",
            place=str(path),
            remedy="install the newer idxopt, or choose another folder",
        )


def damaged(path: Path) -> EngineError:
    """The error for a file whose content is not what was written."""
    return EngineError(
        "this file is damaged (its checksum does not fit)",
        place=str(path),
        remedy="restore the folder from a copy, or delete the index and build it again",
    )


def _checksum(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16).hexdigest().encode()
