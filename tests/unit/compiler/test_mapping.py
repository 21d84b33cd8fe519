"""Index bodies and templates: nothing is left to an engine's defaults, nothing in the data can break the mapping."""

from typing import Any

import pytest

from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import CompiledView, Target
from idxopt.compiler.mapping import KEYWORD_IGNORE_ABOVE, similarity_name
from idxopt.compiler.templates import with_priority
from idxopt.errors import ProgramError
from idxopt.program.schema import Program
from idxopt.program.validate import program_from

TARGET = Target(engine="opensearch", bm25_factor=True, pipelines=True, shards=2, replicas=1)


def view(name: str, views: dict[str, Any], **source: Any) -> CompiledView:
    given = {"fields": {"title": "meta.title", "body": "text"}, **source}
    value = {"schema": "idxopt/1", "name": "docs", "source": given, "views": views}
    return lower(program_from(value, "test"), TARGET, {}).views[name]


def properties(compiled: CompiledView) -> Any:
    return compiled.index_body["mappings"]["properties"]


CONTENT = {"lexical": {"fields": {"title": {"k1": 0.9, "b": 0.4, "analyzer": "standard"}, "body": {}}}}


def test_an_untouched_field_is_mapped_where_the_source_has_it() -> None:
    compiled = view("content", {"content": CONTENT})
    assert properties(compiled)["meta"] == {
        "properties": {"title": {"type": "text", "analyzer": "standard", "similarity": "bm25-0_9-0_4"}}
    }
    assert properties(compiled)["text"] == {"type": "text", "analyzer": "english", "similarity": "bm25-1_2-0_75"}
    assert properties(compiled)["idxopt"] == {
        "dynamic": "strict",
        "properties": {"doc_id": {"type": "keyword"}, "incomplete": {"type": "boolean"}},
    }
    assert compiled.index_body["mappings"]["dynamic"] is False


def test_a_changed_field_is_mapped_under_idxopt_and_its_source_is_not() -> None:
    step = {"op": "normalize", "scheme": "lowercase"}
    compiled = view("content", {"content": {**CONTENT, "steps": [step]}})
    assert "text" not in properties(compiled)
    assert properties(compiled)["idxopt"]["properties"]["body"]["type"] == "text"


def test_what_is_stored_only_is_never_parsed() -> None:
    step = {"op": "enrich", "with": "heading_tree", "into": "headings"}
    compiled = view("content", {"content": {**CONTENT, "steps": [step]}})
    own = properties(compiled)["idxopt"]["properties"]
    assert own["headings"] == own["headings_sections"] == {"type": "object", "enabled": False}


def test_another_view_stores_all_its_fields_and_the_metadata() -> None:
    words = {
        "steps": [{"op": "slice", "unit": "words", "window": 100}],
        "lexical": {"fields": {"body": {"analyzer": "standard"}}},
    }
    compiled = view("words", {"content": CONTENT, "words": words}, metadata={"lang": "keyword", "meta.on": "date"})
    assert properties(compiled) == {
        "lang": {"type": "keyword", "ignore_above": KEYWORD_IGNORE_ABOVE},
        "meta": {"properties": {"on": {"type": "date"}}},
        "idxopt": {
            "dynamic": "strict",
            "properties": {
                "doc_id": {"type": "keyword"},
                "row": {"type": "integer"},
                "path": {"type": "object", "enabled": False},
                "span": {"type": "object", "enabled": False},
                "body": {"type": "text", "analyzer": "standard", "similarity": "bm25-1_2-0_75"},
                "title": {"type": "object", "enabled": False},
            },
        },
    }
    assert compiled.many_rows
    assert compiled.lost_on_write == ("body", "title")


def test_a_searched_heading_path_is_text() -> None:
    sections = {"steps": [{"op": "reorganize", "to": "sections"}], "lexical": {"fields": {"path": {}, "body": {}}}}
    compiled = view("sections", {"content": CONTENT, "sections": sections})
    assert properties(compiled)["idxopt"]["properties"]["path"]["type"] == "text"


def test_settings_as_created_and_as_served() -> None:
    compiled = view("content", {"content": CONTENT})
    assert compiled.index_body["settings"]["index"] == {
        "number_of_shards": 2,
        "number_of_replicas": 0,
        "hidden": True,
        "refresh_interval": "-1",
        "similarity": {
            "bm25-0_9-0_4": {"type": "BM25", "k1": 0.9, "b": 0.4},
            "bm25-1_2-0_75": {"type": "BM25", "k1": 1.2, "b": 0.75},
        },
    }
    assert compiled.served_settings == {
        "index.refresh_interval": "1s",
        "index.number_of_replicas": 1,
        "index.default_pipeline": compiled.index,
    }


@pytest.mark.parametrize(
    ("k1", "b", "name"),
    [(1.2, 0.75, "bm25-1_2-0_75"), (0.0, 1.0, "bm25-0-1"), (1.23456789, 1e-5, "bm25-1_23456789-1e-05")],
)
def test_similarity_names_hold_no_dot_and_tell_values_apart(k1: float, b: float, name: str) -> None:
    assert similarity_name(k1, b) == name


def test_a_large_mapping_raises_the_field_limit() -> None:
    metadata = {".".join(f"p{n}x{depth}" for depth in range(15)): "keyword" for n in range(80)}
    compiled = view("content", {"content": CONTENT}, metadata=metadata)
    assert compiled.index_body["settings"]["index"]["mapping"] == {"total_fields": {"limit": 80 * 15 + 6}}


def test_a_source_path_deeper_than_engines_map_is_refused() -> None:
    with pytest.raises(ProgramError, match="more than 20 parts") as caught:
        view("content", {"content": CONTENT}, metadata={".".join("a" * 21): "keyword"})
    assert caught.value.place is not None
    assert caught.value.place.startswith("source.metadata.a.a.")


def test_two_uses_of_one_source_path_are_refused_even_in_an_unchecked_program() -> None:
    value = {
        "schema": "idxopt/1",
        "name": "docs",
        "source": {"fields": {"title": "t", "name": "t"}},
        "views": {"content": {"lexical": {"fields": {"title": {}, "name": {"analyzer": "standard"}}}}},
    }
    with pytest.raises(ProgramError, match="needed twice"):
        lower(Program.model_validate(value), TARGET, {})


def test_the_template_wins_over_foreign_ones_and_carries_the_owner_mark() -> None:
    compiled = view("content", {"content": CONTENT})
    template = compiled.template
    assert compiled.template_name == "docs--content"
    assert template["index_patterns"] == ["docs--content--*"]
    assert template["priority"] == 500
    assert template["_meta"]["idxopt"] == {
        "owner": "idxopt",
        "name": "docs",
        "view": "content",
        "view_hash": compiled.view_hash,
    }
    assert "_meta" not in template["template"]["mappings"]
    assert "refresh_interval" not in template["template"]["settings"]["index"]
    assert template["template"]["mappings"]["properties"] == properties(compiled)
    raised = with_priority(template, 900)
    assert raised["priority"] == 900
    assert {**raised, "priority": 500} == template


def test_what_is_reserved_for_later_is_refused_by_its_path() -> None:
    value = {
        "schema": "idxopt/1",
        "name": "docs",
        "source": {"fields": {"title": "title", "body": "text"}},
        "views": {"content": dict(CONTENT)},
        "analysis": {"analyzer": {"own": {"type": "standard"}}},
    }
    with pytest.raises(ProgramError, match="not in this version") as caught:
        lower(program_from(value, "test"), TARGET, {})
    assert caught.value.place == "program: analysis"
