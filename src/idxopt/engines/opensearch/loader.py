"""Bulk writing that loses nothing: streaming, bounded memory, retries item by item, back-pressure.

The calling thread reads and encodes rows; worker threads send. What a lost reply, a 409, a 413 or a 429 means is
decided here; how bytes become batches and replies verdicts is in `bulk`.
"""

from __future__ import annotations

import itertools
import queue
import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import tenacity

from idxopt.engines.opensearch.bulk import REPLY, Item, Limits, Verdict, batches, compare, judge
from idxopt.engines.opensearch.faults import Fault, RequestFailed
from idxopt.engines.opensearch.wire import Wire, segment
from idxopt.engines.port import LoadReport, RowFailure
from idxopt.errors import Conflict, EngineError, Overloaded, Unreachable

BATCH_BYTES = 4 * 1024 * 1024
BATCH_ROWS = 2000
CHECK_EVERY_S = 1.0
SYSTEMATIC = 20
SMALL_BYTES = 512 * 1024


@dataclass(frozen=True)
class Patience:
    """How long a batch without any progress is tried. Times in seconds."""

    give_up_s: float = 120.0
    first_wait_s: float = 0.1
    longest_wait_s: float = 10.0
    request_s: float = 120.0


class _Again(Exception):
    """Nothing of the batch went through this time."""

    def __init__(self, error: EngineError) -> None:
        super().__init__(str(error))
        self.error = error


@contextmanager
def _waiting_out() -> Iterator[None]:
    """A node that restarts is waited for, whichever request meets it."""
    try:
        yield
    except (Unreachable, Overloaded) as error:
        raise _Again(error) from error


@dataclass
class _Gate:
    """Back-pressure shared by all workers: fewer at once after a refusal, one more after each success (AIMD)."""

    workers: int
    stop: threading.Event
    allowed: int = 0
    active: int = 0
    not_before: float = 0.0
    moved: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self.allowed = self.workers

    def enter(self) -> None:
        with self.moved:
            while not self.stop.is_set() and (self.active >= self.allowed or time.monotonic() < self.not_before):
                self.moved.wait(0.05)
            self.active += 1

    def leave(self, *, turned_away: bool) -> None:
        with self.moved:
            self.active -= 1
            self.allowed = max(1, self.allowed // 2) if turned_away else min(self.workers, self.allowed + 1)
            self.moved.notify_all()

    def pause(self, seconds: float) -> None:
        """All workers wait, not only the one that was turned away."""
        with self.moved:
            self.not_before = max(self.not_before, time.monotonic() + seconds)


@dataclass
class _Tally:
    """Counts of all workers. `progress` is told how many rows are done so far."""

    on_progress: Callable[[int], None] | None
    created: int = 0
    existed: int = 0
    throttled: int = 0
    splits: int = 0
    rejected_alone: int = 0
    done: int = 0
    failed: list[RowFailure] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def refuse(self, failure: RowFailure) -> None:
        self.add(1, failed=[failure])

    def add(self, rows: int, *, created: int = 0, existed: int = 0, failed: Sequence[RowFailure] = ()) -> None:
        with self.lock:
            self.created += created
            self.existed += existed
            self.failed.extend(failed)
            self.done += rows
            if rows and self.on_progress is not None:
                self.on_progress(self.done)

    def turned_away(self, items: Sequence[Item]) -> None:
        """Counts each item once, however often it is turned away."""
        with self.lock:
            for item in items:
                self.throttled += not item.turned_away
                item.turned_away = True

    def report(self) -> LoadReport:
        return LoadReport(self.created, self.existed, tuple(self.failed), self.throttled, self.splits)


class Loader:
    """One load into one index of one uuid."""

    def __init__(
        self,
        wire: Wire,
        index: str,
        uuid: str,
        *,
        uuid_of: Callable[[str], str | None],
        stored: Callable[[Sequence[str]], Mapping[str, Mapping[str, Any]]],
        ceiling: int,
        workers: int,
        on_progress: Callable[[int], None] | None,
        patience: Patience,
    ) -> None:
        self._wire = wire
        self._index = index
        self._uuid = uuid
        self._uuid_of = uuid_of
        self._stored = stored
        self._workers = max(1, workers)
        self._patience = patience
        self._path = f"/{segment(index)}/_bulk"
        self._place = wire.place("POST", self._path)
        # A tenth is left for the head lines of the request and for proxies with a limit of their own.
        ceiling = int(ceiling * 0.9)
        self._limits = Limits(target=min(BATCH_BYTES, ceiling), rows=BATCH_ROWS, ceiling=ceiling)
        self._tally = _Tally(on_progress)
        self._stop = threading.Event()
        self._gate = _Gate(self._workers, self._stop)
        self._error: BaseException | None = None
        self._checked = 0.0
        self._check_lock = threading.Lock()

    def run(self, items: Iterable[Item | RowFailure]) -> LoadReport:
        """Writes all items. Raises EngineError when the load as a whole cannot go on; what is stored stays."""
        self._check_uuid(now=True)
        work: queue.Queue[list[Item] | None] = queue.Queue(maxsize=self._workers)
        threads = [threading.Thread(target=self._serve, args=(work,), daemon=True) for _ in range(self._workers)]
        for thread in threads:
            thread.start()
        try:
            for batch in batches(items, self._limits, self._tally.refuse):
                self._hand_over(work, batch)
                if self._stop.is_set():
                    break
            for _ in threads:
                self._hand_over(work, None)
        except BaseException:
            self._stop.set()
            raise
        finally:
            for thread in threads:
                thread.join()
        if self._error is not None:
            raise self._error
        self._check_uuid(now=True)
        return self._tally.report()

    def _hand_over(self, work: queue.Queue[list[Item] | None], batch: list[Item] | None) -> None:
        while not self._stop.is_set():
            with suppress(queue.Full):
                work.put(batch, timeout=0.1)
                return

    def _serve(self, work: queue.Queue[list[Item] | None]) -> None:
        while not self._stop.is_set():
            try:
                batch = work.get(timeout=0.1)
            except queue.Empty:
                continue
            if batch is None:
                return
            try:
                self._deliver(batch)
                del batch  # megabytes, not to be kept while waiting for the next one
            except BaseException as error:  # noqa: BLE001 - handed to the calling thread, which raises it
                with self._check_lock:
                    self._error = self._error or error
                self._stop.set()

    def _check_uuid(self, *, now: bool = False) -> None:
        """A bulk request into a deleted index makes the engine create it again, so the index is looked at all along."""
        with self._check_lock:
            if not now and time.monotonic() - self._checked < CHECK_EVERY_S:
                return
            found = self._uuid_of(self._index)
            self._checked = time.monotonic()
        if found != self._uuid:
            state = "is gone" if found is None else f"now has the uuid {found} instead of {self._uuid}"
            raise Conflict(
                f"the index {state}: something deleted it during the load",
                place=self._index,
                remedy="find out what deletes indices here (lifecycle policy, another run), then run again",
            )

    def _deliver(self, batch: list[Item]) -> None:
        """Sends until every row has its verdict. Rounds with some progress do not count against the patience."""
        pending = batch
        for rounds in itertools.count():
            pending = self._until_progress(pending)
            if not pending or self._stop.is_set():
                return
            limit = min(self._patience.first_wait_s * 2**rounds, self._patience.longest_wait_s)
            self._sleep(random.uniform(0, limit))

    def _until_progress(self, batch: list[Item]) -> list[Item]:
        policy = tenacity.Retrying(
            stop=tenacity.stop_after_delay(self._patience.give_up_s),
            wait=tenacity.wait_random_exponential(self._patience.first_wait_s, self._patience.longest_wait_s),
            retry=tenacity.retry_if_exception_type(_Again),
            sleep=self._sleep,
        )
        try:
            return policy(self._round, batch)
        except tenacity.RetryError as exhausted:
            last = exhausted.last_attempt.exception()
            assert isinstance(last, _Again)
            raise self._given_up(last.error) from None

    def _sleep(self, seconds: float) -> None:
        self._gate.pause(seconds)
        self._stop.wait(seconds)

    def _given_up(self, error: EngineError) -> EngineError:
        kind = Unreachable if isinstance(error, Unreachable) else Overloaded
        return kind(
            f"nothing went through for {self._patience.give_up_s:.0f} s: {error.message}",
            place=self._place,
            remedy=error.remedy or "run again when the cluster has less load: what is stored is not sent twice",
            status=error.status,
        )

    def _round(self, batch: list[Item]) -> list[Item]:
        """One request; returns what is left of the batch. Raises _Again when nothing of it was decided."""
        if self._stop.is_set():
            return []
        with _waiting_out():
            self._check_uuid()
        self._gate.enter()
        turned_away = True
        try:
            verdict, failure = self._send(batch), None
            turned_away = bool(verdict.again)
        except RequestFailed as failed:
            verdict, failure = Verdict(), failed
        finally:
            self._gate.leave(turned_away=turned_away)
        if failure is not None:
            return self._without_reply(batch, failure)
        return self._settle(batch, verdict)

    def _send(self, batch: list[Item]) -> Verdict:
        body = b"".join(item.lines for item in batch)
        reply = self._wire.once(
            "POST",
            self._path,
            body,
            params={"pipeline": "_none", "filter_path": REPLY},
            timeout_s=max(self._wire.timeout_s, self._patience.request_s),
        )
        return judge(batch, reply, self._place)

    def _settle(self, batch: list[Item], verdict: Verdict) -> list[Item]:
        existed, absent, differ = 0, list[Item](), list[RowFailure]()
        if verdict.taken:
            with _waiting_out():  # nothing is counted yet: the whole batch is sent again
                stored = self._stored([item.id for item in verdict.taken])
            existed, absent, differ = compare(verdict.taken, stored)
        left = verdict.again + absent
        failed = [*verdict.failed, *differ]
        self._tally.turned_away(verdict.again)
        self._tally.add(len(batch) - len(left), created=verdict.created, existed=existed, failed=failed)
        if verdict.fatal is not None:
            with suppress(Unreachable, Overloaded):
                self._check_uuid(now=True)
            raise verdict.fatal
        if len(left) == len(batch):
            raise _Again(verdict.cause or Overloaded("rows were answered 409, but are not there", place=self._place))
        return left

    def _without_reply(self, batch: list[Item], failed: RequestFailed) -> list[Item]:
        """The request as a whole failed: split it, name its row, try it again, or end the load."""
        fault = failed.fault
        size = sum(len(item.lines) for item in batch)
        if fault.kind == "too_large":
            self._limits.shrink(size)
        if fault.kind == "too_large" or _names_no_row(fault):
            return self._split(batch, fault)
        if fault.kind == "final":
            raise fault.error from failed.__cause__
        if fault.kind == "throttled":
            self._tally.turned_away(batch)
            if size > SMALL_BYTES and len(batch) > 1:
                # A node under indexing pressure takes no request above a share of its heap, however long one waits.
                self._limits.shrink(size, SMALL_BYTES)
                self._sleep(random.uniform(0, self._patience.first_wait_s * 2))
                return self._split(batch, fault)
        raise _Again(fault.error) from failed

    def _split(self, batch: list[Item], fault: Fault) -> list[Item]:
        if len(batch) == 1:
            self._alone(batch[0], fault)
            return []
        if fault.kind == "too_large":
            with self._tally.lock:
                self._tally.splits += 1
        middle = len(batch) // 2
        self._deliver(batch[:middle])
        return batch[middle:]

    def _alone(self, item: Item, fault: Fault) -> None:
        status = fault.error.status or 400
        self._tally.add(1, failed=[RowFailure(item.id, status, fault.error.message)])
        with self._tally.lock:
            self._tally.rejected_alone += 1
            hopeless = self._tally.rejected_alone >= SYSTEMATIC and not self._tally.created + self._tally.existed
        if hopeless:
            # Not the rows: the cluster refuses every request of this form.
            raise fault.error


def _names_no_row(fault: Fault) -> bool:
    """The engine refuses a whole request for one bad row (an id that is too long), without saying which."""
    return fault.kind == "final" and fault.error.status == 400
