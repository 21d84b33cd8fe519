"""Indices, aliases, templates, pipelines, state documents of the OpenSearch adapter, on real nodes."""

import pytest

from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import AliasAction, Version
from idxopt.errors import Conflict, NotFound, Rejected, Unreachable

BODY = {
    "settings": {
        "index": {
            "number_of_shards": 1,
            "number_of_replicas": 0,
            "hidden": True,
            "refresh_interval": "-1",
            "similarity": {"s": {"type": "BM25", "k1": 0.9, "b": 0.4}},
            "analysis": {"analyzer": {"x": {"type": "custom", "tokenizer": "standard", "filter": ["lowercase"]}}},
        }
    },
    "mappings": {
        "dynamic": False,
        "_meta": {"idxopt": {"owner": "test", "number": 1.5}},
        "properties": {
            "title": {"type": "text", "analyzer": "standard", "similarity": "s"},
            "idxopt": {"dynamic": "strict", "properties": {"doc_id": {"type": "keyword"}}},
        },
    },
}


def test_probe(cluster: OpenSearchEngine, cluster_url: str) -> None:
    found = cluster.capabilities()
    assert found.engine == "opensearch"
    assert found.version.startswith(("2.19", "3."))
    assert found.bm25_factor is found.version.startswith("2.")
    assert found.single_pit is not found.bm25_factor
    assert len(found.cluster_uuid) > 10
    assert (found.nodes, found.max_clauses, found.max_request_bytes) == (1, 1024, 100 * 1024 * 1024)
    assert found.plugins
    assert found.notes == ()
    assert cluster_url in repr(cluster)


def test_create_reads_back_what_the_engine_made(cluster: OpenSearchEngine, prefix: str) -> None:
    name = f"{prefix}--content--12345678"
    state = cluster.create_index(name, BODY)
    assert state.name == name
    assert state.health == "green"
    assert state.aliases == {}
    assert state.settings == {
        "index.number_of_shards": "1",
        "index.number_of_replicas": "0",
        "index.hidden": "true",
        "index.refresh_interval": "-1",
        "index.similarity.s.type": "BM25",
        "index.similarity.s.k1": "0.9",
        "index.similarity.s.b": "0.4",
        "index.analysis.analyzer.x.type": "custom",
        "index.analysis.analyzer.x.tokenizer": "standard",
        "index.analysis.analyzer.x.filter": ["lowercase"],
    }
    assert state.mappings["_meta"] == {"idxopt": {"owner": "test", "number": 1.5}}
    assert cluster.get_index(name) == state
    assert cluster.list_indices(f"{prefix}*") == [state]
    with pytest.raises(Conflict, match="already exists"):
        cluster.create_index(name, BODY)


def test_a_foreign_template_for_all_names_does_not_reach_a_hidden_index(cluster: OpenSearchEngine, prefix: str) -> None:
    aliases: dict[str, object] = {f"{prefix}-everything": {}}
    template = {"index_patterns": ["*"], "priority": 7, "template": {"settings": {}, "aliases": aliases}}
    cluster.put_template(f"{prefix}-foreign", template)
    assert cluster.create_index(f"{prefix}--a--1", BODY).aliases == {}


def test_an_alias_is_no_index(cluster: OpenSearchEngine, prefix: str) -> None:
    cluster.create_index(f"{prefix}--a--1", {**BODY, "aliases": {prefix: {"is_hidden": True}}})
    assert cluster.get_index(prefix) is None
    assert cluster.get_index(f"{prefix}-absent") is None
    assert [state.name for state in cluster.list_indices(f"{prefix}*")] == [f"{prefix}--a--1"]
    assert cluster.list_indices(f"{prefix}") == []


def test_delete_only_with_the_uuid(cluster: OpenSearchEngine, prefix: str) -> None:
    name = f"{prefix}--a--1"
    first = cluster.create_index(name, BODY)
    cluster.delete_index(name, first.uuid)
    cluster.delete_index(name, first.uuid)  # gone already is fine
    second = cluster.create_index(name, BODY)
    with pytest.raises(Conflict, match="made anew"):
        cluster.delete_index(name, first.uuid)
    assert cluster.get_index(name) == second


@pytest.mark.parametrize("name", ["*", "_all", "", "a,b", "a*", "-a", "<a-{now/d}>", "..", "a/_doc", "a b", "a?"])
def test_destructive_requests_refuse_what_is_not_one_name(cluster: OpenSearchEngine, prefix: str, name: str) -> None:
    kept = cluster.create_index(f"{prefix}--a--1", BODY)
    for request in (
        lambda: cluster.delete_index(name, kept.uuid),
        lambda: cluster.delete_template(name),
        lambda: cluster.delete_pipeline(name),
        lambda: cluster.update_settings(name, {"index.number_of_replicas": 1}),
        lambda: cluster.delete_document(name, "1"),
        lambda: cluster.update_aliases([AliasAction("remove", name, "x")]),
        lambda: cluster.update_aliases([AliasAction("remove", kept.name, name)]),
        lambda: cluster.update_aliases([AliasAction("remove_index", name)]),
        lambda: cluster.load(name, kept.uuid, []),
    ):
        with pytest.raises(Rejected, match="not the name of one"):
            request()
    assert cluster.get_index(kept.name) == kept


def test_settings_and_mapping(cluster: OpenSearchEngine, prefix: str) -> None:
    name = f"{prefix}--a--1"
    cluster.create_index(name, BODY)
    cluster.update_settings(name, {"index.refresh_interval": None, "index.number_of_replicas": 1})
    cluster.put_mapping(name, {"_meta": {"other": 1}})
    state = cluster.get_index(name)
    assert state is not None
    assert "index.refresh_interval" not in state.settings
    assert state.settings["index.number_of_replicas"] == "1"
    assert state.mappings["_meta"] == {"other": 1}
    assert state.health == "yellow"
    with pytest.raises(Rejected):
        cluster.update_settings(name, {"index.number_of_shards": 3})
    with pytest.raises(NotFound):
        cluster.update_settings(f"{prefix}--absent", {"index.number_of_replicas": 1})


def test_a_replica_that_no_node_can_take_is_not_waited_for(cluster: OpenSearchEngine, prefix: str) -> None:
    name = f"{prefix}--a--1"
    cluster.create_index(name, BODY)
    cluster.update_settings(name, {"index.number_of_replicas": 1})
    cluster.wait_started(name, 5)
    with pytest.raises(NotFound):
        cluster.wait_started(f"{prefix}--absent", 1)


def test_a_primary_without_a_node_times_out(cluster: OpenSearchEngine, prefix: str) -> None:
    name = f"{prefix}--red--1"
    nowhere = {"settings": {"index": {"routing.allocation.require._name": "no-such-node", "number_of_replicas": 0}}}
    cluster._wire.once("PUT", f"/{name}", nowhere, params={"wait_for_active_shards": "0"})
    state = cluster.get_index(name)
    assert state is not None
    assert state.health == "red"
    with pytest.raises(Unreachable, match="primary of shard 0 did not start"):
        cluster.wait_started(name, 0.5)
    with pytest.raises(Unreachable, match="red"):
        list(cluster.scan(name))


def test_hidden_aliases_are_read_and_switched_at_once(cluster: OpenSearchEngine, prefix: str) -> None:
    old, new = f"{prefix}--a--1", f"{prefix}--a--2"
    cluster.create_index(old, BODY)
    cluster.create_index(new, {"settings": {"index": {"number_of_replicas": 0}}})
    hidden = {"is_hidden": True}
    cluster.update_aliases([AliasAction("add", old, prefix), AliasAction("add", old, f"{prefix}--live--1", hidden)])
    assert cluster.aliases(f"{prefix}*") == {prefix: {old: {}}, f"{prefix}--live--1": {old: hidden}}
    cluster.update_aliases(
        [
            AliasAction("remove", old, prefix),
            AliasAction("remove", old, f"{prefix}--live--1"),
            AliasAction("add", new, prefix, {"is_write_index": False}),
            AliasAction("add", new, f"{prefix}--live--2", hidden),
        ]
    )
    moved = {prefix: {new: {"is_write_index": False}}, f"{prefix}--live--2": {new: hidden}}
    assert cluster.aliases(f"{prefix}*") == moved
    with pytest.raises(Conflict, match="nothing was switched"):
        cluster.update_aliases([AliasAction("remove", old, prefix), AliasAction("add", old, f"{prefix}--x")])
    assert cluster.aliases(f"{prefix}*") == moved
    assert cluster.aliases(f"{prefix}--live--2") == {f"{prefix}--live--2": {new: hidden}}
    assert cluster.aliases(f"{prefix}--absent") == {}
    with pytest.raises(NotFound):
        cluster.update_aliases([AliasAction("add", f"{prefix}--absent", prefix)])
    cluster.update_aliases([AliasAction("remove_index", old), AliasAction("add", new, f"{prefix}--y")])
    assert cluster.get_index(old) is None


def test_templates_and_pipelines(cluster: OpenSearchEngine, prefix: str) -> None:
    body = {"index_patterns": [f"{prefix}-t-*"], "priority": 450, "_meta": {"idxopt": {"owner": "x"}}, "template": {}}
    cluster.put_template(f"{prefix}-t", body)
    (template,) = [one for one in cluster.templates() if one.name == f"{prefix}-t"]
    assert (template.patterns, template.priority) == ((f"{prefix}-t-*",), 450)
    assert template.body["_meta"] == body["_meta"]
    cluster.delete_template(f"{prefix}-t")
    cluster.delete_template(f"{prefix}-t")

    pipeline = {"description": "d", "processors": [{"set": {"field": "a", "value": 1}}]}
    cluster.put_pipeline(f"{prefix}-p", pipeline)
    assert cluster.get_pipeline(f"{prefix}-p") == pipeline
    assert cluster.list_pipelines(f"{prefix}*") == {f"{prefix}-p": pipeline}
    cluster.delete_pipeline(f"{prefix}-p")
    cluster.delete_pipeline(f"{prefix}-p")
    assert cluster.get_pipeline(f"{prefix}-p") is None
    with pytest.raises(Rejected):
        cluster.put_pipeline(f"{prefix}-p", {"processors": [{"nonsense": {}}]})


def test_simulate(cluster: OpenSearchEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("idxopt.engines.opensearch.engine.SIMULATED_BYTES", 100)
    pipeline = {
        "processors": [
            {"lowercase": {"field": "t"}},
            {"fail": {"if": "ctx.t == 'bad'", "message": "no"}},
            {"drop": {"if": "ctx.t == 'drop'"}},
        ]
    }
    documents = [{"_id": str(number), "_source": {"t": f"ABC {number}"}} for number in range(50)]
    assert cluster.simulate_pipeline(pipeline, documents) == [{"t": f"abc {number}"} for number in range(50)]
    with pytest.raises(Rejected, match=r"no") as caught:
        cluster.simulate_pipeline(pipeline, [*documents, {"_id": "culprit", "_source": {"t": "BAD"}}])
    assert caught.value.place == "culprit"
    with pytest.raises(Rejected, match="dropped"):
        cluster.simulate_pipeline(pipeline, [{"_id": "1", "_source": {"t": "DROP"}}])


def test_state_documents(cluster: OpenSearchEngine, prefix: str) -> None:
    index = f"{prefix}--state"
    cluster.create_index(index, {"settings": {"index": {"hidden": True, "number_of_replicas": 0}}})
    first = cluster.put_document(index, "lock/ä #1", {"holder": 1}, create=True, refresh=True)
    stored = cluster.get_document(index, "lock/ä #1")
    assert stored is not None
    assert (stored.source, stored.version) == ({"holder": 1}, first)
    with pytest.raises(Conflict):
        cluster.put_document(index, "lock/ä #1", {"holder": 2}, create=True)
    second = cluster.put_document(index, "lock/ä #1", {"holder": 3}, expect=first)
    with pytest.raises(Conflict):
        cluster.put_document(index, "lock/ä #1", {"holder": 4}, expect=first)
    with pytest.raises(Conflict):
        cluster.put_document(index, "absent", {}, expect=Version(5, 1))
    with pytest.raises(Conflict):
        cluster.delete_document(index, "lock/ä #1", expect=first)
    cluster.put_document(index, "other", {"n": 1})
    assert set(cluster.get_documents(index, ["other", "lock/ä #1", "absent"])) == {"other", "lock/ä #1"}
    cluster.delete_document(index, "lock/ä #1", expect=second)
    assert cluster.get_document(index, "lock/ä #1") is None
    cluster.delete_document(index, "lock/ä #1")  # gone already is fine
    with pytest.raises(NotFound):
        cluster.get_document(f"{prefix}--absent", "1")
