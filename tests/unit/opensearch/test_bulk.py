"""Rows into bytes and batches, replies into verdicts."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.engines.opensearch.bulk import Item, Limits, batches, compare, encode, judge
from idxopt.engines.port import LoadRow, RowFailure
from idxopt.errors import Conflict, EngineError, Forbidden, NotFound, Overloaded

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
ROWS = st.lists(
    st.builds(LoadRow, st.text(min_size=1, max_size=200), st.dictionaries(st.text(), JSON, max_size=3)), max_size=40
)


def item(name: str, body: object = None) -> Item:
    found = encode(LoadRow(name, body or {}))  # type: ignore[arg-type]
    assert isinstance(found, Item)
    return found


def reply(*statuses: int, error: object = None) -> dict[str, object]:
    return {"items": [{"create": {"status": status, **({"error": error} if error else {})}} for status in statuses]}


@given(ROWS, st.integers(1, 2000), st.integers(1, 7))
def test_batches_hold_every_row_once_and_in_order(rows: list[LoadRow], target: int, most: int) -> None:
    refused: list[RowFailure] = []
    limits = Limits(target, most, ceiling=10**6)
    made = list(batches((encode(row) for row in rows), limits, refused.append))
    assert refused == []
    lines = b"".join(one.lines for batch in made for one in batch).split(b"\n")
    assert lines.pop() == b""
    assert [orjson.loads(line)["create"]["_id"] for line in lines[::2]] == [row.id for row in rows]
    assert [orjson.loads(line) for line in lines[1::2]] == [row.body for row in rows]
    for batch in made:
        assert 0 < len(batch) <= most
        assert len(batch) == 1 or sum(len(one.lines) for one in batch) <= target
    assert [one.source for batch in made for one in batch] == [row.body for row in rows]


@given(st.text(alphabet=st.characters(), max_size=300))
def test_an_id_is_sent_or_named(name: str) -> None:
    try:
        size = len(name.encode())
    except UnicodeEncodeError:
        size = -1
    found = encode(LoadRow(name, {"a": 1}))
    assert isinstance(found, Item) is (0 < size <= 512)
    assert found.id == name


@pytest.mark.parametrize("body", [{"a": "\ud800"}, {"a": 2**64}, {"a": object()}, {"a": {1, 2}}, {"\udfff": 1}])
def test_what_json_cannot_carry_is_named(body: dict[str, object]) -> None:
    found = encode(LoadRow("x", body))
    assert isinstance(found, RowFailure)
    assert found.status == 400


def test_a_row_above_the_ceiling_is_refused_and_a_long_one_goes_alone() -> None:
    refused: list[RowFailure] = []
    rows = [
        LoadRow("a", {"t": "x"}),
        LoadRow("long", {"t": "x" * 200}),
        LoadRow("b", {}),
        LoadRow("huge", {"t": "x" * 400}),
    ]
    made = list(batches((encode(row) for row in rows), Limits(100, 10, ceiling=300), refused.append))
    assert [[one.id for one in batch] for batch in made] == [["a"], ["long"], ["b"]]
    assert [(one.id, one.status) for one in refused] == [("huge", 413)]


def test_shrinking() -> None:
    limits = Limits(1000, 10, 10_000)
    limits.shrink(600)
    assert limits.target == 300
    limits.shrink(10_000)
    assert limits.target == 300
    limits.shrink(400, floor=250)
    assert limits.target == 250
    limits.shrink(100, floor=250)
    assert limits.target == 250
    limits.shrink(1)
    assert limits.target == 1


def test_verdicts() -> None:
    batch = [item(str(number)) for number in range(6)]
    verdict = judge(batch, reply(201, 409, 429, 400, 503, 200), "place")
    assert verdict.created == 2
    assert [one.id for one in verdict.taken] == ["1"]
    assert [one.id for one in verdict.again] == ["2", "4"]
    assert [(one.id, one.status) for one in verdict.failed] == [("3", 400)]
    assert isinstance(verdict.cause, Overloaded)
    assert verdict.fatal is None


@pytest.mark.parametrize(
    ("status", "type_", "expected"),
    [
        (403, "cluster_block_exception", Forbidden),
        (429, "cluster_block_exception", Forbidden),
        (404, "index_not_found_exception", NotFound),
        (400, "index_closed_exception", EngineError),
        (403, "security_exception", Forbidden),
    ],
)
def test_what_is_true_for_every_row_is_fatal(status: int, type_: str, expected: type[EngineError]) -> None:
    error = {"type": type_, "reason": "index [x] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage]"}
    verdict = judge([item("a"), item("b")], reply(201, status, error=error), "place")
    assert isinstance(verdict.fatal, expected)
    assert (verdict.created, verdict.failed) == (1, [])


def test_a_cluster_that_has_not_recovered_is_waited_for() -> None:
    error = {"type": "cluster_block_exception", "reason": "blocked by: [SERVICE_UNAVAILABLE/1/state not recovered];"}
    verdict = judge([item("a")], reply(503, error=error), "place")
    assert verdict.fatal is None
    assert [one.id for one in verdict.again] == ["a"]


def test_deletes_and_overwrites() -> None:
    put, gone, moved = (
        encode(LoadRow("a", {}), "index"),
        encode(LoadRow("b", {}), "delete"),
        encode(LoadRow("c", {}), "delete"),
    )
    assert isinstance(put, Item)
    assert isinstance(gone, Item)
    assert isinstance(moved, Item)
    assert gone.lines == b'{"delete":{"_id":"b"}}\n'
    answer = {
        "items": [{"index": {"status": 200}}, {"delete": {"status": 404}}, {"delete": {"status": 409, "error": {}}}]
    }
    verdict = judge([put, gone, moved], answer, "place")
    assert (verdict.created, verdict.failed, verdict.taken) == (1, [], [])
    assert verdict.again == [moved]
    assert isinstance(verdict.cause, Conflict)


def test_a_reply_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(EngineError, match="1 items for 2 rows"):
        judge([item("a"), item("b")], reply(201), "place")


def test_comparing_what_was_answered_409() -> None:
    taken = [item("equal", {"n": 1, "t": "x"}), item("differs", {"n": 1}), item("absent"), item("foreign")]
    stored: dict[str, dict[str, Any]] = {"equal": {"t": "x", "n": 1.0}, "differs": {"n": 2}, "foreign": {"t": "\ud800"}}
    existed, absent, differ = compare(taken, stored)
    assert existed == 1
    assert [one.id for one in absent] == ["absent"]
    assert [(one.id, one.status) for one in differ] == [("differs", 409), ("foreign", 409)]
