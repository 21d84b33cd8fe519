"""The registry says of every form what its step and the documentation say."""

from pathlib import Path
from typing import Any, get_args

import pytest

from idxopt.operators.reference import BEGIN, END, main, written
from idxopt.operators.registry import FORMS, cost, form, multiplies_rows, needs_corpus, semantics_version, where
from idxopt.operators.steps import compile_steps
from idxopt.operators.tables import EMPTY_TABLES
from idxopt.operators.transform import Context
from idxopt.program.steps import GENERATED, Normalize, Reorganize, Span
from tests.unit.program.programs import TABLE, program

ROOT = Path(__file__).resolve().parents[3]
MORE: dict[str, dict[str, Any]] = {
    "slice words": {"window": 5},
    "slice sentences": {"window": 5},
    "slice paragraphs": {"window": 5},
    "normalize abbreviations": {"table": TABLE},
    "normalize terms": {"table": TABLE},
    "normalize regex_replace": {"pattern": "a"},
    "enrich synonyms": {"table": TABLE},
    "enrich lead": {"words": 3},
    "reorganize code_blocks": {"into": "x"},
    "reorganize promote": {"into": "x"},
    "reorganize rename": {"into": "x"},
    "reorganize join": {"field": ["title", "body"], "into": "x"},
    "reorganize merge_short": {"min_size": 3},
    "reweight": {"field": "title", "alpha": 2.0},
}
SPANS = {
    "regex": "a",
    "heading": ["A"],
    "repeated_lines": {},
    "navigation": {},
    "references": True,
    "footers": True,
    "phrases": ["a"],
    "fields": ["body"],
}


def step_of(name):
    operator, _, kind = name.partition(" ")
    key = {"slice": "unit", "normalize": "scheme", "enrich": "with", "reorganize": "to"}.get(operator)
    plain = {"op": operator, **({key: kind} if key else {}), **MORE.get(name, {})}
    if operator == "enrich":
        plain["into"] = "x"
    if operator == "discard":
        plain["span"] = {kind: SPANS[kind]}
    before = [{"op": "slice", "unit": "words", "window": 9}] if name == "reorganize merge_short" else []
    return program([*before, plain]).views["parts"].steps[-1]


MODEL_FREE = [name for name in FORMS if name not in {f"enrich {kind}" for kind in GENERATED}]


@pytest.mark.parametrize("name", MODEL_FREE)
def test_every_form_runs_and_says_what_it_is(name):
    step = step_of(name)
    assert form(step).name == name
    assert (needs_corpus(step), multiplies_rows(step)) == (form(step).needs_corpus, form(step).multiplies_rows)
    assert where(step) in ("client", "both", "query")
    assert cost(step) in ("none", "light", "heavy")
    assert semantics_version(step) >= 1
    assert compile_steps([step], Context("markdown", EMPTY_TABLES))


def test_every_step_of_the_schema_has_a_form():
    schemes = get_args(Normalize.model_fields["scheme"].annotation)
    forms = get_args(Reorganize.model_fields["to"].annotation)
    assert {f"normalize {scheme}" for scheme in schemes} == {name for name in FORMS if name.startswith("normalize ")}
    assert {f"reorganize {to}" for to in forms} == {name for name in FORMS if name.startswith("reorganize ")}
    assert {f"discard {name}" for name in Span.model_fields} == {name for name in FORMS if name.startswith("discard ")}


def test_the_steps_that_run_in_both_places_are_those_that_were_agreed():
    assert {name for name, found in FORMS.items() if found.place == "both"} == {
        "normalize lowercase",
        "normalize whitespace",
        "normalize split_identifiers",
        "reorganize rename",
        "reorganize promote",
        "reorganize join",
        "discard fields",
        "discard phrases",
        "enrich lead",
        "enrich prime_terms",
        "enrich heading_tree",
    }


def test_the_documentation_has_the_table_of_the_registry():
    text = (ROOT / "docs/operators.md").read_text("utf-8")
    assert text == written(text), "run: python -m idxopt.operators.reference"


def test_check_compares_and_writes_nothing(tmp_path, capsys):
    file = tmp_path / "operators.md"
    file.write_text(f"before\n{BEGIN}\n{END}\nafter\n")
    assert main([str(file), "--check"]) == 1
    assert "idxopt.operators.reference" in capsys.readouterr().err
    assert main([str(file)]) == 0
    assert main([str(file), "--check"]) == 0
    assert file.read_text().startswith("before\n")
    assert file.read_text().endswith("\nafter\n")
