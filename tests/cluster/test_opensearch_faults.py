"""The OpenSearch adapter against a node that refuses, drops, lies and hangs. One version will do."""

import json
import threading
from collections.abc import Iterator

import pytest

from idxopt.engines.opensearch import OpenSearchEngine, Patience
from idxopt.engines.port import AliasAction, IndexState, LoadRow
from idxopt.errors import Conflict, EngineError, Forbidden, IdxoptError, Overloaded, Unauthorized, Unreachable
from tests.faults import BulkFault, Drop, FaultProxy, Match, Reply, Silence

BULK = "*/_bulk"
HASTY = Patience(give_up_s=3.0, first_wait_s=0.01, longest_wait_s=0.1, request_s=20.0)
META = {"mappings": {"_meta": {"idxopt": {"owner": "me"}}}}


@pytest.fixture
def cluster_url(opensearch_url: str) -> str:
    return opensearch_url


@pytest.fixture
def proxy(cluster_url: str) -> Iterator[FaultProxy]:
    with FaultProxy(cluster_url) as running:
        yield running


@pytest.fixture
def faulty(proxy: FaultProxy) -> Iterator[OpenSearchEngine]:
    """The adapter behind the proxy."""
    with OpenSearchEngine.connect(proxy.url, patience=HASTY, timeout_s=20) as engine:
        yield engine


@pytest.fixture
def index(cluster: OpenSearchEngine, prefix: str) -> IndexState:
    settings = {"index": {"number_of_shards": 2, "number_of_replicas": 0, "refresh_interval": "-1", "hidden": True}}
    mappings = {"dynamic": False, "properties": {"t": {"type": "text"}}}
    return cluster.create_index(f"{prefix}--a--1", {"settings": settings, "mappings": mappings})


def rows(number: int) -> list[LoadRow]:
    return [LoadRow(f"id{one}", {"t": f"text {one}", "n": one}) for one in range(number)]


def stored(cluster: OpenSearchEngine, index: str) -> dict[str, object]:
    cluster.refresh(index)
    found = list(cluster.scan(index))
    assert len({document.id for document in found}) == len(found)
    return {document.id: document.source for document in found}


@pytest.mark.parametrize("workers", [1, 3])
def test_nothing_is_lost_and_nothing_twice(
    cluster: OpenSearchEngine,
    faulty: OpenSearchEngine,
    proxy: FaultProxy,
    index: IndexState,
    workers: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A third of the items 429 or 503, some 409 (stored or not), every tenth connection dropped."""
    monkeypatch.setattr("idxopt.engines.opensearch.loader.BATCH_ROWS", 100)
    lies = BulkFault(409, share=0.05, stored=True, once=True)
    busy, red = BulkFault(429, share=1 / 6), BulkFault(503, share=1 / 6)
    untrue = BulkFault(409, share=0.05, once=True)
    drops = [Drop(Match(every=10), "before"), Drop(Match(every=11), "after")]
    proxy.rules += [*drops, busy, red, untrue, lies]
    report = faulty.load(index.name, index.uuid, rows(3000), workers=workers)
    assert report.failed == ()
    assert report.created + report.existed == 3000
    assert 800 <= report.throttled <= 3000
    assert all(rule.failed for rule in (busy, red, untrue, lies))
    assert all(drop.dropped for drop in drops)
    proxy.rules.clear()
    assert stored(cluster, index.name) == {row.id: row.body for row in rows(3000)}
    stats = cluster.stats(index.name)
    assert (stats.documents, stats.deleted) == (3000, 0)


def test_h3_a_409_proves_nothing(
    cluster: OpenSearchEngine, faulty: OpenSearchEngine, proxy: FaultProxy, index: IndexState
) -> None:
    given = rows(100)
    cluster.load(index.name, index.uuid, [LoadRow("id7", {"t": "somebody else's"})])
    unstored = BulkFault(409, ids=frozenset(f"id{number}" for number in range(20, 25)), once=True)
    kept = BulkFault(409, ids=frozenset(f"id{number}" for number in range(40, 44)), stored=True, once=True)
    proxy.rules += [unstored, kept]
    report = faulty.load(index.name, index.uuid, given)
    assert len(unstored.failed) + len(kept.failed) == 9
    assert (report.created, report.existed) == (95, 4)
    assert [(failure.id, failure.status) for failure in report.failed] == [("id7", 409)]
    expected = {row.id: row.body for row in given} | {"id7": {"t": "somebody else's"}}
    assert stored(cluster, index.name) == expected


def test_a_409_for_ever_on_an_absent_row_is_given_up(
    faulty: OpenSearchEngine, proxy: FaultProxy, index: IndexState
) -> None:
    proxy.rules.append(BulkFault(409, ids=frozenset({"id3"})))
    with pytest.raises(Overloaded, match="are not there"):
        faulty.load(index.name, index.uuid, rows(10))


@pytest.mark.parametrize("status", [429, 503])
def test_an_overloaded_cluster_ends_in_one_error(
    faulty: OpenSearchEngine, proxy: FaultProxy, index: IndexState, status: int
) -> None:
    proxy.rules.append(BulkFault(status))
    with pytest.raises((Overloaded, Unreachable), match="nothing went through for 3 s") as caught:
        faulty.load(index.name, index.uuid, rows(50), workers=2)
    assert caught.value.remedy


def test_whole_requests_turned_away_are_sent_again(
    cluster: OpenSearchEngine, faulty: OpenSearchEngine, proxy: FaultProxy, index: IndexState
) -> None:
    proxy.rules += [
        Reply(Match("POST", BULK, nth=1), 429, "slow down", "text/plain"),
        Reply(Match("POST", BULK, nth=1), 503, json.dumps({"error": {"type": "x", "reason": "busy"}, "status": 503})),
        Reply(Match("POST", BULK, nth=1), 502, "<html>bad gateway</html>", "text/html"),
        Drop(Match("POST", BULK, nth=1), "after"),
    ]
    report = faulty.load(index.name, index.uuid, rows(200))
    assert (report.created, report.existed) == (0, 200)
    assert report.throttled == 200
    assert len(stored(cluster, index.name)) == 200


def test_a_proxy_with_a_small_limit_halves_requests(
    cluster: OpenSearchEngine, faulty: OpenSearchEngine, proxy: FaultProxy, index: IndexState
) -> None:
    proxy.rules.append(Reply(Match("POST", BULK, first=3), 413))
    report = faulty.load(index.name, index.uuid, rows(200))
    assert (report.created, report.splits, report.failed) == (200, 3, ())
    proxy.rules[:] = [Reply(Match("POST", BULK), 413)]
    report = faulty.load(index.name, index.uuid, [LoadRow("too long", {"t": "x"})])
    assert [(failure.id, failure.status) for failure in report.failed] == [("too long", 413)]
    assert len(stored(cluster, index.name)) == 200


def test_a_bulk_reply_that_never_comes(cluster: OpenSearchEngine, proxy: FaultProxy, index: IndexState) -> None:
    patience = Patience(give_up_s=10, first_wait_s=0.01, longest_wait_s=0.1, request_s=1.0)
    with OpenSearchEngine.connect(proxy.url, patience=patience, timeout_s=1.0) as faulty:
        proxy.rules.append(Silence(Match("POST", BULK, nth=1)))
        report = faulty.load(index.name, index.uuid, rows(100))
    assert (report.created, report.existed) == (0, 100)
    assert len(stored(cluster, index.name)) == 100


def test_a_node_that_restarts_during_a_load_is_waited_for(
    cluster: OpenSearchEngine, proxy: FaultProxy, index: IndexState, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("idxopt.engines.opensearch.loader.BATCH_ROWS", 50)
    monkeypatch.setattr("idxopt.engines.opensearch.loader.CHECK_EVERY_S", 0.0)
    away: list[threading.Timer] = []

    def stop_node(done: int) -> None:
        if done >= 500 and not away:
            proxy.rules.append(Drop(Match()))
            away.append(threading.Timer(2.0, proxy.rules.clear))
            away[0].start()

    patience = Patience(give_up_s=20.0, first_wait_s=0.01, longest_wait_s=0.1)
    with OpenSearchEngine.connect(proxy.url, patience=patience) as faulty:
        monkeypatch.setattr("idxopt.engines.opensearch.wire.READ_ATTEMPTS", 2)
        report = faulty.load(index.name, index.uuid, rows(2000), workers=2, on_progress=stop_node)
    assert len(away) == 1
    assert (report.created + report.existed, report.failed) == (2000, ())
    assert len(stored(cluster, index.name)) == 2000


def test_progress_is_told_once_a_row(faulty: OpenSearchEngine, proxy: FaultProxy, index: IndexState) -> None:
    proxy.rules.append(BulkFault(429, share=0.5))
    told: list[int] = []
    faulty.load(index.name, index.uuid, [*rows(50), LoadRow("", {})], on_progress=told.append)
    assert told == sorted(set(told))
    assert told[-1] == 51


def test_overwrite_through_faults(
    cluster: OpenSearchEngine, faulty: OpenSearchEngine, proxy: FaultProxy, index: IndexState
) -> None:
    cluster.load(index.name, index.uuid, rows(60))
    proxy.rules += [Drop(Match("POST", BULK, nth=1), "after"), BulkFault(429, share=0.3)]
    puts = [LoadRow(f"id{number}", {"t": "new"}) for number in range(30)]
    report = faulty.overwrite(index.name, index.uuid, puts, [f"id{number}" for number in range(40, 60)])
    assert report.failed == ()
    expected = {row.id: row.body for row in rows(40)} | {row.id: row.body for row in puts}
    assert stored(cluster, index.name) == expected


def test_reads_survive_dropped_connections(
    cluster: OpenSearchEngine, faulty: OpenSearchEngine, proxy: FaultProxy, index: IndexState
) -> None:
    cluster.load(index.name, index.uuid, rows(300))
    cluster.refresh(index.name)
    proxy.rules.append(Drop(Match(every=3), "after"))
    for _ in range(3):
        assert faulty.get_index(index.name) is not None
        assert len(faulty.get_documents(index.name, [row.id for row in rows(300)])) == 300
        assert len({document.id for document in faulty.scan(index.name)}) == 300
        faulty.refresh(index.name)


def test_a_lost_reply_to_an_alias_switch_is_not_repeated(
    cluster: OpenSearchEngine, faulty: OpenSearchEngine, proxy: FaultProxy, index: IndexState, prefix: str
) -> None:
    cluster.update_aliases([AliasAction("add", index.name, f"{prefix}-old")])
    proxy.rules.append(Drop(Match("POST", "/_aliases"), "after"))
    switch = [AliasAction("remove", index.name, f"{prefix}-old"), AliasAction("add", index.name, f"{prefix}-new")]
    with pytest.raises(Unreachable, match="before the answer came"):
        faulty.update_aliases(switch)
    assert proxy.count("POST", "/_aliases") == 1
    assert set(cluster.aliases(f"{prefix}*")) == {f"{prefix}-new"}


@pytest.mark.parametrize("when", ["before", "after"])
def test_state_documents_survive_a_lost_reply(
    cluster: OpenSearchEngine, faulty: OpenSearchEngine, proxy: FaultProxy, index: IndexState, when: str
) -> None:
    def lose() -> None:
        proxy.rules[:] = [Drop(Match("PUT", "*lock*", nth=1), when), Drop(Match("DELETE", "*lock*", nth=1), when)]  # type: ignore[arg-type]

    lose()
    first = faulty.put_document(index.name, "lock", {"holder": "me"}, create=True)
    lose()
    second = faulty.put_document(index.name, "lock", {"holder": "me", "beat": 2}, expect=first)
    found = cluster.get_document(index.name, "lock")
    assert found is not None
    assert (found.version, found.source) == (second, {"holder": "me", "beat": 2})
    lose()
    with pytest.raises(Conflict):
        faulty.put_document(index.name, "lock", {"holder": "another"}, create=True)
    faulty.delete_document(index.name, "lock", expect=second)
    assert cluster.get_document(index.name, "lock") is None


def test_making_and_deleting_indices_survives_a_lost_reply(
    cluster: OpenSearchEngine, faulty: OpenSearchEngine, proxy: FaultProxy, prefix: str
) -> None:
    name = f"{prefix}--b--1"
    proxy.rules[:] = [Drop(Match("PUT", f"/{name}", nth=1), "after"), Drop(Match("DELETE", f"/{name}", nth=1), "after")]
    made = faulty.create_index(name, META)
    assert made == cluster.get_index(name)
    with pytest.raises(Conflict):
        faulty.create_index(name, META)
    faulty.delete_index(name, made.uuid)
    assert cluster.get_index(name) is None
    cluster.create_index(name, {"mappings": {"_meta": {"idxopt": {"owner": "another"}}}})
    proxy.rules[:] = [Drop(Match("PUT", f"/{name}", nth=1), "before")]
    with pytest.raises(Conflict):
        faulty.create_index(name, META)


def test_no_answer_within_the_time_out(proxy: FaultProxy) -> None:
    with OpenSearchEngine.connect(proxy.url, timeout_s=0.5) as faulty:
        proxy.rules.append(Silence(Match()))
        with pytest.raises(Unreachable, match="no answer within the time-out"):
            faulty.templates()
        with pytest.raises(Unreachable, match="no answer within the time-out"):
            faulty.update_aliases([AliasAction("add", "some-index", "some-alias")])


def error(type_: str, reason: str, status: int) -> str:
    return json.dumps({"error": {"root_cause": [], "type": type_, "reason": reason}, "status": status})


@pytest.mark.parametrize(
    ("status", "body", "kind", "expected", "text"),
    [
        (401, "Unauthorized", "text/plain", Unauthorized, "refuses the credentials"),
        (401, error("security_exception", "missing", 401), "application/json", Unauthorized, "refuses the credentials"),
        (
            403,
            error("security_exception", "no permissions for [x]", 403),
            "application/json",
            Forbidden,
            "no permissions",
        ),
        (200, "<html>log in</html>", "text/html", EngineError, "not JSON"),
        (200, "pong", "text/plain", EngineError, "not JSON"),
        (200, "{broken", "application/json", EngineError, "not JSON"),
        (500, error("null_pointer_exception", "oops", 500), "application/json", EngineError, "oops"),
        (502, "<html>", "text/html", Unreachable, "proxy"),
        (504, "", "text/plain", Unreachable, "proxy"),
        (429, error("circuit_breaking_exception", "Data too large", 429), "application/json", Overloaded, "too large"),
        (503, error("cluster_manager_not_discovered_exception", "", 503), "application/json", Unreachable, "elected"),
        (
            503,
            error("cluster_block_exception", "blocked by: [SERVICE_UNAVAILABLE/1/state not recovered];", 503),
            "application/json",
            Unreachable,
            "state not recovered",
        ),
    ],
)
def test_every_status_is_one_of_our_errors(
    faulty: OpenSearchEngine,
    proxy: FaultProxy,
    monkeypatch: pytest.MonkeyPatch,
    status: int,
    body: str,
    kind: str,
    expected: type[IdxoptError],
    text: str,
) -> None:
    monkeypatch.setattr("idxopt.engines.opensearch.wire.READ_ATTEMPTS", 2)
    proxy.rules.append(Reply(Match(), status, body, kind))
    with pytest.raises(expected, match=text) as caught:
        faulty.templates()
    assert type(caught.value) is expected
    assert caught.value.remedy
    assert caught.value.place == f"{proxy.url}: GET /_index_template"


def test_the_probe_survives_a_user_who_may_read_nothing(proxy: FaultProxy, cluster: OpenSearchEngine) -> None:
    denied = error("security_exception", "no permissions for [cluster:monitor/main]", 403)
    proxy.rules.append(Reply(Match("GET", "/"), 403, denied))
    with OpenSearchEngine.connect(proxy.url) as engine:
        found = engine.capabilities()
    whole = cluster.capabilities()
    assert (found.version, found.cluster_uuid) == (whole.version, whole.cluster_uuid)
    assert (found.bm25_factor, found.single_pit) == (whole.bm25_factor, whole.single_pit)
    assert len(found.notes) == 1

    proxy.rules[:] = [Reply(Match("GET", "*"), 403, denied)]
    with OpenSearchEngine.connect(proxy.url) as engine:
        found = engine.capabilities()
    assert (found.version, found.nodes, found.single_pit, found.max_clauses) == ("unknown", None, False, 1024)
    assert found.cluster_uuid.startswith("address:")
    assert len(found.notes) >= 5


def test_another_product_is_named_or_taken_with_a_note(proxy: FaultProxy) -> None:
    version = {"number": "8.19.0", "build_flavor": "default", "lucene_version": "9.12.1"}
    proxy.rules[:] = [Reply(Match("GET", "/"), 200, json.dumps({"cluster_uuid": "u", "version": version}))]
    with pytest.raises(EngineError, match=r"Elasticsearch 8\.19\.0"):
        OpenSearchEngine.connect(proxy.url)
    version = {"number": "2.19.0", "distribution": "another", "lucene_version": "9.12.1"}
    proxy.rules[:] = [Reply(Match("GET", "/"), 200, json.dumps({"cluster_uuid": "u", "version": version}))]
    with OpenSearchEngine.connect(proxy.url) as engine:
        found = engine.capabilities()
    assert (found.version, found.bm25_factor, found.cluster_uuid) == ("2.19.0", True, "u")
    assert "another" in found.notes[0]


def test_a_load_into_an_index_that_a_bulk_made_again_is_noticed(
    cluster: OpenSearchEngine, index: IndexState, prefix: str
) -> None:
    """The engine makes an index when a bulk request names one that is not there."""
    cluster.delete_index(index.name, index.uuid)
    cluster._wire.once("POST", f"/{index.name}/_bulk", b'{"create":{"_id":"0"}}\n{}\n')
    with pytest.raises(Conflict, match="instead of"):
        cluster.load(index.name, index.uuid, rows(5))
    assert list(stored(cluster, index.name)) == ["0"]
