"""Click logs in the indices of User Behavior Insights, on real nodes, with the mappings of its plugin."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import LoadRow
from idxopt.errors import ExitCode, SourceError
from idxopt.evaluation.datasets import load_dataset_folder
from idxopt.evaluation.synthetic.clicks import Shown
from idxopt.evaluation.synthetic.ubi import Ubi, read_ubi
from tests.e2e.runner import run, write_lines


def keyword(most: int = 100) -> dict[str, object]:
    return {"type": "keyword", "ignore_above": most}


QUERIES = {
    "dynamic": False,
    "properties": {
        "timestamp": {"type": "date"},
        "query_id": keyword(),
        "query": {"type": "text"},
        "query_response_id": keyword(),
        "query_response_hit_ids": {"type": "keyword"},
        "user_query": {"type": "text", "fields": {"keyword": keyword(256)}},
        "query_attributes": {"type": "flat_object"},
        "client_id": keyword(),
    },
}
EVENTS = {
    "properties": {
        "application": keyword(256),
        "action_name": keyword(),
        "client_id": keyword(),
        "query_id": keyword(),
        "message": keyword(1024),
        "timestamp": {"type": "date"},
        "event_attributes": {
            "dynamic": True,
            "properties": {
                "position": {"properties": {"ordinal": {"type": "integer"}, "x": {"type": "integer"}}},
                "object": {"properties": {"object_id": keyword(256), "object_id_field": keyword()}},
            },
        },
    }
}


def event(
    action: str, query: str, object_: str | None, ordinal: int | None = None, **more: object
) -> dict[str, object]:
    attributes: dict[str, object] = (
        {} if object_ is None else {"object": {"object_id": object_, "object_id_field": "sku"}}
    )
    if ordinal is not None:
        attributes["position"] = {"ordinal": ordinal, "x": 7}
    return {
        "action_name": action,
        "query_id": query,
        "client_id": f"c-{query}",
        "timestamp": "2026-01-05T10:00:00Z",
        "event_attributes": attributes,
        **more,
    }


def query(id_: str, text: str, *hits: str) -> dict[str, object]:
    return {
        "query_id": id_,
        "user_query": text,
        "client_id": f"c-{id_}",
        "timestamp": "2026-01-05T10:00:00Z",
        "query_response_hit_ids": list(hits),
        "query_attributes": {"search_config": "baseline"},
    }


def fill(engine: OpenSearchEngine, name: str, mapping: Mapping[str, object], rows: list[dict[str, object]]) -> str:
    body = {"settings": {"index": {"number_of_shards": 2, "number_of_replicas": 0}}, "mappings": mapping}
    state = engine.create_index(name, body)
    engine.load(name, state.uuid, [LoadRow(str(number), row) for number, row in enumerate(rows)])
    engine.refresh(name)
    return name


def test_what_was_shown_and_clicked(cluster: OpenSearchEngine, prefix: str) -> None:
    queries = fill(
        cluster,
        f"{prefix}-queries",
        QUERIES,
        [
            query("q1", "winter pump", "a", "b", "c"),
            query("q2", "oil", "a"),
            query("q3", "unseen", "z"),
            {"query_id": "q4"},
        ],
    )
    events = fill(
        cluster,
        f"{prefix}-events",
        EVENTS,
        [
            event("click", "q1", "b", 2, session_id="s1"),
            event("click", "q1", "b", 2),
            event("click", "q1", "x", 9),
            event("click", "q1", "nowhere"),
            event("add_to_cart", "q1", "c", 3),
            event("impression", "q2", "d", 4),
            event("impression", "q2", "e", 5),
            event("click", "q2", "e"),
            event("click", "q2", None),
            event("click", "unknown", "a", 1),
        ],
    )
    found = sorted(read_ubi(cluster, Ubi(queries, events)), key=lambda one: (one.query, one.position))
    assert found == [
        Shown("oil", "d", 4, 1, 0, "c-q2"),
        Shown("oil", "e", 5, 1, 1, "c-q2"),
        Shown("unseen", "z", 1, 1, 0, "c-q3"),
        Shown("winter pump", "a", 1, 1, 0, "s1"),
        Shown("winter pump", "b", 2, 1, 1, "s1"),
        Shown("winter pump", "c", 3, 1, 0, "s1"),
        Shown("winter pump", "x", 9, 1, 1, "s1"),
    ]
    bought = read_ubi(cluster, Ubi(queries, events, clicks=("add_to_cart",)))
    assert [one.document for one in bought if one.clicks] == ["c"]
    with pytest.raises(SourceError, match="no tap event"):
        list(read_ubi(cluster, Ubi(queries, events, clicks=("tap",), impressions=())))
    with pytest.raises(SourceError, match="no such index"):
        list(read_ubi(cluster, Ubi(queries, f"{prefix}-none")))
    with pytest.raises(SourceError, match="user_query"):
        list(read_ubi(cluster, Ubi(events, events)))


def test_the_command(
    cluster: OpenSearchEngine, cluster_url: str, prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "idxopt.toml").write_text(f'default = "node"\n[clusters.node]\nurl = "{cluster_url}"\n')
    write_lines(tmp_path / "docs.jsonl", [{"_id": id_, "title": id_, "text": "text"} for id_ in "abc"])
    queries = fill(
        cluster, f"{prefix}-queries", QUERIES, [query(f"q{n}", "Winter Pump", "a", "b", "gone") for n in range(30)]
    )
    events = fill(cluster, f"{prefix}-events", EVENTS, [event("click", f"q{n}", "b", 2) for n in range(0, 30, 2)])
    wanted = ("--from", "ubi", "--ubi-queries", queries, "--ubi-events", events)
    told = run("queries", "make", "docs.jsonl", *wanted, "--out", "clicked")
    assert told.code == ExitCode.OK, told.err
    judged = load_dataset_folder(tmp_path / "clicked")
    assert [one.text for one in judged.queries] == ["winter pump"]
    assert judged.qrels[judged.queries[0].id] == {"a": 0, "b": 2}, "b: (15 + 1) / (15 + 1)"
    assert judged.synthetic == f"grades from clicks (UBI, {events})"
    facts = json.loads((tmp_path / "clicked/synthetic.json").read_bytes())
    assert facts["rates_by_position"] == {"1": 0.0, "2": 0.5, "3": 0.0}
    assert facts["dropped"] == {"unknown_document": 1}
