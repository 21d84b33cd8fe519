"""Reading studies without running them: their state, trials, records, programs. Nothing is locked or written."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock, Timeout

from idxopt.errors import BuildError, IdxoptError, UsageError
from idxopt.optimizer.record import StudyRecord
from idxopt.optimizer.study.folder import StudyFolder
from idxopt.optimizer.study.manifest import StudyManifest
from idxopt.optimizer.study.store import StoredTrial, StudyStore

DEEPEST = 3
State = Literal["running", "stopped", "finished"]


@dataclass(frozen=True)
class Study:
    """A study as it is now. `record`: None until it ended for the first time. `state` `stopped`: it can go on."""

    folder: StudyFolder
    manifest: StudyManifest
    state: State
    trials: Sequence[StoredTrial]
    record: StudyRecord | None

    @property
    def name(self) -> str:
        return self.manifest.study

    def program(self, trial: int | None) -> Mapping[str, Any]:
        """The canonical program of a trial; None: the winner. Raises UsageError and BuildError."""
        if trial is None:
            if self.record is None:
                raise BuildError(
                    "the study has no winner yet", place=str(self.folder.path), remedy="name a trial with --point N"
                )
            return self.record.winner
        found = next((one for one in self.trials if one.number == trial), None)
        if found is None or not found.hash:
            numbers = f"0 to {len(self.trials) - 1}" if self.trials else "none"
            raise UsageError(
                f"there is no program of trial {trial}", place="--point", remedy=f"the trials are {numbers}"
            )
        return found.program

    def diagnosis(self, of: str) -> dict[str, Any]:
        """The diagnosis of the `winner` or the `baseline`, as JSON. Raises BuildError where the study has none yet."""
        path = self.folder.diagnosis(of)
        try:
            found: dict[str, Any] = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise BuildError(
                f"cannot be read ({error})",
                place=str(path),
                remedy="run the `idxopt optimize` of the study again: it writes it at its end",
            ) from error
        return found


def look_at(path: Path) -> Study:
    """The study in a folder. Raises UsageError where there is none, BuildError where it is damaged."""
    folder = StudyFolder(path)
    if not folder.exists:
        raise UsageError(
            "is no folder of a study", place=str(path), remedy="name one that `idxopt optimize --out` made"
        )
    manifest = StudyManifest.read(folder.manifest)
    store = StudyStore.open(folder.database)
    try:
        trials = store.trials()
    finally:
        store.close()
    record = StudyRecord.from_json(folder.record.read_bytes()) if folder.record.exists() else None
    state: State = "finished" if record is not None and record.finished else "stopped"
    return Study(folder, manifest, "running" if _locked(folder) else state, trials, record)


@dataclass(frozen=True, slots=True)
class Damaged:
    """A study that cannot be read. `why`: the error, in one line."""

    folder: StudyFolder
    why: str


def find_studies(path: Path) -> list[Study | Damaged]:
    """The studies in a folder, itself included, by path; those that cannot be read too.

    Raises UsageError for a folder that is not there.
    """
    if not path.is_dir():
        raise UsageError("is no folder", place=str(path), remedy="name a folder that holds studies")
    folders = [path, *(one for depth in range(1, DEEPEST + 1) for one in path.glob("/".join("*" * depth)))]
    return [_looked_at(one) for one in sorted(folders) if one.is_dir() and StudyFolder(one).exists]


def _looked_at(path: Path) -> Study | Damaged:
    try:
        return look_at(path)
    except (IdxoptError, OSError) as error:
        why = f"{error.place}: {error.message}" if isinstance(error, IdxoptError) and error.place else str(error)
        return Damaged(StudyFolder(path), " ".join(why.split()))


def _locked(folder: StudyFolder) -> bool:
    if not folder.lock.exists():
        return False
    lock = FileLock(folder.lock, timeout=0, is_singleton=False)
    try:
        lock.acquire()
    except (Timeout, OSError):
        return True
    lock.release()
    return False
