"""Names, settings, errors, answers and page sizes of the OpenSearch adapter."""

from typing import Any

import opensearchpy
import pytest
import urllib3.exceptions
from hypothesis import given
from hypothesis import strategies as st

from idxopt.engines.opensearch.faults import REASON_LIMIT, classify, from_status, reason_of, shortened, types_of
from idxopt.engines.opensearch.names import concrete, matcher, own_settings, pattern_of
from idxopt.engines.opensearch.probe import byte_size, common_plugins, version_key
from idxopt.engines.opensearch.scan import PAGE_CHARACTERS, next_size
from idxopt.engines.opensearch.searching import msearch_body, response_of
from idxopt.engines.opensearch.wire import json_bytes, segment
from idxopt.engines.port import SearchRequest
from idxopt.errors import Conflict, EngineError, Forbidden, NotFound, Overloaded, Rejected, Unauthorized, Unreachable


@pytest.mark.parametrize(
    "name", [".idxopt-state", "handbook--content--1a2b3c4d", "a", ".idxopt-lock-handbook-5f", "a.b_c+d"]
)
def test_one_name(name: str) -> None:
    assert concrete(name) == name
    assert segment(name).replace("%2B", "+") == name


@given(st.text(max_size=20))
def test_no_name_reaches_more_than_one_thing(name: str) -> None:
    try:
        concrete(name)
    except Rejected:
        return
    assert name not in {"", "_all", ".", ".."}
    assert not set(name) & set('*,?/\\" <>|#:')
    assert name[0] not in "-_+"
    assert "/" not in segment(name)


@pytest.mark.parametrize("pattern", ["", "a,b", "-a*", "_all", "a b*", "a*,-b"])
def test_patterns_that_are_refused(pattern: str) -> None:
    with pytest.raises(Rejected):
        pattern_of(pattern)


def test_only_the_star_is_special() -> None:
    assert matcher("a*--[x]").match("a.b--[x]")
    assert not matcher("a*--[x]").match("a.b--x")
    assert not matcher("a.c").match("abc")
    assert matcher("*").match("")
    assert not matcher("a").match("a\n")


def test_settings_of_the_engine_are_left_out() -> None:
    found = {
        "index.uuid": "u",
        "index.creation_date": "1",
        "index.version.created": "2",
        "index.provided_name": "n",
        "index.replication.type": "DOCUMENT",
        "index.number_of_shards": "1",
        "index.sort.field": ["a"],
    }
    assert own_settings(found) == {"index.number_of_shards": "1", "index.sort.field": ["a"]}
    assert own_settings({"index.replication.type": "SEGMENT"}) == {"index.replication.type": "SEGMENT"}


@given(st.text(max_size=2000))
def test_reasons_fit_on_a_line(text: str) -> None:
    line = shortened(text)
    assert len(line) <= REASON_LIMIT
    assert "\n" not in line


def test_the_end_of_a_long_reason_stays() -> None:
    assert shortened(f"id [{'x' * 600}] is too long").endswith("is too long")


@pytest.mark.parametrize("error", [None, "text", [], {}, {"type": "t"}, {"reason": None, "caused_by": None}, 5])
def test_odd_errors_have_a_reason(error: Any) -> None:
    assert reason_of(error)
    assert types_of(error) <= {"t"}
    assert from_status(500, error, "place").error.message


def test_causes_are_told() -> None:
    error = {
        "type": "search_phase_execution_exception",
        "reason": "all shards failed",
        "failed_shards": [{"reason": {"type": "query_shard_exception", "reason": "no field"}}],
        "caused_by": {"type": "a", "reason": "outer", "caused_by": {"type": "b", "reason": "inner"}},
    }
    assert reason_of(error) == "all shards failed: no field (outer) (inner)"
    assert types_of(error) == {"search_phase_execution_exception", "query_shard_exception", "a", "b"}


@pytest.mark.parametrize(
    ("status", "type_", "expected", "kind"),
    [
        (400, "parsing_exception", Rejected, "final"),
        (400, "resource_already_exists_exception", Conflict, "final"),
        (401, "security_exception", Unauthorized, "final"),
        (403, "security_exception", Forbidden, "final"),
        (404, "index_not_found_exception", NotFound, "final"),
        (404, "aliases_not_found_exception", NotFound, "final"),
        (404, "search_context_missing_exception", EngineError, "final"),
        (409, "version_conflict_engine_exception", Conflict, "final"),
        (413, "", Rejected, "too_large"),
        (429, "circuit_breaking_exception", Overloaded, "throttled"),
        (429, "cluster_block_exception", Forbidden, "final"),
        (500, "x", EngineError, "final"),
        (502, "x", Unreachable, "lost"),
        (503, "process_cluster_event_timeout_exception", Overloaded, "throttled"),
        (503, "cluster_manager_not_discovered_exception", Unreachable, "throttled"),
        (504, "x", Unreachable, "lost"),
    ],
)
def test_statuses(status: int, type_: str, expected: type[EngineError], kind: str) -> None:
    fault = from_status(status, {"type": type_, "reason": "why"}, "here")
    assert type(fault.error) is expected
    assert (fault.kind, fault.error.place) == (kind, "here")
    assert fault.error.remedy


def test_a_401_does_not_repeat_the_body() -> None:
    assert "abc" not in str(from_status(401, "no such token: abc", "here").error)


def test_failures_without_an_answer() -> None:
    pool = urllib3.HTTPConnectionPool("h")
    client = opensearchpy.exceptions
    connection = urllib3.connection.HTTPConnection("h")
    for cause, made, kind in (
        (urllib3.exceptions.NewConnectionError(connection, "refused"), client.ConnectionError, "refused"),
        (urllib3.exceptions.ConnectTimeoutError(connection, "slow"), client.ConnectionError, "refused"),
        (urllib3.exceptions.ProtocolError("aborted"), client.ConnectionError, "lost"),
        (urllib3.exceptions.ReadTimeoutError(pool, "/", "slow"), client.ConnectionTimeout, "lost"),
        (urllib3.exceptions.SSLError("bad certificate"), client.SSLError, "final"),
    ):
        fault = classify(made("N/A", str(cause), cause), "here")
        assert (type(fault.error), fault.kind) == (Unreachable, kind)
        assert fault.error.remedy


def test_sizes_versions_plugins() -> None:
    assert byte_size("100mb") == 100 * 1024 * 1024
    assert byte_size("1.5GB") == 3 * 512 * 1024 * 1024
    assert byte_size("512b") == 512
    assert byte_size("-1") is None
    assert version_key("2.19.1") < version_key("3.0.0-SNAPSHOT") < version_key("3.10.0")
    assert version_key("unknown") == (0,)
    nodes = {
        "a": {"plugins": [{"name": "opensearch-knn", "classname": "org.opensearch.knn.plugin.KNNPlugin"}]},
        "b": {
            "plugins": [{"name": "org.opensearch.knn.plugin.KNNPlugin"}, {"name": "only-here"}],
            "modules": [{"name": "lang-painless-3.5.0"}],
        },
    }
    assert common_plugins(nodes) == {"opensearch-knn"}
    assert "lang-painless" in common_plugins({"b": nodes["b"]})
    assert common_plugins({}) == frozenset()


@given(st.integers(1, 1000), st.integers(0, 1000), st.integers(0, 10**9), st.integers(1, 1000))
def test_pages_stay_near_their_size(size: int, rows: int, characters: int, largest: int) -> None:
    found = next_size(size, rows, characters, largest)
    assert 1 <= found <= largest
    assert found <= size * 4
    if rows and characters > rows:
        assert found == 1 or found * (characters // rows) <= PAGE_CHARACTERS


def test_msearch_is_addressed_to_one_index_each() -> None:
    body = msearch_body([SearchRequest("a", {"query": {"match": {"t": "\udce9"}}}), SearchRequest("b", {})])
    assert body == b'{"index":"a"}\n{"query":{"match":{"t":"\\udce9"}}}\n{"index":"b"}\n{}\n'
    assert json_bytes({"n": 2**70}) == b'{"n":1180591620717411303424}'


@pytest.mark.parametrize(
    ("answer", "gone"),
    [
        ({"error": {"type": "index_not_found_exception", "reason": "no"}, "status": 404}, True),
        ({"error": {"type": "x", "reason": "no", "root_cause": [{"type": "index_closed_exception"}]}}, True),
        ({"error": {"type": "parsing_exception", "reason": "no"}, "status": 400}, False),
        ({"timed_out": True, "_shards": {"total": 1, "failed": 0}, "hits": {"hits": [{"_id": "a"}]}}, False),
        ({"timed_out": False, "_shards": {"total": 3, "failed": 2}, "hits": {"hits": []}}, False),
    ],
)
def test_failed_answers_have_no_hits(answer: dict[str, Any], gone: bool) -> None:
    found = response_of(answer)
    assert (found.hits, found.total, found.gone) == ((), 0, gone)
    assert found.error


def test_an_answer() -> None:
    found = response_of(
        {
            "timed_out": False,
            "_shards": {"total": 1, "failed": 0},
            "hits": {
                "total": {"value": 7, "relation": "gte"},
                "hits": [{"_id": "a", "_score": None, "sort": [1, "x"]}],
            },
        }
    )
    assert found.error is None
    assert (found.total, found.total_exact) == (7, False)
    assert (found.hits[0].score, found.hits[0].source, found.hits[0].sort) == (0.0, {}, (1, "x"))
