"""The canonical form: smallest, stable, and equal for equal programs."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.program.canonical import canonical, program_hash
from idxopt.program.schema import Program
from idxopt.program.validate import parse_program, program_from
from tests.unit.program.programs import program, step_lists
from tests.unit.program.test_validate import FULL


def plain(steps: list[dict[str, Any]]) -> dict[str, Any]:
    return program(steps).model_dump(mode="json", by_alias=True)


@given(step_lists())
def test_the_canonical_form_reads_back_with_the_same_hash(steps):
    first = program(steps)
    again = parse_program(json.dumps(canonical(first)), "canonical")
    assert canonical(again) == canonical(first)
    assert program_hash(again) == program_hash(first)


@given(step_lists(), st.integers())
def test_key_order_and_spelled_out_defaults_do_not_matter(steps, seed):
    spelled_out = shuffled(plain(steps), random.Random(seed))
    assert program_hash(Program.model_validate(spelled_out)) == program_hash(program(steps))


def shuffled(value: Any, order: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        order.shuffle(keys)
        return {key: shuffled(value[key], order) for key in keys if value[key] is not None}
    if isinstance(value, list):
        return [shuffled(item, order) for item in value]
    return value


@given(step_lists(size=3), step_lists(size=3))
def test_programs_that_differ_in_meaning_differ_in_hash(one, other):
    equal = canonical(program(one)) == canonical(program(other))
    assert (program_hash(program(one)) == program_hash(program(other))) == equal


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"op": "normalize", "scheme": "nfkc"}, {"op": "normalize", "scheme": "nfkc", "field": ["body"]}),
        (
            {"op": "normalize", "scheme": "nfkc", "field": ["title", "body"]},
            {"op": "normalize", "scheme": "nfkc", "field": ["body", "title", "body"]},
        ),
        (
            {"op": "normalize", "scheme": "terms", "table": {"a": "b"}},
            {"op": "normalize", "scheme": "terms", "table": {"a": ["b"]}},
        ),
        (
            {"op": "discard", "span": {"phrases": ["a", "b"]}},
            {"op": "discard", "span": {"phrases": ["b", "a", "b"], "regex": None}},
        ),
        (
            {"op": "enrich", "with": "prime_terms", "into": "t"},
            {"op": "enrich", "with": "prime_terms", "into": "t", "top": 5, "alpha": 0.3, "beta": 2},
        ),
    ],
)
def test_two_spellings_of_one_step_collide(one, other):
    assert canonical(program([one])) == canonical(program([other]))


def test_the_order_of_joined_fields_is_part_of_a_program():
    def join(*fields: str) -> Program:
        return program([{"op": "reorganize", "to": "join", "field": list(fields), "into": "all"}])

    assert canonical(join("title", "body"))["views"]["parts"]["steps"][0]["field"] == ["title", "body"]
    assert program_hash(join("title", "body")) != program_hash(join("body", "title"))


def test_a_weight_of_one_is_no_weight():
    with_weight = {**FULL, "fusion": {"weights": {"content.lexical": 1.0}, "k": 60}}
    without = {key: value for key, value in FULL.items() if key != "fusion"}
    assert canonical(program_from(with_weight, "a")) == canonical(program_from(without, "b"))


def test_the_hash_of_a_program_stays_what_it_was():
    """A release that changes this hash would rebuild every index: a changed default is a new schema version."""
    assert canonical(program([{"op": "slice", "unit": "words", "window": 128, "overlap": 0}])) == {
        "schema": "idxopt/1",
        "name": "handbook",
        "source": {"fields": {"title": "title", "body": "text"}, "metadata": {"lang": "keyword"}, "markup": "markdown"},
        "views": {
            "content": {"lexical": {"fields": {"title": {}}}},
            "parts": {
                "steps": [{"op": "slice", "unit": "words", "window": 128}],
                "lexical": {"fields": {"title": {}}},
            },
        },
    }
    minilm = {key: value for key, value in FULL["models"]["minilm"].items() if key != "similarity"}
    without = {**FULL, "models": {**FULL["models"], "minilm": minilm}}
    assert program_hash(Program.model_validate_json(json.dumps(without))) == (
        "1b3e3ffe68dfcddaf87685a1e39829a4495fa501a6966bb1b76d6e226aba484d"
    )
