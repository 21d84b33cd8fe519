"""Bulk requests: rows into bytes, bytes into batches, replies into verdicts. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import orjson

from idxopt.engines.opensearch.faults import from_status, reason_of
from idxopt.engines.port import LoadRow, RowFailure
from idxopt.errors import EngineError, Unreachable
from idxopt.operators.row import row_digest

ID_BYTES = 512
AGAIN = frozenset({429, 502, 503, 504})
FATAL = frozenset({401, 403})
REPLY = "errors,items.*.status,items.*.error"


Action = Literal["create", "index", "delete"]


@dataclass(slots=True)
class Item:
    """One operation ready to send: its id, and its action line with the source line where there is one."""

    id: str
    lines: bytes
    action: Action = "create"
    turned_away: bool = False

    @property
    def source(self) -> Any:
        """The row's body, parsed back."""
        return orjson.loads(self.lines.split(b"\n", 2)[1])


@dataclass(slots=True)
class Verdict:
    """What a reply says about each row of a batch.

    `again`: turned away (`cause`), to be sent once more. `taken`: answered 409. `fatal`: true for every row.
    """

    created: int = 0
    again: list[Item] = field(default_factory=list)
    taken: list[Item] = field(default_factory=list)
    failed: list[RowFailure] = field(default_factory=list)
    fatal: EngineError | None = None
    cause: EngineError | None = None


def encode(row: LoadRow, action: Action = "create") -> Item | RowFailure:
    """The row's bytes, or why it can never be stored. A delete sends no body.

    An id over 512 bytes or not Unicode would make the engine refuse the whole request, so it is named here.
    """
    try:
        size = len(row.id.encode())
        if not 0 < size <= ID_BYTES:
            return RowFailure(row.id, 400, f"the id has {size} bytes; 1 to {ID_BYTES} are possible")
        head = orjson.dumps({action: {"_id": row.id}})
        lines = b"%b\n" % head if action == "delete" else b"%b\n%b\n" % (head, orjson.dumps(row.body))
        return Item(row.id, lines, action)
    except UnicodeEncodeError:
        return RowFailure(row.id, 400, "the id holds half of a surrogate pair, which is not Unicode text")
    except TypeError as error:
        # orjson: lone surrogates, integers beyond 64 bits, values that JSON does not have.
        return RowFailure(row.id, 400, f"the row cannot be written as JSON: {error}")


@dataclass
class Limits:
    """How large a request may get. `target` shrinks when the cluster says that a request was too large."""

    target: int
    rows: int
    ceiling: int

    def shrink(self, size: int, floor: int = 1) -> None:
        """A request of `size` bytes was too large; the next ones have half of it, but not less than `floor`."""
        self.target = max(min(self.target, floor), min(self.target, size // 2))


def batches(
    items: Iterable[Item | RowFailure], limits: Limits, refuse: Callable[[RowFailure], None]
) -> Iterator[list[Item]]:
    """Items in batches near the target size; a single longer one goes alone. Those that cannot be sent are refused."""
    batch: list[Item] = []
    size = 0
    for item in items:
        if isinstance(item, RowFailure):
            refuse(item)
            continue
        if len(item.lines) > limits.ceiling:
            reason = f"the row has {len(item.lines)} bytes; the cluster takes requests of {limits.ceiling}"
            refuse(RowFailure(item.id, 413, reason))
            continue
        if batch and (size + len(item.lines) > limits.target or len(batch) >= limits.rows):
            yield batch
            batch, size = [], 0
        batch.append(item)
        size += len(item.lines)
    if batch:
        yield batch


def judge(batch: Sequence[Item], reply: Mapping[str, Any], place: str) -> Verdict:
    """Sorts a batch by the status of each of its items. Raises EngineError when the reply does not fit the batch."""
    answers = reply.get("items") or ()
    if len(answers) != len(batch):
        raise EngineError(
            f"the reply has {len(answers)} items for {len(batch)} rows",
            place=place,
            remedy="look at proxies between here and the cluster",
        )
    verdict = Verdict()
    for item, answer in zip(batch, answers, strict=True):
        (result,) = answer.values()
        status = result["status"]
        if status in (200, 201):
            verdict.created += item.action != "delete"
        elif item.action == "delete" and status == 404 and "error" not in result:
            pass  # was not there
        elif status == 409 and item.action == "create":
            verdict.taken.append(item)
        else:
            _refusal(verdict, item, status, result.get("error"), place)
    return verdict


def _refusal(verdict: Verdict, item: Item, status: int, error: Any, place: str) -> None:
    fault = from_status(status, error, place)
    blocked = fault.type in {"cluster_block_exception", "index_not_found_exception", "index_closed_exception"}
    if (blocked or status in FATAL) and not isinstance(fault.error, Unreachable):
        # The index is gone, closed or read-only, or the user may not write: true for every row.
        verdict.fatal = verdict.fatal or fault.error
        verdict.again.append(item)
    elif blocked or status in AGAIN or status == 409:
        # 409 on `index` or `delete`: another writer of the same document at the same moment.
        verdict.again.append(item)
        verdict.cause = fault.error
    else:
        verdict.failed.append(RowFailure(item.id, status, reason_of(error)))


def same_content(stored: Any, sent: Any) -> bool:
    """Equal as parsed JSON (contract 2), vectors left out. What cannot be digested (half a surrogate pair) was not
    stored by us.
    """
    try:
        return row_digest(stored) == row_digest(sent)
    except TypeError:
        return False


def compare(taken: Sequence[Item], stored: Mapping[str, Mapping[str, Any]]) -> tuple[int, list[Item], list[RowFailure]]:
    """What stands behind answers 409: rows stored as they are, rows that are absent (send again), rows that differ."""
    existed, absent, differ = 0, [], []
    for item in taken:
        if item.id not in stored:
            absent.append(item)
        elif same_content(stored[item.id], item.source):
            existed += 1
        else:
            differ.append(RowFailure(item.id, 409, "another document is stored under this id"))
    return existed, absent, differ
