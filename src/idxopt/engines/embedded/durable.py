"""Every change on disk goes through here: write a temporary file, fsync it, rename it, fsync its folder.

So a process killed at any point, or a machine without power, leaves either the old file or the new one. Tests replace
`hook`, which is called before each step and once after each rename, to kill the process there or to raise an OSError.
"""

from __future__ import annotations

import errno
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Literal

from idxopt.errors import EngineError, Forbidden

Step = Literal["open", "fsync", "rename", "renamed", "fsync_folder", "remove"]

TEMPORARY = ".tmp"
"""How the name of every file that is not finished ends; whoever holds the lock of a folder may delete them."""


def _nothing(step: Step, path: Path) -> None:
    """The hook outside tests."""


hook: Callable[[Step, Path], None] = _nothing


@contextmanager
def new_file(path: Path) -> Iterator[BinaryIO]:
    """A file that appears under its name, complete and on disk, when the block ends without an exception."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{TEMPORARY}")
    hook("open", temporary)
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            hook("fsync", temporary)
            os.fsync(file.fileno())
        hook("rename", path)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    hook("renamed", path)
    sync_folder(path.parent)


def write_bytes(path: Path, content: bytes) -> None:
    """Replaces a small file."""
    with new_file(path) as file:
        file.write(content)


def make_folder(path: Path) -> None:
    """Makes a folder and what is missing above it."""
    if path.is_dir():
        return
    make_folder(path.parent)
    hook("open", path)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def remove(path: Path) -> None:
    """Deletes a file. Gone already is fine, and so is one that another process still reads (Windows): it goes later."""
    hook("remove", path)
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        if os.name != "nt":
            raise


def remove_folder(path: Path) -> None:
    """Deletes a folder that nothing refers to any more, as far as that is possible now."""
    hook("remove", path)
    shutil.rmtree(path, ignore_errors=True)


def sync_folder(path: Path) -> None:
    """Puts the names in a folder on disk. Windows has no such call and needs none."""
    hook("fsync_folder", path)
    if os.name == "nt":
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def disk_errors(place: Path) -> Iterator[None]:
    """Turns an OSError into one EngineError with place and remedy. FileNotFoundError passes: the caller knows why."""
    try:
        yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _engine_error(error, place) from error


def _engine_error(error: OSError, place: Path) -> EngineError:
    where = str(place)
    if error.errno in {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}:
        return EngineError(
            f"no space left to write ({error.strerror}); nothing was changed",
            place=where,
            remedy="free some space on this disk and run the command again",
        )
    if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS}:
        return Forbidden(
            f"this folder is read-only for this user ({error.strerror})",
            place=where,
            remedy="give the user write permission, or choose another folder",
        )
    return EngineError(
        f"the disk answered with an error ({error.strerror or error})",
        place=where,
        remedy="check the disk and this folder",
    )
