"""Where steps run, what the pipeline holds, and what writes through the alias lack."""

import json
from typing import Any

import pytest

from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import CompiledView, Target
from idxopt.compiler.pipeline_tables import without_terms
from idxopt.compiler.pipelines import _CALLS, script_source, script_steps
from idxopt.operators.counting import Stream, TablesNeeded
from idxopt.operators.frequencies import DocumentFrequencies
from idxopt.operators.registry import FORMS
from idxopt.operators.tables import Tables
from idxopt.program.steps import Slice
from idxopt.program.validate import program_from

SERVER = Target(engine="opensearch", bm25_factor=True, pipelines=True)
EMBEDDED = Target(engine="embedded", bm25_factor=False, pipelines=False)


def compiled(
    steps: list[dict[str, Any]],
    target: Target = SERVER,
    view: str = "content",
    markup: str = "text",
    tables: Tables | None = None,
) -> CompiledView:
    views: dict[str, Any] = {"content": {}, "searched": {"lexical": {"fields": {"title": {}}}}}
    views[view]["steps"] = steps
    value = {
        "schema": "idxopt/1",
        "name": "docs",
        "source": {"markup": markup, "fields": {"title": "meta.title", "body": "text"}},
        "views": views,
    }
    return lower(program_from(value, "test"), target, {}, tables).views[view]


LOWER = {"op": "normalize", "scheme": "lowercase"}
NFKC = {"op": "normalize", "scheme": "nfkc"}
LEAD = {"op": "enrich", "with": "lead", "into": "opening", "words": 9}
TERMS = {"op": "enrich", "with": "prime_terms", "into": "terms"}
TREE = {"op": "enrich", "with": "heading_tree", "into": "tree"}


def places(view: CompiledView) -> list[str]:
    return [placement.place for placement in view.placements]


def params(view: CompiledView) -> Any:
    assert view.pipeline is not None
    return view.pipeline["processors"][0]["script"]["params"]


def source(view: CompiledView) -> str:
    assert view.pipeline is not None
    return str(view.pipeline["processors"][0]["script"]["source"])


def test_a_chain_of_steps_of_both_places_is_in_the_pipeline() -> None:
    view = compiled([LOWER, LEAD, {"op": "reorganize", "to": "rename", "field": "title", "into": "name"}])
    assert places(view) == ["both"] * 3
    assert view.lost_on_write == ()
    assert params(view)["steps"] == [
        {"kind": "lowercase", "field": "body"},
        {"kind": "lead", "field": "body", "into": "opening", "sentences": 0, "words": 9},
        {"kind": "rename", "field": "title", "into": "name"},
    ]
    assert params(view)["outputs"] == ["body", "name", "opening"]
    assert params(view)["paths"] == {"body": "text", "title": "meta.title"}
    assert params(view)["incomplete"] is False


def test_a_step_behind_one_of_the_client_is_left_out_with_its_reason() -> None:
    title = {"op": "normalize", "field": "title", "scheme": "whitespace"}
    view = compiled([NFKC, LOWER, LEAD, title])
    assert places(view) == ["client", "client", "client", "both"]
    assert view.placements[0].why == "has no equal on the server"
    assert view.placements[1].why == "reads body, made by a step that runs on the client only"
    assert view.placements[3].operator == "normalize whitespace"
    assert view.lost_on_write == ("body", "opening")
    assert params(view)["steps"] == [{"kind": "whitespace", "field": "title"}]
    assert params(view)["outputs"] == ["title"]
    assert params(view)["incomplete"] is True


def test_a_step_of_the_client_whose_output_is_discarded_loses_nothing() -> None:
    entities = {"op": "enrich", "with": "entities", "into": "found"}
    view = compiled([entities, {"op": "discard", "span": {"fields": ["found"]}}, LOWER])
    assert places(view) == ["client", "both", "both"]
    assert view.lost_on_write == ()
    assert params(view)["incomplete"] is False


def test_reasons_of_steps_that_the_server_cannot_do() -> None:
    view = compiled([{"op": "enrich", "with": "keywords", "into": "words"}])
    assert "tables over the whole corpus" in view.placements[0].why
    rows = compiled([{"op": "slice", "unit": "words", "window": 9}, LOWER], view="searched")
    assert places(rows) == ["client", "client"]
    assert "several rows" in rows.placements[0].why
    assert "several rows" in rows.placements[1].why


def test_reweight_acts_when_searching() -> None:
    view = compiled([{"op": "reweight", "field": "title", "alpha": 2.0}], view="searched")
    assert places(view) == ["query"]


def test_only_the_primary_view_has_a_pipeline_and_others_lack_all_their_fields_on_write() -> None:
    view = compiled([LOWER], view="searched")
    assert (view.pipeline, view.pipeline_name) == (None, None)
    assert view.placements[0].place == "client"
    assert "primary view only" in view.placements[0].why
    assert view.lost_on_write == ("body", "title")
    assert "index.default_pipeline" not in view.served_settings


def test_an_engine_without_pipelines_runs_everything_on_the_client() -> None:
    view = compiled([LOWER], EMBEDDED)
    assert view.pipeline is None
    assert view.placements[0].why == "this engine has no ingest pipelines"
    assert view.lost_on_write == ("body",)


def test_a_pipeline_without_steps_still_writes_the_document_id() -> None:
    view = compiled([])
    assert view.pipeline is not None
    assert params(view)["steps"] == []
    assert view.served_settings["index.default_pipeline"] == view.pipeline_name == view.index


def test_the_owner_mark_of_a_pipeline_is_in_its_description() -> None:
    view = compiled([LOWER])
    assert view.pipeline is not None
    assert json.loads(view.pipeline["description"]) == {
        "owner": "idxopt",
        "name": "docs",
        "view": "content",
        "view_hash": view.view_hash,
    }


def test_every_kind_of_step_that_the_pipeline_sends_is_known_to_the_script() -> None:
    steps: list[dict[str, Any]] = [
        LOWER,
        {"op": "normalize", "scheme": "whitespace"},
        {"op": "normalize", "scheme": "split_identifiers"},
        LEAD,
        {"op": "reorganize", "to": "promote", "field": "title", "into": "copy"},
        {"op": "reorganize", "to": "join", "field": ["title", "body"], "into": "all"},
        {"op": "reorganize", "to": "rename", "field": "title", "into": "name"},
        {"op": "discard", "span": {"phrases": ["x"]}},
        {"op": "discard", "span": {"fields": ["copy"]}},
        TERMS,
        TREE,
    ]
    view = compiled(steps)
    assert {placement.operator for placement in view.placements} == {
        name for name, form in FORMS.items() if form.place == "both"
    }
    for step in params(view)["steps"]:
        assert f"kind == '{step['kind']}'" in source(view)


def test_the_script_holds_only_what_its_steps_need() -> None:
    empty, lead = source(compiled([])), source(compiled([LEAD]))
    assert "valueAt(ctx" in empty
    assert "firstWords" not in empty
    assert "firstWords" in lead
    assert "markdownPage" not in lead


@pytest.mark.parametrize("markup", ["html", "rest", "asciidoc"])
def test_prime_steps_of_other_markups_stay_on_the_client(markup: str) -> None:
    view = compiled([TERMS, TREE, LEAD], markup=markup)
    assert places(view) == ["client", "client", "both"]
    assert view.placements[0].why == f"a pipeline reads Markdown and plain text only, and the markup is {markup}"
    assert view.lost_on_write == ("terms", "tree", "tree_sections")
    assert not view.pipeline_tables


@pytest.mark.parametrize("markup", ["text", "markdown"])
def test_the_pipeline_carries_the_frozen_table(markup: str) -> None:
    counts = {"aa": 3, "bb": 1, "cc": 1}
    frequencies: dict[tuple[Stream, str], DocumentFrequencies] = {("prime", "body"): DocumentFrequencies(4, counts)}
    made = TablesNeeded({("prime", "body"): None})
    tables = Tables(4, made, frequencies)
    view = compiled([TERMS, {**TERMS, "into": "few", "max_idf_terms": 1}, TREE], markup=markup, tables=tables)
    assert view.pipeline_tables
    assert view.lost_on_write == ()
    assert params(view)["markdown"] is (markup == "markdown")
    assert params(view)["tables"] == {
        "body": {
            "tables": tables.digest,
            "documents": 4,
            "absent": 0,
            "idf": {"0": 2.609437912434, "1": 1.916290731874, "3": 1.223143551314},
            "terms": counts,
        },
        "body:1": {
            "tables": tables.digest,
            "documents": 4,
            "absent": 3,
            "idf": {"3": 1.223143551314},
            "terms": {"aa": 3},
        },
    }
    shown = json.dumps(without_terms(dict(view.pipeline or {})))
    assert '"terms": "3 terms, sha256' in shown
    assert '"aa"' not in shown
    assert tables.digest in shown


def test_without_tables_the_pipeline_says_that_they_are_to_come() -> None:
    view = compiled([TERMS])
    assert view.pipeline is not None
    assert params(view)["tables"] == {"body": "the document frequencies are counted and put here by apply"}
    assert without_terms(view.pipeline) == view.pipeline
    plain = compiled([LEAD]).pipeline
    assert plain is not None
    assert without_terms(plain) == plain


def test_a_step_without_a_form_on_the_server_is_never_sent() -> None:
    step = Slice(op="slice", unit="words", window=9)
    with pytest.raises(AssertionError, match="no form on the server"):
        script_steps(step)


def test_the_script_is_shipped_without_comments_and_below_the_engines_limit() -> None:
    whole = script_source(frozenset(_CALLS))
    assert "//" not in whole
    assert len(whole.encode()) < 65_535
