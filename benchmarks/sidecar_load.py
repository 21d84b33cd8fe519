"""The clients of benchmarks.sidecar: closed loops over HTTP, and what they saw."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

import aiohttp

from benchmarks.collections import collection
from benchmarks.report import Value

CONNECT_S = 30
ANSWER_S = 300


@dataclass(frozen=True, slots=True)
class Load:
    """`clients` send `texts` texts a request, each its next one when the last is answered, for `seconds`."""

    name: str
    clients: int
    texts: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Seen:
    """Texts a second, seconds of each request, and seconds that processors worked on a text (all cores together)."""

    rate: float
    latencies: Sequence[float]
    work: float

    def row(self) -> dict[str, Value]:
        """Figures of a table."""
        ordered = sorted(self.latencies)
        return {
            "texts/s": self.rate,
            "p50 ms": 1_000 * statistics.median(ordered),
            "p99 ms": 1_000 * ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))],
            "requests": len(ordered),
            "cpu ms/text": 1_000 * self.work,
        }


def joined(seen: Sequence[Seen]) -> Seen:
    """Several rounds as one: the medians, all latencies."""
    latencies = [second for one in seen for second in one.latencies]
    return Seen(statistics.median(one.rate for one in seen), latencies, statistics.median(one.work for one in seen))


def pieces(number: int, *, least: int, most: int, seed: int) -> list[str]:
    """Pieces of real texts (scifact) of `least` to `most` words."""
    chosen = random.Random(seed)
    found: list[str] = []
    for document in cycle(collection("scifact").documents()):
        words = str(document["text"]).split()
        size = chosen.randint(least, most)
        if len(words) >= size:
            begin = chosen.randint(0, len(words) - size)
            found.append(" ".join(words[begin : begin + size]))
        if len(found) == number:
            return found
    return found


def drive(url: str, bodies: Sequence[dict[str, Any]], load: Load, worked: Callable[[], float]) -> Seen:
    """Sends the bodies over and over. Every answer must be 200; it is read whole. `worked`: the server's seconds."""
    before = worked()
    rate, latencies = asyncio.run(_drive(url, cycle(bodies), load))
    return Seen(rate, latencies, (worked() - before) / (len(latencies) * load.texts))


async def _drive(url: str, bodies: Iterator[dict[str, Any]], load: Load) -> tuple[float, list[float]]:
    timeout = aiohttp.ClientTimeout(total=ANSWER_S, sock_connect=CONNECT_S)
    latencies: list[float] = []
    async with aiohttp.ClientSession(timeout=timeout, connector=aiohttp.TCPConnector(limit=0)) as session:
        began = time.perf_counter()

        async def client() -> None:
            while time.perf_counter() - began < load.seconds:
                sent = time.perf_counter()
                async with session.post(url, json=next(bodies)) as answer:
                    content = await answer.read()
                    if answer.status != 200:
                        raise RuntimeError(f"{url} answered {answer.status}: {content[:300]!r}")
                latencies.append(time.perf_counter() - sent)

        await asyncio.gather(*(client() for _ in range(load.clients)))
        took = time.perf_counter() - began
    return len(latencies) * load.texts / took, latencies
