"""Presets: valid programs over any source, refused clearly where they cannot be made."""

from dataclasses import replace

import pytest

from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import Target
from idxopt.errors import ProgramError, UsageError
from idxopt.program.advice import warnings
from idxopt.program.canonical import canonical
from idxopt.program.effects import view_fields
from idxopt.program.presets import PAPER, PRESETS, PRIME_NAMES, PROFILES, PresetOptions, preset
from idxopt.program.schema import Source
from idxopt.program.steps import Slice
from idxopt.program.validate import program_from


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_valid_program_that_reads_back(name: str) -> None:
    made = preset(name, program_name="handbook")
    assert made.name == "handbook"
    assert program_from(canonical(made), "test") == made


def test_presets_differ_as_documented() -> None:
    full, fields, identifiers, sections = (
        preset(name, program_name="x") for name in ("full-text", "fields", "identifiers", "sections")
    )
    weights = [
        {name: field.weight for name, field in made.views["content"].lexical.fields.items()}  # type: ignore[union-attr]
        for made in (full, fields, identifiers, sections)
    ]
    assert weights == [{"title": 1, "body": 1}, *([{"title": 2, "body": 1}] * 3)]
    assert [list(made.views) for made in (full, fields, identifiers)] == [["content"]] * 3
    assert list(sections.views) == ["content", "sections"]
    assert sections.fusion.method == "rrf"
    (split,) = identifiers.views["content"].steps
    assert (split.op, getattr(split, "keep_original", None)) == ("normalize", True)


def test_other_fields_of_a_source_are_searched_too() -> None:
    source = Source(fields={"body": "text", "summary": "meta.abstract"}, metadata={"lang": "keyword"})
    made = preset("identifiers", program_name="x", source=source)
    assert made.source == source
    assert set(made.views["content"].lexical.fields) == {"body", "summary"}  # type: ignore[union-attr]


def test_what_cannot_be_made_is_refused() -> None:
    with pytest.raises(UsageError, match='unknown preset "section"') as caught:
        preset("section", program_name="x")
    assert caught.value.remedy == 'did you mean "sections"?'
    with pytest.raises(ProgramError, match="the source has none"):
        preset("sections", program_name="x", source=Source(fields={"title": "t"}))
    with pytest.raises(ProgramError, match="no valid name"):
        preset("fields", program_name="Not A Name")


TARGETS = [Target("embedded", False, False), Target("opensearch", True, True)]


@pytest.mark.parametrize("target", TARGETS, ids=["embedded", "opensearch"])
@pytest.mark.parametrize("options", PROFILES.values(), ids=PROFILES)
@pytest.mark.parametrize("name", PRIME_NAMES)
def test_primes_presets_lower_on_both_engines(name: str, options: PresetOptions, target: Target) -> None:
    made = preset(name, program_name="x", options=options)
    compiled = lower(made, target, {})
    dense = [view for view in compiled.views.values() if view.dense is not None]
    assert dense
    assert all(view.dense.dimension == 384 for view in dense if view.dense)
    assert not compiled.views["content"].many_rows
    assert made.views["content"].lexical is not None
    assert made.rerank is not None
    assert (made.rerank.candidates, made.rerank.sections, made.fusion.k, made.fusion.window) == (30, 5, 60, 100)
    hnsw = {view.dense.hnsw for view in made.views.values() if view.dense is not None}
    assert [(one.m, one.ef_construction) for one in hnsw] == [(32, 200)]


def test_windows_fit_the_encoder() -> None:
    def windows(name: str, options: PresetOptions) -> list[int | None]:
        made = preset(name, program_name="x", options=options)
        steps = [step for view in made.views.values() for step in view.steps]
        return [step.window for step in steps if isinstance(step, Slice) and step.unit == "encoder"]

    assert windows("raw", PresetOptions()) == [254]
    assert windows("raw", PAPER) == [256]
    assert windows("structure-chunks", PresetOptions()) == [254]
    assert windows("structure-chunks", PAPER) == [510]
    prefixed = replace(PresetOptions(), passage_prefix="passage: ")
    assert windows("structure-chunks", prefixed) == [251]
    assert windows("terms-beside-text", PresetOptions())[0] < 254  # type: ignore[operator]


def test_rewritten_rows_search_and_rerank_the_rewritten_text_and_the_default_use_of_sr_does_not() -> None:
    for name in ("sr-text", "full"):
        made = preset(name, program_name="x")
        assert "body" in view_fields(made, made.views["content"]).changed
        assert any("restructured text" in line for line in warnings(made))
    context = preset("sr-context", program_name="x")
    assert context.rerank is not None
    assert (context.rerank.field, context.rerank.context) == ("body", "rewritten")
    assert "body" in view_fields(context, context.views["content"]).untouched
    assert warnings(context) == []


def test_presets_mix() -> None:
    mixed = preset("offline", program_name="x", beside=["raw", "title", "raptor-lite"])
    assert list(mixed.views) == ["content", "windows", "title", "whole-sections"]
    assert mixed.views["windows"].weight == 1
    assert mixed.views["title"].lexical is None
    assert preset("raw", program_name="x", beside=["raw"]) == preset("raw", program_name="x")
    with pytest.raises(UsageError, match="no dense view"):
        preset("raw", program_name="x", beside=["fields"])


def test_a_source_without_a_title_embeds_the_rest() -> None:
    source = Source(fields={"body": "text"})
    offline = preset("offline", program_name="x", source=source).views["content"].dense
    title = preset("title", program_name="x", source=source).views["content"].dense
    assert offline is not None
    assert offline.text == ["terms", "headings"]
    assert title is not None
    assert title.text == ["body"]
    with pytest.raises(ProgramError, match='reads the field "body"'):
        preset("raw", program_name="x", source=Source(fields={"title": "t"}))
