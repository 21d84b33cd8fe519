"""The folder of a study: names of its files, who works in it, and files that are replaced whole."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from idxopt.errors import BuildError, LockedError, UsageError

_OWN_ID = re.compile(r"(?P<own>[0-9a-f]{8})(?: (?:[0-9]+:)?(?P<inode>[0-9]+)(?: (?P<place>[0-9a-f]{16}))?)?")
"""Older versions wrote no inode, or the device before it and no place."""

_NEW_ID = "delete it: another is drawn; `idxopt sweep` removes trial indices under the old one"


@dataclass(frozen=True, slots=True)
class StudyFolder:
    """Where the files of one study are."""

    path: Path

    @property
    def database(self) -> Path:
        """Trials, answers of language models, events."""
        return self.path / "study.sqlite"

    @property
    def scores(self) -> Path:
        """Scores by query, unless another file was named."""
        return self.path / "scores.sqlite"

    @property
    def ledger(self) -> Path:
        return self.path / "ledger.sqlite"

    @property
    def manifest(self) -> Path:
        return self.path / "manifest.json"

    @property
    def record(self) -> Path:
        """Everything that the report shows, as JSON."""
        return self.path / "record.json"

    @property
    def report(self) -> Path:
        return self.path / "report.html"

    @property
    def program(self) -> Path:
        """The winner."""
        return self.path / "program.json"

    def diagnosis(self, of: str) -> Path:
        """Why queries fail under the `baseline` or the `winner`."""
        return self.path / f"diagnosis-{of}.json"

    @property
    def rejects(self) -> Path:
        return self.path / "rejects.jsonl"

    @property
    def lock(self) -> Path:
        return self.path / "study.lock"

    @property
    def identity(self) -> Path:
        """The study's own id, then inode and digest of the path of the folder that has it."""
        return self.path / "study.id"

    def own_id(self, tell: Callable[[str], None]) -> str:
        """8 hex digits drawn once for this study, whatever its name: to be called under the lock of the folder.

        A folder keeps its id while its inode or its path is the same: renamed, or on a disk that numbers anew. Device
        numbers tell nothing, a reboot or remount changes them. Where both differ the folder is a copy and draws
        another id, which `tell` is told: both would use and delete each other's trial indices. Raises BuildError where
        the id cannot be kept, or what is kept is something else.
        """
        if not self.identity.exists():
            return self._kept_id(secrets.token_hex(4))
        try:
            found = _OWN_ID.fullmatch(self.identity.read_text(encoding="ascii").strip())
        except (OSError, ValueError) as error:
            raise BuildError(f"cannot be read ({error})", place=str(self.identity), remedy=_NEW_ID) from error
        if found is None:
            raise BuildError("holds no id of a study", place=str(self.identity), remedy=_NEW_ID)
        own, inode, place = found.group("own", "inode", "place")
        if inode is None or inode == self._inode() or place == self._place():
            return own if (inode, place) == (self._inode(), self._place()) else self._kept_id(own)
        tell(
            f"{self.path} was copied, or moved to another disk: the study gets an id of its own. Trial indices under "
            f"the old one ({own}) are left to the folder that it was copied from, and to `idxopt sweep`"
        )
        return self._kept_id(secrets.token_hex(4))

    def _kept_id(self, own: str) -> str:
        replace_file(self.identity, f"{own} {self._inode()} {self._place()}\n".encode())
        return own

    def _inode(self) -> str:
        return str(self.path.stat().st_ino)

    def _place(self) -> str:
        return hashlib.sha256(os.fsencode(self.path.resolve())).hexdigest()[:16]

    @property
    def exists(self) -> bool:
        """True for a folder in which a study was begun."""
        return self.manifest.exists()

    def create(self) -> None:
        """Makes the folder. Raises UsageError for one that holds other things, BuildError where it cannot be made."""
        files = (self.lock, self.database, self.scores, self.ledger, self.rejects, self.identity)
        ours = {file.name for file in files}
        if self.path.exists() and not self.path.is_dir():
            raise UsageError("is a file", place=str(self.path), remedy="name a new or empty folder with --out")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            foreign = sorted(
                entry.name
                for entry in self.path.iterdir()
                if not self.exists and not any(entry.name.startswith(name) for name in ours)
            )
        except OSError as error:
            raise BuildError(
                f"cannot be used as the folder of a study ({error.strerror or error})",
                place=str(self.path),
                remedy="check the path and its rights",
            ) from error
        if foreign:
            raise UsageError(
                f"holds other files ({', '.join(foreign[:3])}) and no study",
                place=str(self.path),
                remedy="name a new or empty folder, or that of a study",
            )

    def clear_unbegun(self) -> None:
        """Takes the database out again where no study was begun. To be called under the lock, with it closed."""
        if not self.exists:
            for end in ("", "-wal", "-shm"):
                self.database.with_name(self.database.name + end).unlink(missing_ok=True)

    @contextmanager
    def exclusive(self) -> Iterator[None]:
        """Alone in the folder; freed when the process dies. Raises LockedError while another process works here."""
        lock = FileLock(self.lock, timeout=0, is_singleton=False)
        try:
            lock.acquire()
        except Timeout as error:
            raise LockedError(
                "another process works on this study",
                place=str(self.path),
                remedy="wait for it to end or stop it, then run the command again: it goes on where it stopped; "
                "`idxopt study show` may be used meanwhile",
            ) from error
        except OSError as error:
            raise BuildError(
                f"cannot be locked ({error.strerror or error})",
                place=str(self.path),
                remedy="check the rights of the folder and the space on its disk",
            ) from error
        try:
            yield
        finally:
            lock.release()


def replace_file(path: Path, data: bytes) -> None:
    """Writes a file whole or not at all: on disk when it returns. Raises BuildError."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f"{path.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise BuildError(
            f"cannot be written ({error.strerror or error})",
            place=str(path),
            remedy="check the rights of the folder and the space on its disk",
        ) from error
