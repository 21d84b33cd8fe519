"""Every kind of edit, and errors that name the edit and the place."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from idxopt.errors import ProgramError
from idxopt.optimizer.edits import EDITS, MAX_EDITS, edited
from idxopt.program.canonical import canonical, program_hash
from idxopt.program.schema import Program
from idxopt.program.validate import program_from

LOWER, SPACE = {"op": "normalize", "scheme": "lowercase"}, {"op": "normalize", "scheme": "whitespace"}
PLAIN: dict[str, Any] = {
    "schema": "idxopt/1",
    "name": "edited",
    "source": {"fields": {"title": "title", "body": "text"}},
    "views": {
        "content": {"steps": [LOWER, SPACE], "lexical": {"fields": {"body": {"k1": 2.0}, "title": {"weight": 0.5}}}},
        "titles": {"lexical": {"fields": {"title": {}}}},
    },
    "fusion": {"window": 50, "weights": {"titles.lexical": 0.5, "content.lexical": 2.0}},
}
START = program_from(PLAIN, "the program")


def after(*edits: dict[str, Any]) -> Program:
    return edited(START, EDITS.validate_python(list(edits)))


def steps(program: Program) -> list[str]:
    return [step.scheme if step.op == "normalize" else step.op for step in program.views["content"].steps]


def test_no_edit_is_the_same_program():
    assert program_hash(after()) == program_hash(START)


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (None, ["lowercase", "whitespace", "nfkc"]),
        (0, ["nfkc", "lowercase", "whitespace"]),
        (1, ["lowercase", "nfkc", "whitespace"]),
        (2, ["lowercase", "whitespace", "nfkc"]),
    ],
)
def test_steps_are_added_at_their_place(before, expected):
    step = {"op": "normalize", "scheme": "nfkc"}
    assert steps(after({"edit": "add_step", "view": "content", "step": step, "before": before})) == expected


def test_steps_are_removed_and_replaced_by_number():
    assert steps(after({"edit": "remove_step", "view": "content", "number": 0})) == ["whitespace"]
    step = {"op": "normalize", "scheme": "nfkc"}
    assert steps(after({"edit": "replace_step", "view": "content", "number": 1, "step": step})) == ["lowercase", "nfkc"]


def test_a_field_is_searched_anew_or_changed_in_what_is_named():
    made = after(
        {"edit": "search_field", "view": "content", "field": "body", "weight": 3.0},
        {"edit": "search_field", "view": "titles", "field": "body", "analyzer": "standard", "b": 0.1},
    )
    content, titles = made.views["content"].lexical, made.views["titles"].lexical
    assert content is not None
    assert titles is not None
    assert (content.fields["body"].k1, content.fields["body"].weight) == (2.0, 3.0)
    assert (titles.fields["body"].analyzer, titles.fields["body"].b, titles.fields["body"].k1) == ("standard", 0.1, 1.2)


def test_with_its_last_field_a_view_loses_its_leg_and_the_weight_of_it():
    made = after(*({"edit": "leave_field", "view": "content", "field": name} for name in ("body", "title")))
    assert made.views["content"].lexical is None
    assert dict(made.fusion.weights) == {"titles.lexical": 0.5}
    again = edited(made, EDITS.validate_python([{"edit": "search_field", "view": "content", "field": "title"}]))
    assert again.views["content"].lexical is not None


def test_views_are_added_removed_and_weighed():
    view = {"steps": [LOWER], "lexical": {"fields": {"body": {}}}, "weight": 0.25}
    made = after(
        {"edit": "add_view", "name": "more", "view": view},
        {"edit": "remove_view", "view": "titles"},
        {"edit": "weigh_view", "view": "content", "weight": 4.0},
    )
    assert {name: view.weight for name, view in made.views.items()} == {"content": 4.0, "more": 0.25}
    assert dict(made.fusion.weights) == {"content.lexical": 2.0}


def test_a_fusion_is_replaced_as_a_whole():
    made = after({"edit": "set_fusion", "fusion": {"method": "weighted_sum", "normalize": "min_max"}})
    assert canonical(made)["fusion"] == {"method": "weighted_sum", "normalize": "min_max"}


def test_the_program_that_is_edited_stays_as_it_was():
    before = canonical(START)
    after({"edit": "remove_view", "view": "titles"}, {"edit": "remove_step", "view": "content", "number": 0})
    assert canonical(START) == before


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"edit": "add_step", "view": "none", "step": LOWER}, 'no view "none"'),
        ({"edit": "add_step", "view": "content", "step": LOWER, "before": 3}, "has 2 steps, none is number 3"),
        ({"edit": "remove_step", "view": "content", "number": 2}, "has 2 steps, none is number 2"),
        ({"edit": "replace_step", "view": "titles", "number": 0, "step": LOWER}, "has 0 steps, none is number 0"),
        ({"edit": "search_field", "view": "none", "field": "body"}, 'no view "none"'),
        ({"edit": "leave_field", "view": "titles", "field": "body"}, 'searches no field "body"'),
        ({"edit": "add_view", "name": "titles", "view": {"lexical": {"fields": {"body": {}}}}}, "is a view"),
        ({"edit": "remove_view", "view": "none"}, 'no view "none"'),
        ({"edit": "weigh_view", "view": "none", "weight": 1.0}, 'no view "none"'),
    ],
)
def test_an_edit_of_what_is_not_there_is_named_by_its_number(edit, message):
    fine = {"edit": "weigh_view", "view": "content", "weight": 1.5}
    with pytest.raises(ProgramError, match=message) as caught:
        after(fine, edit)
    assert caught.value.place == "edits[1]"
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("edit", "place"),
    [
        ({"edit": "remove_view", "view": "content"}, "primary"),
        ({"edit": "search_field", "view": "content", "field": "absent"}, "views.content.lexical"),
        ({"edit": "search_field", "view": "content", "field": "body", "analyzer": "klingon"}, "views.content.lexical"),
        (
            {"edit": "add_step", "view": "content", "step": {"op": "slice", "unit": "words", "window": 9}},
            "views.content",
        ),
        ({"edit": "set_fusion", "fusion": {"weights": {"none.lexical": 1.0}}}, "fusion.weights"),
    ],
)
def test_a_result_that_is_no_valid_program_names_its_place(edit, place):
    with pytest.raises(ProgramError) as caught:
        after(edit)
    assert "the edited program" in str(caught.value.place)
    assert place in str(caught.value.place)


@pytest.mark.parametrize(
    "edit",
    [
        {"edit": "run_code", "code": "1"},
        {"edit": "search_field", "view": "content", "field": "body", "weight": -1.0},
        {"edit": "search_field", "view": "content", "field": "body", "weight": "2"},
        {"edit": "weigh_view", "view": "content", "weight": float("nan")},
        {"edit": "remove_step", "view": "content", "number": -1},
        {"edit": "remove_step", "view": "content", "number": 0, "more": 1},
    ],
)
def test_what_is_no_edit_is_never_read(edit):
    with pytest.raises(ValidationError):
        EDITS.validate_python([edit])


def test_one_change_has_a_bounded_number_of_edits():
    fine = {"edit": "weigh_view", "view": "content", "weight": 1.5}
    assert len(EDITS.validate_python([fine] * MAX_EDITS)) == MAX_EDITS
    with pytest.raises(ValidationError):
        EDITS.validate_python([fine] * (MAX_EDITS + 1))


def test_edits_survive_json():
    every = EDITS.validate_python(
        [
            {"edit": "add_step", "view": "content", "step": {"op": "enrich", "with": "lead", "into": "x", "words": 3}},
            {"edit": "search_field", "view": "content", "field": "x", "weight": 0.5},
            {"edit": "set_fusion", "fusion": {"k": 10}},
        ]
    )
    assert EDITS.validate_json(EDITS.dump_json(every, by_alias=True)) == every
