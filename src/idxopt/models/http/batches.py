"""Lists of texts cut into requests, several of which are under way at once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")

BATCH_TEXTS = 32
"""Texts of one request: the least that common servers take by default."""
CHARACTERS_A_TOKEN = 4


def batches(texts: Sequence[str], batch_tokens: int) -> list[range]:
    """Positions of the texts of each request: at most 32 texts, and `batch_tokens` tokens by a rule of thumb.

    A longer text goes alone.
    """
    characters = batch_tokens * CHARACTERS_A_TOKEN
    found: list[range] = []
    start, size = 0, 0
    for position, text in enumerate(texts):
        if position > start and (position - start == BATCH_TEXTS or size + len(text) > characters):
            found.append(range(start, position))
            start, size = position, 0
        size += len(text)
    return [*found, range(start, len(texts))] if start < len(texts) else found


def each(parts: Sequence[range], ask: Callable[[range], list[T]], concurrency: int) -> Iterator[tuple[range, list[T]]]:
    """Each batch with its answer, as answers come. The first failure is raised, and what has not begun never is."""
    if len(parts) <= 1 or concurrency == 1:
        for part in parts:
            yield part, ask(part)
        return
    pool = ThreadPoolExecutor(min(concurrency, len(parts)), thread_name_prefix="model-server")
    try:
        asked = {pool.submit(ask, part): part for part in parts}
        waiting: set[Future[list[T]]] = set(asked)
        while waiting:
            done, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in sorted(done, key=lambda one: asked[one].start):
                yield asked[future], future.result()
    finally:
        pool.shutdown(cancel_futures=True)
