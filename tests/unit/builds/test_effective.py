"""The effective index against the compiled one: every real difference, and nothing that is only written differently."""

from typing import Any

import pytest

from idxopt.builds.effective import Difference, compare_effective
from idxopt.engines.port import IndexState
from tests.unit.builds.samples import body_of

NAME = "x--content--00000000"
BODY = body_of(NAME, "x")
SETTINGS = {
    "index.number_of_shards": "1",
    "index.number_of_replicas": "0",
    "index.hidden": "true",
    "index.refresh_interval": "-1",
    "index.similarity.bm25-0_9-0_4.type": "BM25",
    "index.similarity.bm25-0_9-0_4.k1": "0.90",
    "index.similarity.bm25-0_9-0_4.b": "0.4",
    "index.replication.type": "DOCUMENT",
    "index.version.created": "136408127",
}


def state(settings: dict[str, Any] | None = None, mappings: dict[str, Any] | None = None, **aliases: Any) -> IndexState:
    return IndexState(NAME, "u", {**SETTINGS, **(settings or {})}, mappings or written(), aliases)


def written(**changes: Any) -> dict[str, Any]:
    """The mapping as an engine writes it: texts for booleans, defaults spelt out or left out."""
    properties = BODY["mappings"]["properties"]
    rewritten = {
        **properties,
        "lang": {"type": "keyword", "ignore_above": "10922", "doc_values": True},
        "meta": {"type": "object", "properties": properties["meta"]["properties"]},
        "idxopt": {"type": "object", **properties["idxopt"]},
        **changes,
    }
    return {
        "dynamic": "false",
        "_meta": BODY["mappings"]["_meta"],
        "properties": {name: definition for name, definition in rewritten.items() if definition is not None},
    }


def test_what_is_only_written_differently_is_equal() -> None:
    assert compare_effective(BODY, state()) == []


@pytest.mark.parametrize(
    ("effective", "path"),
    [
        (state({"index.similarity.bm25-0_9-0_4.k1": "1.2"}), "settings.index.similarity.bm25-0_9-0_4.k1"),
        (state({"index.codec": "best_compression"}), "settings.index.codec"),
        (state({"index.blocks.write": "true"}), "settings.index.blocks.write"),
        (state({"index.hidden": "false"}), "settings.index.hidden"),
        (state(mappings=written(lang=None)), "mappings.properties.lang.ignore_above"),
        (state(mappings=written(lang={"type": "text"})), "mappings.properties.lang.ignore_above"),
        (state(mappings=written(more={"type": "keyword"})), "mappings.properties.more.type"),
        (state(mappings=written(more={"properties": {}})), "mappings.properties.more"),
        (state(mappings={**written(), "dynamic": "true"}), "mappings.dynamic"),
        (state(mappings={**written(), "_meta": {}}), "mappings._meta.idxopt.index"),
        (state(mappings={**written(), "_source": {"enabled": False}}), "mappings._source.enabled"),
        (state(theirs={}), "aliases.theirs"),
    ],
)
def test_every_real_difference_is_found(effective: IndexState, path: str) -> None:
    differences = compare_effective(BODY, effective)
    assert path in [difference.path for difference in differences]


def test_a_missing_setting_and_served_settings() -> None:
    served = {"index.refresh_interval": "1s", "index.number_of_replicas": 2}
    assert (
        compare_effective(BODY, state({"index.refresh_interval": "1s", "index.number_of_replicas": "2"}), served=served)
        == []
    )
    assert compare_effective(BODY, state(), served=served) == [
        Difference("settings.index.number_of_replicas", "2", "0"),
        Difference("settings.index.refresh_interval", "1s", "-1"),
    ]
    assert compare_effective(BODY, state(mine={}), aliases=["mine"]) == []


def test_differences_are_told_in_words() -> None:
    assert str(Difference("a", None, "1")) == "a is 1, which was not asked for"
    assert str(Difference("a", "1", None)) == "a is missing, compiled as 1"
    assert str(Difference("a", "1", "2")) == "a is 2, compiled as 1"


def knn(**changes: Any) -> dict[str, Any]:
    definition: dict[str, Any] = {
        "type": "knn_vector",
        "dimension": 4,
        "method": {"name": "hnsw", "engine": "lucene", "space_type": "l2", "parameters": {"m": 16}},
    }
    return {"mappings": {"properties": {"v": {**definition, **changes}}}}


def found(**changes: Any) -> IndexState:
    return IndexState(NAME, "u", {}, knn(**changes)["mappings"], {})


@pytest.mark.parametrize(
    "echo",
    [
        {},
        {"dimension": "4"},
        {"space_type": "l2"},
        {"space_type": "l2", "method": {"name": "hnsw", "engine": "lucene", "parameters": {"m": 16}}},
        {"mode": "in_memory", "compression_level": "1x", "data_type": "float"},
    ],
    ids=str,
)
def test_a_vector_field_has_several_spellings(echo: dict[str, Any]) -> None:
    assert compare_effective(knn(), found(**echo)) == []
    assert compare_effective(knn(**echo), found()) == []


@pytest.mark.parametrize(
    ("echo", "path"),
    [
        ({"dimension": 5}, "dimension"),
        ({"space_type": "cosinesimil", "method": {"name": "hnsw", "engine": "lucene"}}, "method.parameters.m"),
        ({"mode": "on_disk"}, "mode"),
        ({"compression_level": "4x"}, "compression_level"),
        ({"method": {**knn()["mappings"]["properties"]["v"]["method"], "engine": "faiss"}}, "method.engine"),
    ],
    ids=str,
)
def test_another_vector_field_is_another_index(echo: dict[str, Any], path: str) -> None:
    [first, *_] = compare_effective(knn(), found(**echo))
    assert first.path == f"mappings.properties.v.{path}"
