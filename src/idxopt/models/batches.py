"""Texts into batches of like length under a token budget, and their results back into the order of the texts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from idxopt.errors import ModelError
from idxopt.models.ports import Progress

CPU_TOKENS = 1_024
"""A batch on a CPU: its activations stay in the cache; batches of 8,192 tokens took a fifth longer (MiniLM, 24 and 240
tokens a text)."""
GPU_TOKENS = 32_768

T = TypeVar("T")


class DeviceFull(Exception):
    """A provider's memory did not suffice for a batch; smaller ones may do."""


def batches(lengths: Sequence[int], budget: int, *, single: bool = False) -> list[list[int]]:
    """Positions by batch, longest texts first: a batch times its longest text stays within the budget.

    A text that is longer than the budget is a batch by itself; `single`: every text is.
    """
    found: list[list[int]] = []
    longest = 0
    for position in sorted(range(len(lengths)), key=lambda at: (-lengths[at], at)):
        if not single and found and longest * (len(found[-1]) + 1) <= budget:
            found[-1].append(position)
        else:
            found.append([position])
            longest = max(1, lengths[position])
    return found


def run_in_batches(
    lengths: Sequence[int],
    budget: int,
    run: Callable[[list[int]], Sequence[T]],
    *,
    place: str,
    single: bool = False,
    on_progress: Progress | None = None,
) -> list[T]:
    """One result a text, in the order of the texts. A batch that raises DeviceFull or MemoryError is halved and run
    again.

    Raises ModelError naming the text that does not fit alone, or where `run` gives another number of results.
    """
    waiting = batches(lengths, budget, single=single)[::-1]
    results: dict[int, T] = {}
    while waiting:
        batch = waiting.pop()
        try:
            found = run(batch)
        except (DeviceFull, MemoryError) as error:
            if len(batch) == 1:
                raise ModelError(
                    f"the memory does not suffice for text {batch[0]} alone ({lengths[batch[0]]} tokens)",
                    place=place,
                    item=batch[0],
                    remedy="lower `max_tokens` of the model in the program, or use a device with more memory",
                ) from error
            half = len(batch) // 2
            waiting += [batch[half:], batch[:half]]
            continue
        if len(found) != len(batch):
            raise ModelError(
                f"the model gave {len(found)} results for {len(batch)} texts", place=place, remedy="check the model"
            )
        results.update(zip(batch, found, strict=True))
        if on_progress is not None:
            on_progress(len(results), len(lengths))
    return [results[position] for position in range(len(lengths))]
