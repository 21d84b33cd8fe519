"""The proxy against a real node: it passes everything on unchanged, and each fault does exactly what it says."""

import gzip
import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import requests

from tests.faults import BulkFault, Delay, Drop, FaultProxy, Hold, Kill, Match, Reply, Silence

LOST = (requests.ConnectionError, requests.exceptions.ChunkedEncodingError)


@pytest.fixture
def proxy(opensearch_url: str) -> Iterator[FaultProxy]:
    with FaultProxy(opensearch_url) as running:
        yield running


@pytest.fixture
def index(opensearch_url: str) -> Iterator[str]:
    name = f"faults-{time.time_ns()}"
    requests.put(
        f"{opensearch_url}/{name}", json={"settings": {"number_of_replicas": 0}}, timeout=30
    ).raise_for_status()
    yield name
    requests.delete(f"{opensearch_url}/{name}", timeout=30).raise_for_status()


@pytest.fixture
def stored(opensearch_url: str, index: str):
    """The ids that the node itself holds."""

    def ids() -> set[str]:
        requests.post(f"{opensearch_url}/{index}/_refresh", timeout=30).raise_for_status()
        answer = requests.post(f"{opensearch_url}/{index}/_search", json={"size": 1000}, timeout=30)
        return {hit["_id"] for hit in answer.json()["hits"]["hits"]}

    return ids


def bulk(url: str, index: str, count: int, action: str = "create") -> list[dict[str, Any]]:
    lines = []
    for i in range(count):
        lines += [json.dumps({action: {"_index": index, "_id": f"d{i}"}}), json.dumps({"n": i})]
    return send_bulk(f"{url}/_bulk", lines)


def send_bulk(url: str, lines: list[str]) -> list[dict[str, Any]]:
    body = "".join(line + "\n" for line in lines)
    answer = requests.post(url, data=body, headers={"Content-Type": "application/x-ndjson"}, timeout=30)
    assert answer.status_code == 200
    reply = answer.json()
    items = [item for entry in reply["items"] for item in entry.values()]
    assert reply["errors"] == any(item["status"] >= 300 for item in items)
    return items


def statuses(items: list[dict[str, Any]]) -> list[int]:
    return [item["status"] for item in items]


def test_what_passes_is_unchanged(proxy, opensearch_url, index):
    awkward = "a%2Fb%20%C3%BC%3F%2B"
    written = requests.put(f"{proxy.url}/{index}/_doc/{awkward}?refresh=true", json={"t": "ünï"}, timeout=30)
    assert written.status_code == 201
    assert written.headers["Content-Type"] == "application/json; charset=UTF-8"
    through = requests.get(f"{proxy.url}/{index}/_doc/{awkward}", timeout=30)
    assert through.json()["_id"] == "a/b ü?+"
    assert through.content == requests.get(f"{opensearch_url}/{index}/_doc/{awkward}", timeout=30).content
    missing = requests.get(f"{proxy.url}/{index}-none", timeout=30)
    assert (missing.status_code, missing.json()["error"]["type"]) == (404, "index_not_found_exception")
    assert requests.head(f"{proxy.url}/{index}", timeout=30).status_code == 200
    assert requests.head(f"{proxy.url}/{index}-none", timeout=30).status_code == 404


def test_a_compressed_body_passes(proxy, index, stored):
    body = gzip.compress(json.dumps({"t": "x" * 10_000}).encode())
    headers = {"Content-Encoding": "gzip", "Content-Type": "application/json"}
    answer = requests.put(f"{proxy.url}/{index}/_doc/packed", data=body, headers=headers, timeout=30)
    assert answer.status_code == 201
    assert stored() == {"packed"}


def test_requests_are_recorded_with_their_counts(proxy, index):
    requests.get(f"{proxy.url}/{index}/_count?q=a", timeout=30)
    requests.post(f"{proxy.url}/{index}/_refresh", timeout=30)
    requests.get(f"{proxy.url}/{index}/_count", timeout=30)
    assert [seen.key for seen in proxy.seen] == [
        ("GET", f"/{index}/_count", 1),
        ("POST", f"/{index}/_refresh", 1),
        ("GET", f"/{index}/_count", 2),
    ]
    assert [seen.status for seen in proxy.seen] == [200, 200, 200]
    assert proxy.seen[0].target.endswith("?q=a")
    assert proxy.count("GET", f"/{index}/_count") == 2


def test_a_reply_is_held_while_the_hook_runs_and_others_pass(proxy, opensearch_url, index):
    entered, release = threading.Event(), threading.Event()

    def hook(request, answer):
        assert answer.status == 201
        entered.set()
        release.wait(30)

    proxy.rules.append(Hold(Match("PUT", "*/_doc/*", nth=2), hook))
    answers: list[int] = []

    def write():
        answers.extend(
            requests.put(f"{proxy.url}/{index}/_doc/{name}", json={}, timeout=60).status_code for name in ("one", "two")
        )

    writer = threading.Thread(target=write)
    writer.start()
    assert entered.wait(30)
    assert answers == [201]  # the first; the second is held
    assert writer.is_alive()
    assert requests.get(f"{opensearch_url}/{index}/_doc/two", timeout=30).json()["found"]
    assert requests.get(f"{proxy.url}/{index}/_doc/one", timeout=30).json()["found"]
    release.set()
    writer.join(30)
    assert answers == [201, 201]


@pytest.mark.parametrize(("when", "expected"), [("after", {"d1", "d2"}), ("before", {"d1"})])
def test_a_process_dies_before_its_reply_arrives(proxy, index, stored, tmp_path, when, expected):
    process: list[subprocess.Popen[bytes]] = []
    kill = Kill(Match("PUT", "*/_doc/*", nth=2), lambda: process[0].pid, when)
    proxy.rules.append(kill)
    script = (
        "import sys, urllib.request as u\n"
        "kind = {'Content-Type': 'application/json'}\n"
        "for name in ('d1', 'd2', 'd3'):\n"
        "    r = u.Request(sys.argv[1] + name, data=b'{}', method='PUT', headers=kind)\n"
        "    print(name, u.urlopen(r, timeout=30).status, flush=True)\n"
    )
    told = tmp_path / "out"
    with told.open("wb") as out:
        process.append(subprocess.Popen([sys.executable, "-c", script, f"{proxy.url}/{index}/_doc/"], stdout=out))
        assert process[0].wait(30) == -9
    assert kill.done
    assert told.read_text() == "d1 201\n"
    assert stored() == expected


def test_a_third_of_the_items_is_refused_and_never_reaches_the_node(proxy, index, stored):
    fault = BulkFault(429, share=1 / 3)
    proxy.rules.append(fault)
    items = bulk(proxy.url, index, 10)
    assert statuses(items) == [201, 201, 429, 201, 201, 429, 201, 201, 429, 201]
    assert [item["_id"] for item in items] == [f"d{i}" for i in range(10)]
    assert items[2]["error"]["type"] == "opensearch_rejected_execution_exception"
    assert fault.failed == ["d2", "d5", "d8"]
    assert stored() == {f"d{i}" for i in range(10)} - {"d2", "d5", "d8"}


def test_all_items_refused_need_no_node(proxy, index, stored):
    proxy.rules.append(BulkFault(503, match=Match("POST", "*_bulk", first=1)))
    assert statuses(bulk(proxy.url, index, 3)) == [503, 503, 503]
    assert stored() == set()
    assert statuses(bulk(proxy.url, index, 3)) == [201, 201, 201]


@pytest.mark.parametrize(("kept", "expected"), [(True, {"d0", "d1", "d2", "d3"}), (False, {"d0", "d2"})])
def test_a_conflict_with_and_without_the_document(proxy, index, stored, kept, expected):
    proxy.rules.append(BulkFault(409, share=0.5, stored=kept))
    items = bulk(proxy.url, index, 4)
    assert statuses(items) == [201, 409, 201, 409]
    assert items[1]["error"]["type"] == "version_conflict_engine_exception"
    assert stored() == expected


def test_named_ids_fail_once(proxy, index, stored):
    proxy.rules.append(BulkFault(429, ids=frozenset({"d1"}), once=True))
    assert statuses(bulk(proxy.url, index, 3)) == [201, 429, 201]
    assert statuses(bulk(proxy.url, index, 3)) == [409, 201, 409]  # the real conflicts of a repeated create
    assert stored() == {"d0", "d1", "d2"}


def test_deletes_have_no_second_line_and_the_index_may_be_in_the_path(proxy, index, stored):
    bulk(proxy.url, index, 3)
    proxy.rules.append(BulkFault(503, share=0.5))
    deletes = [json.dumps({"delete": {"_id": f"d{i}"}}) for i in range(2)]
    extra = [json.dumps({"index": {"_id": "d9"}}), json.dumps({"n": 9})]
    items = send_bulk(f"{proxy.url}/{index}/_bulk?refresh=true", [*deletes, *extra])
    assert statuses(items) == [200, 503, 201]
    assert items[1]["_index"] == index
    assert stored() == {"d1", "d2", "d9"}


@pytest.mark.parametrize(("when", "expected"), [("before", {"d1", "d2"}), ("after", {"d1", "d2", "d3"})])
def test_every_third_connection_is_dropped(proxy, index, stored, when, expected):
    drop = Drop(Match("PUT", every=3), when)
    proxy.rules.append(drop)
    outcomes: list[int | None] = []
    for name in ("d1", "d2", "d3"):
        try:
            outcomes.append(requests.put(f"{proxy.url}/{index}/_doc/{name}", json={}, timeout=30).status_code)
        except LOST:
            outcomes.append(None)
    assert outcomes == [201, 201, None]
    assert drop.dropped == 1
    assert proxy.seen[-1].status is None
    assert stored() == expected


@pytest.mark.parametrize("fault", [Drop(Match("POST", "/_aliases"), "after"), Silence(Match("POST", "/_aliases"))])
def test_the_reply_to_an_alias_switch_is_swallowed(proxy, opensearch_url, index, fault):
    proxy.rules.append(fault)
    actions = {"actions": [{"add": {"index": index, "alias": f"{index}-live"}}]}
    with pytest.raises((*LOST, requests.Timeout)):
        requests.post(f"{proxy.url}/_aliases", json=actions, timeout=2)
    assert requests.head(f"{opensearch_url}/_alias/{index}-live", timeout=30).status_code == 200


@pytest.mark.parametrize(
    ("status", "body", "content_type"),
    [
        (401, "Unauthorized", "text/plain"),
        (403, '{"error":{"type":"security_exception"},"status":403}', "application/json; charset=UTF-8"),
        (413, "", "text/html"),
        (503, b"\xff not even text", "application/octet-stream"),
    ],
)
def test_a_fixed_answer_stands_in_for_the_node(proxy, index, stored, status, body, content_type):
    proxy.rules.append(Reply(Match("PUT", "*/_doc/d1"), status, body, content_type, {"Retry-After": "1"}))
    answer = requests.put(f"{proxy.url}/{index}/_doc/d1", json={}, timeout=30)
    assert answer.status_code == status
    assert answer.content == (body.encode() if isinstance(body, str) else body)
    assert answer.headers["Content-Type"] == content_type
    assert answer.headers["Retry-After"] == "1"
    assert stored() == set()


def test_a_request_is_delayed(proxy):
    proxy.rules.append(Delay(Match("GET", "/"), 0.5))
    started = time.monotonic()
    assert requests.get(proxy.url, timeout=30).status_code == 200
    assert time.monotonic() - started >= 0.5


def test_the_first_rule_is_outermost(proxy, index):
    proxy.rules += [Reply(Match("GET", "/"), 200, b"first"), Reply(Match("GET", "/"), 200, b"second")]
    assert requests.get(proxy.url, timeout=30).content == b"first"
    proxy.rules.pop(0)
    assert requests.get(proxy.url, timeout=30).content == b"second"


def test_a_node_that_is_gone_looks_gone():
    with FaultProxy("http://127.0.0.1:9") as proxy, pytest.raises(LOST):
        requests.get(proxy.url, timeout=30)
