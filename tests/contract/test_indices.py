"""Indices, settings, mappings, aliases and templates, as every engine keeps them."""

from typing import Any

import pytest

from idxopt.engines.port import AliasAction, Engine, IndexState
from idxopt.errors import Conflict, EngineError, NotFound, Rejected
from tests.contract.library import BODY


def test_create_reads_back_what_was_asked_for(engine: Engine, empty: IndexState) -> None:
    assert {
        "index.number_of_shards": "1",
        "index.number_of_replicas": "0",
        "index.hidden": "true",
        "index.refresh_interval": "-1",
        "index.similarity.plain.type": "BM25",
        "index.similarity.flat.k1": "0.9",
        "index.similarity.flat.b": "0.4",
    }.items() <= empty.settings.items()
    assert empty.mappings["_meta"] == {"idxopt": {"owner": "contract", "number": 1.5}}
    properties = empty.mappings["properties"]
    assert properties["title"] == {"type": "text", "analyzer": "english", "similarity": "plain"}
    assert properties["idxopt"]["properties"]["doc_id"] == {"type": "keyword"}
    assert empty.aliases == {}
    assert empty.uuid
    assert engine.get_index(empty.name) == empty


def test_a_taken_name_is_a_conflict(engine: Engine, empty: IndexState, prefix: str) -> None:
    with pytest.raises(Conflict):
        engine.create_index(empty.name, BODY)
    assert engine.get_index(empty.name) == empty
    engine.update_aliases([AliasAction("add", empty.name, f"{prefix}-alias")])
    with pytest.raises(EngineError):
        engine.create_index(f"{prefix}-alias", BODY)


def test_indices_are_listed_by_pattern(engine: Engine, empty: IndexState, prefix: str) -> None:
    other = engine.create_index(f"{prefix}--other", {**BODY, "aliases": {f"{prefix}-alias": {"is_hidden": True}}})
    assert [state.name for state in engine.list_indices(f"{prefix}*")] == [empty.name, other.name]
    assert engine.list_indices(f"{prefix}--o*") == [other]
    assert engine.list_indices(f"{prefix}-alias") == []
    assert engine.get_index(f"{prefix}-alias") is None
    assert engine.get_index(f"{prefix}--absent") is None
    assert other.aliases == {f"{prefix}-alias": {"is_hidden": True}}


def test_an_index_is_deleted_only_while_it_has_the_uuid(engine: Engine, empty: IndexState) -> None:
    engine.delete_index(empty.name, empty.uuid)
    engine.delete_index(empty.name, empty.uuid)
    again = engine.create_index(empty.name, BODY)
    assert again.uuid != empty.uuid
    with pytest.raises(Conflict):
        engine.delete_index(empty.name, empty.uuid)
    assert engine.get_index(empty.name) == again


@pytest.mark.parametrize("name", ["*", "_all", "", "a*", "-a", "a/b", "a b", "a,b"])
def test_what_changes_takes_one_real_name(engine: Engine, empty: IndexState, name: str) -> None:
    for change in (
        lambda: engine.create_index(name, BODY),
        lambda: engine.delete_index(name, empty.uuid),
        lambda: engine.delete_template(name),
        lambda: engine.delete_pipeline(name),
        lambda: engine.update_settings(name, {"index.number_of_replicas": 1}),
        lambda: engine.put_mapping(name, {"_meta": {}}),
        lambda: engine.delete_document(name, "1"),
        lambda: engine.update_aliases([AliasAction("remove_index", name)]),
        lambda: engine.update_aliases([AliasAction("remove", empty.name, name)]),
        lambda: engine.load(name, empty.uuid, []),
    ):
        with pytest.raises(Rejected):
            change()
    assert engine.get_index(empty.name) == empty


@pytest.mark.parametrize(
    "body",
    [
        {"settings": {"index": {"no_such_setting": 1}}, "mappings": {"dynamic": False}},
        {"mappings": {"dynamic": False, "properties": {"x": {"type": "no_such_type"}}}},
        {"mappings": {"dynamic": False, "properties": {"x": {"type": "keyword", "no_such_parameter": 1}}}},
        {"mappings": {"dynamic": False, "properties": {"x": {"type": "text", "analyzer": "no_such_analyzer"}}}},
        {"mappings": {"dynamic": False, "properties": {"x": {"type": "text", "similarity": "no_such"}}}},
        {"settings": {"index": {"similarity": {"s": {"type": "BM25", "b": 2}}}}, "mappings": {"dynamic": False}},
        {"no_such_section": {}},
    ],
)
def test_a_body_that_is_not_understood_makes_nothing(engine: Engine, prefix: str, body: dict[str, Any]) -> None:
    with pytest.raises(Rejected):
        engine.create_index(f"{prefix}--bad", body)
    assert engine.get_index(f"{prefix}--bad") is None


def test_settings_change_and_reset(engine: Engine, empty: IndexState) -> None:
    engine.update_settings(empty.name, {"index.refresh_interval": "5s", "index.max_result_window": 20_000})
    changed = engine.get_index(empty.name)
    assert changed is not None
    assert changed.settings["index.refresh_interval"] == "5s"
    assert changed.settings["index.max_result_window"] == "20000"
    engine.update_settings(empty.name, {"index.refresh_interval": "-1", "index.max_result_window": None})
    assert engine.get_index(empty.name) == empty
    for refused in ({"index.number_of_shards": 2}, {"index.similarity.plain.k1": 3}, {"index.no_such": 1}):
        with pytest.raises(Rejected):
            engine.update_settings(empty.name, refused)
    with pytest.raises(NotFound):
        engine.update_settings(f"{empty.name}-absent", {"index.refresh_interval": "5s"})


def test_meta_is_replaced_and_fields_are_added(engine: Engine, empty: IndexState) -> None:
    engine.put_mapping(
        empty.name, {"properties": {"later": {"type": "keyword"}, "author": {"properties": {"x": {"type": "long"}}}}}
    )
    changed = engine.get_index(empty.name)
    assert changed is not None
    assert changed.mappings["_meta"] == empty.mappings["_meta"]
    assert changed.mappings["properties"]["later"] == {"type": "keyword"}
    assert set(changed.mappings["properties"]["author"]["properties"]) == {"name", "born", "x"}
    engine.put_mapping(empty.name, {"_meta": {"other": 1}})
    replaced = engine.get_index(empty.name)
    assert replaced is not None
    assert replaced.mappings["_meta"] == {"other": 1}
    assert replaced.mappings["properties"] == changed.mappings["properties"]
    with pytest.raises(Rejected):
        engine.put_mapping(empty.name, {"properties": {"lang": {"type": "long"}}})


def test_a_switch_is_one_step_or_none(engine: Engine, empty: IndexState, prefix: str) -> None:
    old, new = empty.name, engine.create_index(f"{prefix}--new", BODY).name
    live, mark = prefix, f"{prefix}--live--1"
    engine.update_aliases([AliasAction("add", old, live), AliasAction("add", old, mark, {"is_hidden": True})])
    assert engine.aliases(f"{prefix}*") == {live: {old: {}}, mark: {old: {"is_hidden": True}}}
    switch = [
        AliasAction("add", new, live, {"is_write_index": True}),
        AliasAction("remove", old, live),
        AliasAction("remove", old, f"{prefix}--live--0"),
    ]
    with pytest.raises(Conflict):
        engine.update_aliases(switch)
    assert engine.aliases(f"{prefix}*") == {live: {old: {}}, mark: {old: {"is_hidden": True}}}
    engine.update_aliases([*switch[:2], AliasAction("remove", old, mark)])
    assert engine.aliases(f"{prefix}*") == {live: {new: {"is_write_index": True}}}
    state = engine.get_index(new)
    assert state is not None
    assert state.aliases == {live: {"is_write_index": True}}
    with pytest.raises(NotFound):
        engine.update_aliases([AliasAction("add", f"{prefix}--absent", live)])


def test_an_index_gives_its_name_to_an_alias(engine: Engine, empty: IndexState, prefix: str) -> None:
    taken = engine.create_index(prefix, BODY)
    with pytest.raises(Rejected):
        engine.update_aliases([AliasAction("add", empty.name, prefix)])
    engine.update_aliases([AliasAction("remove_index", taken.name), AliasAction("add", empty.name, prefix)])
    assert engine.get_index(prefix) is None
    assert engine.aliases(prefix) == {prefix: {empty.name: {}}}


def test_deleting_an_index_takes_its_aliases(engine: Engine, empty: IndexState, prefix: str) -> None:
    engine.update_aliases([AliasAction("add", empty.name, prefix)])
    engine.delete_index(empty.name, empty.uuid)
    assert engine.aliases(f"{prefix}*") == {}


def test_templates_are_kept_as_given(engine: Engine, prefix: str) -> None:
    body = {"index_patterns": [f"{prefix}--x--*"], "priority": 501, "_meta": {"a": 1}, "template": {"settings": {}}}
    engine.put_template(prefix, body)
    [mine] = [template for template in engine.templates() if template.name == prefix]
    assert (mine.patterns, mine.priority, mine.body["_meta"]) == ((f"{prefix}--x--*",), 501, {"a": 1})
    engine.put_template(prefix, {**body, "priority": 502})
    assert [template.priority for template in engine.templates() if template.name == prefix] == [502]
    engine.delete_template(prefix)
    engine.delete_template(prefix)
    assert [template for template in engine.templates() if template.name == prefix] == []


def test_pipelines_are_kept_or_refused(engine: Engine, prefix: str) -> None:
    body = {"description": "d", "processors": [{"set": {"field": "x", "value": 1}}]}
    if engine.capabilities().pipelines:
        engine.put_pipeline(prefix, body)
        assert engine.get_pipeline(prefix) == body
        assert engine.list_pipelines(f"{prefix}*") == {prefix: body}
        assert engine.simulate_pipeline(body, [{"_id": "1", "_source": {"y": 2}}]) == [{"x": 1, "y": 2}]
    else:
        with pytest.raises(Rejected):
            engine.put_pipeline(prefix, body)
        with pytest.raises(Rejected):
            engine.simulate_pipeline(body, [])
    engine.delete_pipeline(prefix)
    engine.delete_pipeline(prefix)
    assert engine.get_pipeline(prefix) is None
    assert engine.list_pipelines(f"{prefix}*") == {}


def test_capabilities_and_started(engine: Engine, empty: IndexState) -> None:
    found = engine.capabilities()
    assert found.engine in {"embedded", "opensearch"}
    assert found.cluster_uuid
    assert (found.max_clauses, found.max_result_window) == (1024, 10_000)
    engine.wait_started(empty.name, 30)
    with pytest.raises(EngineError):
        engine.wait_started(f"{empty.name}-absent", 1)
