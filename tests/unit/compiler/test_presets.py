"""Presets: valid programs over any source, refused clearly where they cannot be made."""

import pytest

from idxopt.errors import ProgramError, UsageError
from idxopt.program.canonical import canonical
from idxopt.program.presets import PRESETS, preset
from idxopt.program.schema import Source
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
