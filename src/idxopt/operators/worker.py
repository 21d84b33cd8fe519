"""A worker process: `python -m idxopt.operators.worker`. It reads pickled messages on stdin and answers each on stdout.

The first message names a function `module:name` and its argument; what it returns is called with each later message.
A plain process and not `multiprocessing`: no `__main__` is imported again, and none of the parent's threads or locks
are copied. The end of stdin ends the process, so a parent that dies leaves none behind.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import pickle
import signal
import sys
from collections.abc import Callable
from typing import Any, BinaryIO

from idxopt.operators.heap import map_large_blocks

_LENGTH_BYTES = 8


def write_message(stream: BinaryIO, message: Any) -> None:
    """One pickled message, after its length."""
    data = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    stream.write(len(data).to_bytes(_LENGTH_BYTES, "big"))
    stream.write(data)
    stream.flush()


def read_message(stream: BinaryIO) -> Any:
    """The next message. Raises EOFError at the end of the stream, in the middle of a message too."""
    size = int.from_bytes(_exactly(stream, _LENGTH_BYTES), "big")
    return pickle.loads(_exactly(stream, size))  # noqa: S301 - written by our own parent or child


def _exactly(stream: BinaryIO, size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _function(place: str, argument: Any) -> Callable[[Any], Any]:
    module, _, name = place.partition(":")
    function: Callable[[Any], Any] = getattr(importlib.import_module(module), name)(argument)
    return function


def main() -> None:
    """Serves until stdin ends. What a library prints goes to stderr, never between the answers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    map_large_blocks()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    questions = sys.stdin.buffer
    with contextlib.suppress(EOFError, BrokenPipeError):
        work = _function(*read_message(questions))
        while True:
            write_message(answers, work(read_message(questions)))


if __name__ == "__main__":
    main()
