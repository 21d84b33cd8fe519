"""stdout and stderr that never stop the work: what cannot be written is dropped, and told at the end.

`apply | head -1` must finish and unlock, whatever becomes of its text.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO, cast


class Outlet:
    """A text stream. `failure`: why writing ended, unless its reader just went away (that is no error)."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._closed = False
        self.failure: OSError | None = None

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"text, not {type(text).__name__}")
        if not self._closed:
            try:
                self._stream.write(text)
            except OSError as error:
                self._close(error)
        return len(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if not self._closed:
            try:
                self._stream.flush()
            except OSError as error:
                self._close(error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def _close(self, error: OSError) -> None:
        self._closed = True
        if not isinstance(error, BrokenPipeError | ConnectionResetError):
            self.failure = error
        with contextlib.suppress(OSError, ValueError):  # what is still buffered goes nowhere, and so without an error
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())


@contextmanager
def outlets() -> Iterator[Outlet]:
    """Inside, stdout (which is yielded) and stderr are outlets. Text that their encoding lacks is shown escaped."""
    _occupy()
    out, err = _outlet(sys.stdout), _outlet(sys.stderr)
    with contextlib.redirect_stdout(cast(TextIO, out)), contextlib.redirect_stderr(cast(TextIO, err)):
        try:
            yield out
        finally:
            out.flush()
            err.flush()


def _outlet(stream: TextIO | None) -> Outlet:
    """A stream that was closed from the start (`>&-`) is one that nobody reads."""
    if stream is None:
        stream = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="backslashreplace")
    return Outlet(stream)


def _occupy() -> None:
    """Standard descriptors that were closed lead to nowhere: no file of ours may get their number."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
