"""Finished parts of an experiment on disk, each under the digest of everything that it depends on."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson

from idxopt.errors import SourceError
from idxopt.hashing import digest


@contextmanager
def writing(place: Path) -> Iterator[None]:
    """For a block that writes into the work folder. Raises SourceError where it cannot."""
    try:
        yield
    except OSError as error:
        raise SourceError(
            f"cannot be written ({error.strerror or error})", place=str(place), remedy="choose another --work"
        ) from error


class Kept:
    """A folder of JSON files. A part whose key is another one is made anew."""

    def __init__(self, folder: Path, about: Any) -> None:
        self._folder = folder
        self._about = about

    def part(self, name: str, depends: Any, make: Callable[[], Any]) -> Any:
        """What is on disk under this name and key, else what `make` returns (JSON values), written before it is used.

        Raises SourceError where it cannot be written, and what `make` raises.
        """
        key = digest({"about": self._about, "depends": depends})
        file = self._folder / f"{name}.json"
        try:
            found = orjson.loads(file.read_bytes())
            if found["key"] == key:
                return found["value"]
        except (OSError, ValueError, KeyError, TypeError):
            pass
        data = orjson.dumps({"key": key, "value": make()}, option=orjson.OPT_NON_STR_KEYS)
        beside = file.with_name(f".{file.name}.{os.getpid()}")
        with writing(file):
            file.parent.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(data)
            beside.replace(file)
        return orjson.loads(data)["value"]
