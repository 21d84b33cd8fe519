"""One worker thread a model: takes batches from the scheduler, runs them, hands answers back to the event loop."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from idxopt.errors import ModelError
from idxopt.sidecar.running import Failed, run_apart
from idxopt.sidecar.scheduler import BatchLimits, Item, Scheduler, Wait


class Observer(Protocol):
    """Told what a worker does (metrics)."""

    def batch(self, texts: int, tokens: int, seconds: float) -> None: ...

    def halved(self, texts: int, /) -> None: ...

    def withdrawn(self, texts: int) -> None: ...


Runner = Callable[[Any, Sequence[str]], Sequence[Any]]
"""Runs some texts of one context (the query of a reranker, None for an embedder): an answer a text, in order."""


@dataclass(slots=True)
class Job:
    """A request on its way. `context`: what its texts are read with; requests of equal context share a call."""

    context: Any
    texts: Sequence[str]
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[list[Any]]
    answers: dict[int, Any] = field(default_factory=dict)


class Worker:
    """A model's queue and its thread. `submit` is called on the event loop, the model on the thread."""

    def __init__(self, name: str, run: Runner, limits: BatchLimits, observer: Observer) -> None:
        self._run = run
        self._observer = observer
        self._scheduler = Scheduler(limits)
        self._jobs: dict[int, Job] = {}
        self._changed = threading.Condition()
        self._stopping = False
        self._rate = 0.0
        self._thread = threading.Thread(target=self._work, name=f"model {name}", daemon=True)
        self._thread.start()

    @property
    def alive(self) -> bool:
        return self._thread.is_alive() and not self._stopping

    @property
    def waiting(self) -> int:
        """Texts in the queue."""
        return self._scheduler.texts

    @property
    def tokens_per_second(self) -> float:
        """Of late, 0 before the first batch."""
        return self._rate

    async def submit(self, context: Any, texts: Sequence[str], tokens: Sequence[int]) -> list[Any]:
        """All answers in order. Raises QueueFull, TooLong, ModelError. A cancelled caller's texts are dropped."""
        loop = asyncio.get_running_loop()
        job = Job(context, texts, loop, loop.create_future())
        with self._changed:
            if self._stopping:
                raise ModelError("the server is shutting down", remedy="send the request again")
            ticket = self._scheduler.offer(tokens, time.monotonic())
            if texts:
                self._jobs[ticket] = job
            else:
                job.done.set_result([])
            self._changed.notify()
        try:
            return await job.done
        except asyncio.CancelledError:
            self._drop(ticket)
            raise

    def _drop(self, ticket: int) -> None:
        with self._changed:
            if self._jobs.pop(ticket, None) is None:
                return
            before = self._scheduler.texts
            self._scheduler.withdraw(ticket)
            self._observer.withdrawn(before - self._scheduler.texts)

    def stop(self, timeout: float) -> bool:
        """Ends the thread after what is queued is done; True when it ended within `timeout` seconds."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _work(self) -> None:
        try:
            self._serve()
        finally:
            self._abandon()

    def _abandon(self) -> None:
        """Nobody may wait for a thread that has ended, whatever ended it."""
        with self._changed:
            self._stopping = True
            left = [*self._jobs.values()]
            self._jobs.clear()
        ended = ModelError("the thread of this model has ended", remedy="start the server again; its log says why")
        self._deliver([(job, Failed(ended)) for job in left])

    def _serve(self) -> None:
        free_since = time.monotonic()
        while (taken := self._next(free_since)) is not None:
            began = time.monotonic()
            finished = self._answer(*taken)
            free_since = time.monotonic()
            with self._changed:
                self._scheduler.finished()
            tokens = sum(item.tokens for item in taken[0])
            self._rate = tokens / max(free_since - began, 1e-6)
            try:
                self._observer.batch(len(taken[0]), tokens, free_since - began)
            finally:
                self._deliver(finished)

    def _next(self, free_since: float) -> tuple[tuple[Item, ...], dict[int, Job]] | None:
        """The next batch and its jobs; None when the worker is to end."""
        with self._changed:
            while True:
                now = time.monotonic()
                decision = self._scheduler.decide(now, free_since)
                if not isinstance(decision, Wait):
                    jobs = {item.ticket: self._jobs[item.ticket] for item in decision.items}
                    return decision.items, jobs
                if self._stopping and decision.until is None:
                    return None
                self._changed.wait(None if decision.until is None else decision.until - now)

    def _answer(self, items: Sequence[Item], jobs: dict[int, Job]) -> list[tuple[Job, Failed | None]]:
        """Runs a batch; the jobs that are answered in full or have failed."""
        finished: list[tuple[Job, Failed | None]] = []
        groups: dict[Any, list[Item]] = {}
        for item in items:
            groups.setdefault(jobs[item.ticket].context, []).append(item)
        for context, group in groups.items():
            outcome = run_apart(
                [item.ticket for item in group],
                [jobs[item.ticket].texts[item.position] for item in group],
                lambda texts, context=context: self._run(context, texts),  # type: ignore[misc]
                on_halved=self._observer.halved,
            )
            positions: dict[int, list[int]] = {}
            for item in group:
                positions.setdefault(item.ticket, []).append(item.position)
            for ticket, result in outcome.items():
                if (end := self._keep(ticket, jobs[ticket], positions[ticket], result)) is not None:
                    finished.append(end)
        return finished

    def _keep(
        self, ticket: int, job: Job, positions: Sequence[int], result: list[Any] | Failed
    ) -> tuple[Job, Failed | None] | None:
        if isinstance(result, Failed):
            if result.error.item is not None:
                result.error.item = positions[result.error.item]
            self._forget(ticket)
            return job, result
        job.answers.update(zip(positions, result, strict=True))
        if len(job.answers) < len(job.texts):
            return None
        self._forget(ticket)
        return job, None

    def _forget(self, ticket: int) -> None:
        with self._changed:
            self._jobs.pop(ticket, None)
            self._scheduler.withdraw(ticket)

    def _deliver(self, finished: Sequence[tuple[Job, Failed | None]]) -> None:
        """One wake-up of each event loop, whatever the number of jobs."""
        by_loop: dict[asyncio.AbstractEventLoop, list[tuple[Job, Failed | None]]] = {}
        for job, failed in finished:
            by_loop.setdefault(job.loop, []).append((job, failed))
        for loop, ends in by_loop.items():
            try:
                loop.call_soon_threadsafe(_settle, ends)
            except RuntimeError:  # the loop was closed: nobody waits any more
                continue


def _settle(ends: Sequence[tuple[Job, Failed | None]]) -> None:
    for job, failed in ends:
        if job.done.done():
            continue
        if failed is None:
            job.done.set_result([job.answers[position] for position in range(len(job.texts))])
        else:
            job.done.set_exception(failed.error)
