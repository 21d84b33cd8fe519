"""View hashes (contract 4): what decides stored rows changes them, nothing else does, and they stay what they are."""

import json
from typing import Any

import pytest

from idxopt.compiler.identity import view_hash
from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import Compiled, Generations, Target
from idxopt.errors import ProgramError
from idxopt.program.presets import PRESETS, preset
from idxopt.program.schema import Program
from idxopt.program.validate import program_from

TARGET = Target(engine="opensearch", bm25_factor=True, pipelines=True)

PROGRAM: dict[str, Any] = {
    "schema": "idxopt/1",
    "name": "docs",
    "source": {"fields": {"title": "title", "body": "text"}, "metadata": {"lang": "keyword"}, "markup": "markdown"},
    "views": {
        "content": {
            "steps": [
                {"op": "normalize", "field": "body", "scheme": "split_identifiers", "keep_original": True},
                {"op": "reweight", "field": "title", "alpha": 2.0},
            ],
            "lexical": {"fields": {"title": {}, "body": {}}},
        },
        "words": {
            "steps": [{"op": "slice", "unit": "words", "window": 100, "overlap": 10}],
            "lexical": {"fields": {"body": {}}},
        },
        "terms": {
            "steps": [{"op": "enrich", "with": "keywords", "into": "found"}],
            "lexical": {"fields": {"found": {}}},
        },
    },
}

GOLDEN = {
    "full-text": {"content": "5b9ab4352e821676"},
    "fields": {"content": "5b9ab4352e821676"},
    "identifiers": {"content": "df11d91f49b4e2cd"},
    "sections": {"content": "5b9ab4352e821676", "sections": "e7b85943f54dcc51"},
    "raw": {"content": "5b9ab4352e821676", "windows": "768080d22763635e"},
    "structure-chunks": {"content": "5b9ab4352e821676", "chunks": "499a2cd783d1d610"},
    "offline": {"content": "4dd56254f2a8d0fc"},
    "sr-text": {"content": "2958b3deb9bb74c0", "rewritten-windows": "0c8901b9df4d4207"},
    "full": {"content": "566c12dafb02e551"},
    "sr-context": {"content": "a141b338af9cf7af"},
    "terms-beside-text": {"content": "5b9ab4352e821676", "terms-windows": "ef57e4cd61b1bd45"},
    "summary-augmented": {"content": "5b9ab4352e821676", "summary-chunks": "297ce72e66f45884"},
    "raptor-lite": {"content": "5b9ab4352e821676", "whole-sections": "5c63780c92cfa49e", "windows": "768080d22763635e"},
    "title": {"content": "34e9e745d1206a1e"},
    "title-headings": {"content": "bd498e6dd029f16c"},
}


def program(**changes: Any) -> Program:
    """PROGRAM with values set at dotted paths (`views.content.steps.0.keep_original` as keyword with `__`)."""
    value = json.loads(json.dumps(PROGRAM))
    for path, new in changes.items():
        here = value
        *outer, last = path.split("__")
        for part in outer:
            here = here[int(part)] if isinstance(here, list) else here.setdefault(part, {})
        if isinstance(here, list):
            here[int(last) :] = [*new] if isinstance(new, list) else [new, *here[int(last) + 1 :]]
        else:
            here[last] = new
    return program_from(value, "test")


def hashes(compiled: Compiled) -> dict[str, str]:
    return {name: view.view_hash for name, view in compiled.views.items()}


def changed(other: Program, target: Target = TARGET, generations: dict[str, Generations] | None = None) -> set[str]:
    before = hashes(lower(program(), TARGET, {}))
    after = hashes(lower(other, target, generations or {}))
    return {name for name in before | after if before.get(name) != after.get(name)}


@pytest.mark.parametrize(
    "changes",
    [
        {"views__content__steps__1": {"op": "reweight", "field": "title", "alpha": 3.0}},
        {"views__content__steps__1": []},
        {"views__content__lexical__fields__title": {"weight": 4.0}},
        {"views__content__lexical__fields__title": {"weight": 0}},
        {"views__words__weight": 0.5},
        {"fusion": {"k": 10, "window": 50, "weights": {"words.lexical": 0.25}}},
        {"fusion": {"method": "weighted_sum"}},
        {"name": "other"},
        {"views__content__steps__0__field": ["body"]},
        {"views__content__steps__0__replacement": ""},
        {"views__content__lexical__fields__title": {"k1": 1.2, "b": 0.75, "analyzer": "english"}},
    ],
)
def test_what_acts_only_on_queries_or_spelling_changes_no_hash(changes: dict[str, Any]) -> None:
    assert changed(program(**changes)) == set()


@pytest.mark.parametrize(
    ("changes", "views"),
    [
        ({"views__content__steps__0__keep_original": False}, {"content"}),
        (
            {"views__content__steps__0__scheme": "lowercase", "views__content__steps__0__keep_original": False},
            {"content"},
        ),
        ({"views__words__steps__0__overlap": 11}, {"words"}),
        ({"views__content__lexical__fields__title": {"k1": 0.9}}, {"content"}),
        ({"views__content__lexical__fields__title": {"b": 0.4}}, {"content"}),
        ({"views__content__lexical__fields__title": {"analyzer": "standard"}}, {"content"}),
        ({"views__words__lexical__fields__title": {}}, {"words"}),
        ({"source__markup": "html"}, {"content", "words", "terms"}),
        ({"source__fields__body": "body"}, {"content", "words", "terms"}),
        ({"source__metadata__updated": "date"}, {"content", "words", "terms"}),
        ({"primary": "terms"}, {"content", "terms"}),
    ],
)
def test_what_decides_rows_changes_exactly_the_views_it_concerns(changes: dict[str, Any], views: set[str]) -> None:
    assert changed(program(**changes)) == views


def test_the_layout_changes_every_hash_and_replicas_pipelines_and_engine_none() -> None:
    assert changed(program(), Target("opensearch", True, True, shards=2)) == {"content", "words", "terms"}
    assert changed(program(), Target("opensearch", False, False, replicas=2)) == set()
    assert changed(program(), Target("embedded", False, False)) == set()


def test_a_build_generation_changes_its_view_and_a_table_generation_only_views_that_read_tables() -> None:
    assert changed(program(), generations={"words": Generations(build=1)}) == {"words"}
    everywhere = dict.fromkeys(("content", "words", "terms"), Generations(table=3))
    assert changed(program(), generations=everywhere) == {"terms"}


def test_the_hash_is_that_of_the_specification_kept_in_meta() -> None:
    for name, view in lower(program(), TARGET, {}).views.items():
        meta = view.index_body["mappings"]["_meta"]["idxopt"]
        assert view_hash(json.loads(json.dumps(meta["view"]["spec"]))) == view.view_hash == meta["view_hash"]
        assert meta["index"] == view.index == f"docs--{name}--{view.view_hash[:8]}"
        assert (meta["owner"], meta["name"], meta["view"]["name"]) == ("idxopt", "docs", name)


def test_nothing_in_an_index_changes_with_weights() -> None:
    light = lower(program(), TARGET, {}).views["content"]
    heavy = lower(program(views__content__lexical__fields__title={"weight": 9}), TARGET, {}).views["content"]
    assert (light.index_body, light.template, light.pipeline) == (heavy.index_body, heavy.template, heavy.pipeline)


def test_compiled_artifacts_survive_json() -> None:
    for view in lower(program(), TARGET, {}).views.values():
        for artifact in (view.index_body, view.template, view.pipeline, view.served_settings):
            assert json.loads(json.dumps(artifact)) == artifact


def test_a_name_that_no_engine_would_take_is_refused() -> None:
    from idxopt.compiler.identity import index_name

    with pytest.raises(ProgramError, match="longer than 255 bytes") as caught:
        index_name("x" * 150, "y" * 100, "0" * 64)
    assert caught.value.place == "views." + "y" * 100


def test_hashes_of_the_presets_stay_across_releases() -> None:
    """A changed hash makes every user rebuild: raise a version on purpose, then write the new hashes here."""
    found = {
        name: {
            view: made.view_hash[:16] for view, made in lower(preset(name, program_name=name), TARGET, {}).views.items()
        }
        for name in PRESETS
    }
    assert found == GOLDEN
