"""Marks and sizes of files: what tells later data from earlier, without reading them."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from idxopt.sources.rejects import reading

MAX_LISTED = 1_000
"""Beyond so many files the marks are one digest over all of them."""


def file_marks(files: Iterable[tuple[str, Path]]) -> dict[str, Any]:
    """`{"files": {name: {"size", "mtime_ns"}}}`, or count, bytes and digest where there are more than `MAX_LISTED`.

    Times are strings: they lie beyond what canonical JSON carries as a number.
    """
    listed: dict[str, Any] = {}
    whole = hashlib.sha256()
    count = size = 0
    for name, path in files:
        with reading(path):
            found = path.stat()
        count += 1
        size += found.st_size
        whole.update(os.fsencode(f"{name}\0{found.st_size}\0{found.st_mtime_ns}\n"))
        if count <= MAX_LISTED:
            listed[name] = {"size": found.st_size, "mtime_ns": str(found.st_mtime_ns)}
    if count > MAX_LISTED:
        return {"count": count, "bytes": size, "digest": whole.hexdigest()}
    return {"files": listed}
