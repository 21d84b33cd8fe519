"""Turn a share of the items of bulk requests into failures, as a node under pressure does: inside an HTTP 200."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from tests.faults.rules import Answer, Forward, Match, Request

ERRORS = {
    429: ("opensearch_rejected_execution_exception", "rejected execution of coordinating operation"),
    503: ("unavailable_shards_exception", "primary shard is not active"),
    409: ("version_conflict_engine_exception", "version conflict, document already exists (current version [1])"),
}


@dataclass(frozen=True)
class Item:
    """One operation of a bulk body: its lines as sent, and its action line parsed."""

    lines: bytes
    action: str
    header: dict[str, Any]


def items_of(body: bytes) -> Iterator[Item]:
    lines = iter([line for line in body.split(b"\n") if line.strip()])
    for line in lines:
        ((action, header),) = json.loads(line).items()
        source = b"" if action == "delete" else next(lines) + b"\n"
        yield Item(line + b"\n" + source, action, header)


@dataclass
class BulkFault:
    """Of all bulk items that pass, in order, make `share` fail with `status`.

    `stored=False`: the node never sees a failed item. `stored=True`: the node stores it and only the reply lies, which
    is what a retried `create` meets when the first reply was lost (409). `ids` restricts the fault to those ids, and
    `once` to one failure an id.
    """

    status: int
    share: float = 1.0
    stored: bool = False
    match: Match = field(default_factory=lambda: Match("POST", "*_bulk"))
    ids: frozenset[str] | None = None
    once: bool = False
    failed: list[str] = field(default_factory=list, init=False)  # ids, in order, again for each failure
    passed: int = field(default=0, init=False)
    _hit: set[str] = field(default_factory=set, init=False)

    async def apply(self, request: Request, forward: Forward) -> Answer:
        if not self.match(request):
            return await forward(request)
        items = list(items_of(request.body))
        faulty = [self._chosen(item) for item in items]
        if not any(faulty):
            return await forward(request)
        kept = [item for item, fails in zip(items, faulty, strict=True) if self.stored or not fails]
        replies: list[dict[str, Any]] = []
        reply: dict[str, Any] = {"took": 0}
        if kept:
            answer = await forward(replace(request, body=b"".join(item.lines for item in kept)))
            if answer.status != 200:
                return answer
            reply = json.loads(answer.body)
            replies = reply["items"]
        return _merge(reply, self._replies(request, items, faulty, iter(replies)))

    def _chosen(self, item: Item) -> bool:
        name = str(item.header.get("_id"))
        if (self.ids is not None and name not in self.ids) or (self.once and name in self._hit):
            return False
        self.passed += 1
        # The whole part of passed * share goes up by one at each failure: an exact share without chance.
        if int(self.passed * self.share + 1e-9) == int((self.passed - 1) * self.share + 1e-9):
            return False
        self.failed.append(name)
        self._hit.add(name)
        return True

    def _replies(
        self, request: Request, items: list[Item], faulty: list[bool], real: Iterator[dict[str, Any]]
    ) -> Iterator[dict[str, Any]]:
        for item, fails in zip(items, faulty, strict=True):
            answered = next(real) if self.stored or not fails else None
            if answered is not None and (not fails or answered[item.action]["status"] >= 300):
                yield answered  # untouched, or failed without our doing
            else:
                yield self._failure(request, item)

    def _failure(self, request: Request, item: Item) -> dict[str, Any]:
        kind, reason = ERRORS[self.status]
        index = item.header.get("_index") or request.path.strip("/").split("/")[0]
        name = item.header.get("_id")
        error = {"type": kind, "reason": f"[{name}]: {reason}", "index": index, "shard": "0"}
        return {item.action: {"_index": index, "_id": name, "status": self.status, "error": error}}


def _merge(reply: dict[str, Any], items: Iterator[dict[str, Any]]) -> Answer:
    merged = {**reply, "errors": True, "items": list(items)}
    return Answer(200, json.dumps(merged).encode())
