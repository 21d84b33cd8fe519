"""The control: its changes are valid, new, repeatable, and reach every kind with parameters that are not crippled."""

from __future__ import annotations

from collections import Counter

import pytest

from idxopt.evaluation.judgments import Query
from idxopt.optimizer.autoindex.random import RandomProposer
from idxopt.optimizer.autoindex.space import KINDS
from idxopt.optimizer.edits import AddStep, AddView, SearchField, WeighView, edited
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.program.canonical import program_hash
from idxopt.program.schema import Program
from idxopt.program.steps import Slice
from tests.unit.optimizer.proposing import baseline, corpus, queries, state

TABLES = {"abbreviations": {"EBS": ["Elastic Block Store"]}, "terms": {"data set": ["dataset"]}}


def with_rows() -> Program:
    plain = {
        "steps": [{"op": "slice", "unit": "words", "window": 50}],
        "lexical": {"fields": {"body": {}, "title": {}}},
    }
    views = {**baseline().model_dump(by_alias=True, exclude_defaults=True)["views"], "rows": plain}
    return baseline(views=views)


@pytest.fixture(scope="module")
def drawn():
    """Many proposals for two programs."""
    found = []
    for program in (baseline(), with_rows()):
        for seed in range(40):
            asked = state(program)
            found += [(program, one) for one in RandomProposer(seed, TABLES).ask(asked, 25)]
    return found


def test_all_are_valid_new_programs(drawn):
    assert len(drawn) == 2_000
    for program, proposal in drawn:
        assert program_hash(edited(program, proposal.edits)) != program_hash(program)


def test_every_kind_is_reached(drawn):
    counts = Counter(proposal.kind for _, proposal in drawn)
    assert set(counts) == set(KINDS)


def test_parameters_span_their_ranges(drawn):
    edits = [edit for _, proposal in drawn for edit in proposal.edits]
    weights = [edit.weight for edit in edits if isinstance(edit, SearchField | WeighView) and edit.weight is not None]
    assert min(weights) < 0.2
    assert max(weights) > 4
    assert all(0.1 <= weight <= 5 for weight in weights)
    slices = [
        step
        for edit in edits
        if isinstance(edit, AddView)
        for step in edit.view.steps
        if isinstance(step, Slice) and step.unit == "words"
    ]
    windows = [step.window for step in slices if step.window is not None]
    assert min(windows) < 30
    assert max(windows) > 300
    assert all(20 <= window <= 400 for window in windows)
    shares = [step.overlap / (step.window or 1) for step in slices]
    assert max(shares) > 0.4
    assert max(shares) <= 0.5


def test_source_fields_are_changed_before_they_are_joined(drawn):
    steps = [
        edit
        for _, each in drawn
        for edit in each.edits
        if isinstance(edit, AddStep) and edit.step.op == "normalize" and edit.view == "content"
    ]
    assert all((edit.before == 0) == (edit.step.field in ("title", "body")) for edit in steps)
    assert {edit.before for edit in steps} == {0, None}


def test_the_retriever_stays_frozen():
    tuned = baseline(
        views={"content": {"lexical": {"fields": {"body": {"analyzer": "standard", "k1": 2.0, "b": 0.5}}}}}
    )
    for proposal in RandomProposer(3, TABLES).ask(state(tuned), 200):
        for view in edited(tuned, proposal.edits).views.values():
            for field in view.lexical.fields.values() if view.lexical else ():
                if proposal.kind.startswith(("slice", "search field")):
                    assert (field.analyzer, field.k1, field.b) == ("standard", 2.0, 0.5)


def test_same_seed_round_and_programs_same_answers():
    first, second = RandomProposer(7).ask(state(), 8), RandomProposer(7).ask(state(), 8)
    assert first == second
    assert RandomProposer(8).ask(state(), 8) != first
    assert RandomProposer(7).ask(state(number=2), 8) != first


def test_what_was_seen_is_not_proposed_again():
    program = baseline()
    first = RandomProposer(1).ask(state(program), 20)
    hashes = frozenset(program_hash(edited(program, one.edits)) for one in first)
    assert len(hashes) == 20
    again = RandomProposer(1).ask(state(program, seen=hashes), 20)
    assert not hashes & {program_hash(edited(program, one.edits)) for one in again}


def test_a_program_of_one_field_still_has_changes():
    single = baseline(source={"fields": {"body": "text"}}, views={"content": {"lexical": {"fields": {"body": {}}}}})
    assert len(RandomProposer(1).ask(state(single), 30)) == 30


def test_proposals_can_be_scored():
    found, qrels = queries()
    scorer = IncrementalEvaluator(corpus(), [Query(one.id, one.text) for one in found], qrels)
    program = baseline()
    values = [
        next(iter(scorer.scores(edited(program, one.edits)).values.values())).mean()
        for one in RandomProposer(5, TABLES).ask(state(program), 60)
    ]
    assert len({round(value, 6) for value in values}) > 2
