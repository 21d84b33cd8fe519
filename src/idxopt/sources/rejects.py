"""Documents that cannot be indexed: each with its place, reason and remedy, collected instead of lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import orjson

from idxopt.errors import SourceError

SHOWN = 5
"""How many rejects an error message names; all of them are in the file."""


@dataclass(frozen=True, slots=True)
class Reject:
    """One document that was refused. `place` is `FILE:LINE`, a file, or `index/id`; `id` where it is known."""

    place: str
    reason: str
    remedy: str
    id: str | None = None

    def error(self) -> SourceError:
        """The same as an error, for readers that stop at the first bad document."""
        return SourceError(self.reason, remedy=self.remedy, place=self.place)


class Rejects:
    """Writes rejects to a file, one JSON object a line, and keeps only the first few in memory."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.count = 0
        self.first: list[Reject] = []
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink(missing_ok=True)

    def add(self, reject: Reject) -> None:
        """Counts a reject and appends it to the file."""
        self.count += 1
        if len(self.first) < SHOWN:
            self.first.append(reject)
        if self.path is None:
            return
        entry = {"place": reject.place, "id": reject.id, "reason": reject.reason, "remedy": reject.remedy}
        with self.path.open("ab") as file:
            file.write(orjson.dumps(entry, option=orjson.OPT_APPEND_NEWLINE))

    def read(self) -> Iterator[Reject]:
        """All rejects so far, from the file where there is one."""
        if self.path is None or not self.path.exists():
            yield from self.first
            return
        with self.path.open("rb") as file:
            for line in file:
                entry = orjson.loads(line)
                yield Reject(entry["place"], entry["reason"], entry["remedy"], entry["id"])


@contextmanager
def reading(path: Path, place: str | None = None) -> Iterator[None]:
    """Turns operating system errors of a read into a SourceError that names the file."""
    try:
        yield
    except FileNotFoundError as error:
        raise SourceError("does not exist", remedy="check the path", place=place or str(path)) from error
    except OSError as error:
        raise SourceError(
            f"cannot be read ({error.strerror or error})",
            remedy="check the path and its permissions",
            place=place or str(path),
        ) from error
