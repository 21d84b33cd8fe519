"""Click logs of OpenSearch's User Behavior Insights (UBI, schema 1.0): the indices `ubi_queries` and `ubi_events`.

Read of a query: `query_id`, `user_query`, `query_response_hit_ids`, `client_id`. Read of an event: `action_name`,
`query_id`, `session_id`, `client_id`, `event_attributes.object.object_id`, `event_attributes.position.ordinal`.

What a query showed are its events of the impression action; where it has none, the ids of its response, in their order
from 1 on. A click on something that was not shown counts as shown at the click's own position; without one it is left
out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from idxopt.engines.port import Reader
from idxopt.errors import NotFound, SourceError
from idxopt.evaluation.synthetic.clicks import Shown
from idxopt.operators.paths import value_at

T = TypeVar("T", int, str)

QUERIES, EVENTS = "ubi_queries", "ubi_events"
CLICK, IMPRESSION = "click", "impression"

_QUERY_FIELDS = ("query_id", "user_query", "query_response_hit_ids", "client_id")
_EVENT_FIELDS = (
    "action_name",
    "query_id",
    "session_id",
    "client_id",
    "event_attributes.object.object_id",
    "event_attributes.position.ordinal",
)


@dataclass(frozen=True, slots=True)
class Ubi:
    """Where the log is, and what its application calls a click and a showing.

    `since`: only queries whose `timestamp` is no earlier (ISO 8601).
    """

    queries: str = QUERIES
    events: str = EVENTS
    clicks: Sequence[str] = (CLICK,)
    impressions: Sequence[str] = (IMPRESSION,)
    since: str | None = None


@dataclass
class _Asked:
    """A query with its events. Where several say the same thing, the smallest counts: events come in no order."""

    text: str
    client: str | None
    hits: Sequence[str]
    session: str | None = None
    shown: dict[str, int | None] = field(default_factory=dict)
    clicked: dict[str, int | None] = field(default_factory=dict)

    @property
    def places(self) -> dict[str, int]:
        """Positions of all that was shown."""
        known = {object_: place for object_, place in self.shown.items() if place is not None}
        if not known:
            known = {hit: position for position, hit in reversed(list(enumerate(self.hits, 1)))}
        return {**{object_: place for object_, place in self.clicked.items() if place is not None}, **known}


def read_ubi(engine: Reader, ubi: Ubi) -> Iterator[Shown]:
    """What was shown and clicked. Raises SourceError where an index is not there or holds nothing of use."""
    asked = _asked(engine, ubi)
    joined = 0
    actions = [*ubi.clicks, *ubi.impressions]
    for event in _scan(engine, ubi.events, _EVENT_FIELDS, {"terms": {"action_name": actions}}):
        one = asked.get(str(event.get("query_id")))
        object_ = value_at(event, "event_attributes.object.object_id")
        if one is None or object_ is None or event.get("action_name") not in actions:
            continue
        joined += 1
        ordinal = _whole(value_at(event, "event_attributes.position.ordinal"))
        one.session = _first(one.session, _text(event.get("session_id")))
        one.client = _first(one.client, _text(event.get("client_id")))
        places: dict[str, Any] = one.clicked if event["action_name"] in ubi.clicks else one.shown
        places[str(object_)] = _first(places.get(str(object_)), ordinal)
    if not joined:
        raise SourceError(
            f"holds no {' or '.join(actions)} event with an object that belongs to one of the {len(asked)} queries of "
            f"{ubi.queries}",
            remedy="name the application's actions with --click and --impression",
            place=ubi.events,
        )
    for one in asked.values():
        yield from _shown(one)


def _asked(engine: Reader, ubi: Ubi) -> dict[str, _Asked]:
    found: dict[str, _Asked] = {}
    recent = {"range": {"timestamp": {"gte": ubi.since}}} if ubi.since is not None else None
    for query in _scan(engine, ubi.queries, _QUERY_FIELDS, recent):
        text, id_ = _text(query.get("user_query")), _text(query.get("query_id"))
        if text and id_:
            hits = query.get("query_response_hit_ids")
            found[id_] = _Asked(text, _text(query.get("client_id")), [str(hit) for hit in _listed(hits)])
    if not found:
        raise SourceError(
            "holds no document with `query_id` and `user_query`" + (f" since {ubi.since}" if ubi.since else ""),
            remedy="name the index of UBI queries with --ubi-queries",
            place=ubi.queries,
        )
    return found


def _shown(one: _Asked) -> Iterator[Shown]:
    for object_, position in one.places.items():
        yield Shown(one.text, object_, position, 1, int(object_ in one.clicked), one.session or one.client)


def _first(one: T | None, other: T | None) -> T | None:
    return min((value for value in (one, other) if value is not None), default=None)


def _scan(
    engine: Reader, index: str, fields: Sequence[str], query: Mapping[str, Any] | None
) -> Iterator[Mapping[str, Any]]:
    try:
        for document in engine.scan(index, fields=fields, query=query):
            yield document.source
    except NotFound as error:
        raise SourceError(
            "there is no such index on this cluster",
            remedy="choose the cluster with --cluster and the indices with --ubi-queries and --ubi-events",
            place=index,
        ) from error


def _listed(value: Any) -> Sequence[Any]:
    if isinstance(value, list):
        return value
    return [] if value is None else [value]


def _text(value: Any) -> str | None:
    return value.strip() or None if isinstance(value, str) else None


def _whole(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    return value if isinstance(value, int) and value >= 0 else None
