"""What steps find out about a text (structure, words), kept while many programs are tried on the same documents.

A build meets each document once and keeps next to nothing; a study meets it for every candidate. Whoever runs steps
again and again says so with `remembering`; without that nothing is kept here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar, cast

T = TypeVar("T")
MAX_CHARACTERS = 200_000_000
"""Characters of the texts that something is kept of, once for each kind of finding: of a corpus of 20 MB ten kinds of
findings, some hundred megabytes.
"""


class Memory:
    """Findings by kind and text; those used longest ago go first. For one thread."""

    def __init__(self, max_characters: int = MAX_CHARACTERS) -> None:
        self._max = max_characters
        self._characters = 0
        self._found: OrderedDict[tuple[str, str], Any] = OrderedDict()

    def get(self, what: str, text: str, find: Callable[[str], T]) -> T:
        """What `find` gives for the text, found once."""
        key = (what, text)
        if key in self._found:
            self._found.move_to_end(key)
            return cast(T, self._found[key])
        found = self._found[key] = find(text)
        self._characters += len(text)
        while self._characters > self._max and len(self._found) > 1:
            (_, gone), _ = self._found.popitem(last=False)
            self._characters -= len(gone)
        return found


_memory: ContextVar[Memory | None] = ContextVar("memory", default=None)


@contextmanager
def remembering(memory: Memory) -> Iterator[None]:
    """Steps that run inside keep what they find in `memory`."""
    token = _memory.set(memory)
    try:
        yield
    finally:
        _memory.reset(token)


def once(what: str, text: str, find: Callable[[str], T]) -> T:
    """What `find` gives for the text; kept under `what` where somebody remembers."""
    memory = _memory.get()
    return find(text) if memory is None else memory.get(what, text, find)
