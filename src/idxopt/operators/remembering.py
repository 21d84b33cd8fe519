"""What steps find out about a text (structure, words), kept while many programs are tried on the same documents.

A build meets each document once and keeps next to nothing; a study meets it for every candidate. Whoever runs steps
again and again says so with `remembering`; without that nothing is kept here.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Generic, TypeVar, cast

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
MAX_CHARACTERS = 200_000_000
"""Characters of the texts that something is kept of, once for each kind of finding: of a corpus of 20 MB ten kinds of
findings, some hundred megabytes.
"""


class Kept(Generic[K, V]):
    """Values by key, up to a total size: those used longest ago go first, the last one stays. For one thread."""

    def __init__(self, most: int, size: Callable[[V], int]) -> None:
        self._most, self._size = most, size
        self._total = 0
        self._values: OrderedDict[K, V] = OrderedDict()

    def __contains__(self, key: K) -> bool:
        return key in self._values

    def __getitem__(self, key: K) -> V:
        """Counts as a use. Raises KeyError."""
        self._values.move_to_end(key)
        return self._values[key]

    def put(self, key: K, value: V) -> V:
        """Keeps a value under a key that has none, and gives it back."""
        self._values[key] = value
        self._total += self._size(value)
        while self._total > self._most and len(self._values) > 1:
            _, gone = self._values.popitem(last=False)
            self._total -= self._size(gone)
        return value


class Memory:
    """Findings by kind and text; those used longest ago go first. For one thread."""

    def __init__(self, max_characters: int = MAX_CHARACTERS) -> None:
        self._found: Kept[tuple[str, str], tuple[str, Any]] = Kept(max_characters, lambda found: len(found[0]))

    def get(self, what: str, text: str, find: Callable[[str], T]) -> T:
        """What `find` gives for the text, found once."""
        key = (what, text)
        if key in self._found:
            return cast(T, self._found[key][1])
        return cast(T, self._found.put(key, (text, find(text)))[1])


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
