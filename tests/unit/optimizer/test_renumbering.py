"""Edits moved over other changes: steps keep who they are, whatever their numbers."""

from __future__ import annotations

from typing import Any

import pytest

from idxopt.optimizer.edits import EDITS, Edit, edited
from idxopt.optimizer.ports import NDCG, Proposal, Scores
from idxopt.optimizer.renumbering import moved_over
from idxopt.program.schema import Program
from tests.unit.optimizer.proposing import baseline
from tests.unit.optimizer.searching import Listed, driven, scored, started, wide_baseline

JOIN = {"op": "reorganize", "to": "join", "field": ["title", "body"], "into": "text"}
OTHER_JOIN = {**JOIN, "field": ["body", "title"]}
LOWER = {"op": "normalize", "scheme": "lowercase", "field": "body"}
ACCENTS = {"op": "normalize", "scheme": "strip_accents", "field": "body"}


def edits(*given: dict[str, Any]) -> tuple[Edit, ...]:
    return tuple(EDITS.validate_python([{"view": "content", **one} for one in given]))


def steps(program: Program) -> list[str]:
    return [getattr(step, "scheme", None) or "-".join(step.field) for step in program.views["content"].steps]


ADD_FIRST = edits({"edit": "add_step", "step": LOWER, "before": 0})
REPLACE = edits({"edit": "replace_step", "number": 0, "step": OTHER_JOIN})
REMOVE = edits({"edit": "remove_step", "number": 0})


@pytest.mark.parametrize(
    ("before", "moved", "expected"),
    [
        ([ADD_FIRST], REPLACE, ["lowercase", "body-title"]),
        ([ADD_FIRST], REMOVE, ["lowercase"]),
        ([ADD_FIRST, ADD_FIRST], REPLACE, ["lowercase", "lowercase", "body-title"]),
        ([ADD_FIRST], edits({"edit": "add_step", "step": ACCENTS, "before": 0}),
         ["strip_accents", "lowercase", "title-body"]),
        ([ADD_FIRST], edits({"edit": "add_step", "step": ACCENTS, "before": 1}),
         ["lowercase", "title-body", "strip_accents"]),
        ([ADD_FIRST], edits({"edit": "add_step", "step": ACCENTS, "before": 0}, {"edit": "remove_step", "number": 1}),
         ["strip_accents", "lowercase"]),
        ([REMOVE], edits({"edit": "add_step", "step": ACCENTS, "before": 1}), ["strip_accents"]),
        ([REMOVE], REPLACE, None),
        ([REMOVE], REMOVE, None),
        ([edits({"edit": "leave_field", "field": "text"})], edits({"edit": "search_field", "field": "text"}), None),
        ([edits({"edit": "remove_view"})], REPLACE, None),
    ],
)  # fmt: skip
def test_edits_do_the_same_after_other_changes(before, moved, expected):
    found = moved_over(baseline(), before, moved)
    if expected is None:
        assert found is None
        return
    start = baseline(views={"content": {"steps": [JOIN], "lexical": {"fields": {"body": {}}}}})
    for change in [*before, found]:
        start = edited(start, change)
    assert steps(start) == expected


def test_a_merge_edits_the_step_that_it_was_proposed_for():
    """The best of the round puts a step before the one that the other replaces."""

    def score(program: Program) -> Scores:
        found = scored(program, {})
        names = steps(program)
        found.values[NDCG][:30] += 0.1 * ("lowercase" in names) + 0.05 * ("body-title" in names)
        return found

    round_ = [Proposal(ADD_FIRST, "lower", "", "listed"), Proposal(REPLACE, "join", "", "listed")]
    search = started(Listed(round_), score)
    records = driven(search, score)
    assert [record.kept is not None for record in records] == [True, True]
    assert steps(search.current.program) == ["lowercase", "body-title"]
    program = wide_baseline()
    for step in search.path:  # what a report and an attribution apply again
        program = edited(program, step.proposal.edits)
    assert program == search.current.program


def test_a_merge_without_its_step_is_refused_with_the_reason():
    def score(program: Program) -> Scores:
        found = scored(program, {})
        found.values[NDCG][:30] += 0.1 * (steps(program) == []) + 0.05 * ("body-title" in steps(program))
        return found

    gone = (*REMOVE, *edits({"edit": "leave_field", "field": "text"}, {"edit": "search_field", "field": "body"}))
    search = started(Listed([Proposal(gone, "gone", "", "listed"), Proposal(REPLACE, "join", "", "listed")]), score)
    (record,) = driven(search, score)
    assert record.complete
    (last,) = [one for one in search.outcomes if one.status == "invalid"]
    assert last.refused == "a change that its round kept took away what it edits"
    assert [step.proposal.kind for step in search.path] == ["gone"]
