"""Indices, manifests, rows, time and a faulty engine for the tests of builds."""

import datetime as dt
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from idxopt.builds.manifest import Manifest, SourceSnapshot, ViewBuild, sealed
from idxopt.engines.port import Engine, IndexState
from idxopt.errors import Unreachable
from idxopt.operators.row import StoredRow

BODY: dict[str, Any] = {
    "settings": {
        "index": {
            "number_of_shards": 1,
            "number_of_replicas": 0,
            "hidden": True,
            "refresh_interval": "-1",
            "similarity": {"bm25-0_9-0_4": {"type": "BM25", "k1": 0.9, "b": 0.4}},
        }
    },
    "mappings": {
        "dynamic": False,
        "properties": {
            "title": {"type": "text", "analyzer": "standard", "similarity": "bm25-0_9-0_4"},
            "year": {"type": "integer"},
            "ok": {"type": "boolean"},
            "lang": {"type": "keyword", "ignore_above": 10922},
            "meta": {"properties": {"day": {"type": "date"}}},
            "idxopt": {
                "dynamic": "strict",
                "properties": {"doc_id": {"type": "keyword"}, "path": {"type": "object", "enabled": False}},
            },
        },
    },
}
PROGRAM = {
    "schema": "idxopt/1",
    "name": "x",
    "source": {"fields": {"title": "title"}},
    "views": {"content": {"lexical": {"fields": {"title": {"analyzer": "standard"}}}}},
}


def fresh_name() -> str:
    return f"t{uuid.uuid4().hex[:12]}"


def body_of(index: str, name: str) -> dict[str, Any]:
    mark = {"owner": "idxopt", "index": index, "name": name, "view_hash": "0" * 64, "view": {"name": "content"}}
    return {**BODY, "mappings": {**BODY["mappings"], "_meta": {"idxopt": mark}}}


def rows(count: int, start: int = 0) -> Iterator[StoredRow]:
    for n in range(start, start + count):
        doc_id = f"doc-{n}"
        yield StoredRow(
            doc_id, doc_id, {"title": f"Title {n} ☕", "year": n, "score": n / 3, "idxopt": {"doc_id": doc_id}}
        )


def manifest_of(name: str, views: Mapping[str, IndexState | str], **changes: Any) -> Manifest:
    built = {
        view: ViewBuild(
            index=state if isinstance(state, str) else state.name,
            view_hash="0" * 64,
            uuid="-" if isinstance(state, str) else state.uuid,
            rows=1,
        )
        for view, state in views.items()
    }
    values: dict[str, Any] = {
        "build": "",
        "name": name,
        "program": PROGRAM,
        "program_hash": "1" * 64,
        "primary": "content",
        "views": built,
        "generations": {},
        "source": SourceSnapshot(kind="file", place="docs.jsonl", marks={}, documents=1, digest="2" * 64),
        "created": "2026-01-01T00:00:00.000Z",
        "by": "somebody@here",
        "idxopt": "0",
        "engine": "embedded 1",
    }
    return sealed(Manifest(**{**values, **changes}))


class ManualClock:
    """Time moves only when somebody sleeps; whoever waits for an event waits until it is set (its heart does not
    beat).
    """

    def __init__(self, on_sleep: Callable[[], None] = lambda: None) -> None:
        self.time = 1_000.0
        self.on_sleep = on_sleep

    def now(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self.time, dt.UTC)

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.on_sleep()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait()


class LosesReplies:
    """An engine whose calls of one kind are carried out, but whose reply never comes, `times` times."""

    def __init__(self, engine: Engine, method: str, times: int = 1) -> None:
        self._engine = engine
        self._method = method
        self._left = times

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._engine, name)
        if name != self._method or self._left == 0:
            return real

        def call(*args: Any, **options: Any) -> Any:
            result = real(*args, **options)
            if self._left == 0:
                return result
            self._left -= 1
            raise Unreachable("the connection was dropped", place="test")

        return call
