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
CPU_RUN_COST = 16
"""One more run of the network costs a CPU about as much as so many tokens: short texts of mixed lengths took a fifth
less processor time than in full batches (MiniLM, 10 to 60 tokens a text)."""

T = TypeVar("T")


class DeviceFull(Exception):
    """A provider's memory did not suffice for a batch; smaller ones may do."""


def batches(
    lengths: Sequence[int], budget: int, *, single: bool = False, run_cost: int | None = None
) -> list[list[int]]:
    """Positions by batch, longest texts first: a batch times its longest text stays within the budget.

    A text that is longer than the budget is a batch by itself; `single`: every text is. `run_cost`: what one more batch
    costs, in tokens; batches are then those of the least cost, padding counted. None: they are filled.
    """
    order = sorted(range(len(lengths)), key=lambda at: (-lengths[at], at))
    if single:
        return [[position] for position in order]
    ends = _filled if run_cost is None else _cheapest
    sizes = [max(1, lengths[position]) for position in order]
    return [order[begin:end] for begin, end in ends(sizes, budget, run_cost or 0)]


def _filled(sizes: Sequence[int], budget: int, _run_cost: int) -> list[tuple[int, int]]:
    """(begin, end) of each batch of sizes that fall."""
    found: list[tuple[int, int]] = []
    begin = 0
    while begin < len(sizes):
        end = min(len(sizes), begin + max(1, budget // sizes[begin]))
        found.append((begin, end))
        begin = end
    return found


def _cheapest(sizes: Sequence[int], budget: int, run_cost: int) -> list[tuple[int, int]]:
    """The same, with the least sum of padded tokens and runs."""
    least = [0, *[-1] * len(sizes)]  # of the first n sizes; -1: not known yet
    begins = [0] * (len(sizes) + 1)
    for begin, longest in enumerate(sizes):
        for end in range(begin + 1, min(len(sizes), begin + max(1, budget // longest)) + 1):
            cost = least[begin] + run_cost + longest * (end - begin)
            if not 0 <= least[end] <= cost:
                least[end], begins[end] = cost, begin
    found: list[tuple[int, int]] = []
    end = len(sizes)
    while end:
        found.append((begins[end], end))
        end = begins[end]
    return found[::-1]


def run_in_batches(
    lengths: Sequence[int],
    budget: int,
    run: Callable[[list[int]], Sequence[T]],
    *,
    place: str,
    single: bool = False,
    run_cost: int | None = None,
    on_progress: Progress | None = None,
) -> list[T]:
    """One result a text, in the order of the texts. A batch that raises DeviceFull or MemoryError is halved and run
    again.

    Raises ModelError naming the text that does not fit alone, or where `run` gives another number of results.
    """
    waiting = batches(lengths, budget, single=single, run_cost=run_cost)[::-1]
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
