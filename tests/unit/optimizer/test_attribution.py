"""Changes left out of a path, one at a time, and effects by kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from idxopt.errors import EvaluationError, ProgramError
from idxopt.evaluation.judgments import Query
from idxopt.operators.row import Document
from idxopt.optimizer.attribution import Accepted, effects, leave_one_out, without
from idxopt.optimizer.baseline import baseline_program
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.edits import EDITS, edited
from idxopt.optimizer.ports import NDCG, Candidate, Outcome, Proposal
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.program.canonical import canonical
from idxopt.program.schema import Program, Source
from tests.unit.optimizer.proposing import searched

BASELINE = baseline_program(Source(fields={"title": "title", "body": "text"}), "handbook")


def change(name: str, *edits: dict[str, Any]) -> Accepted:
    return Accepted(name, tuple(EDITS.validate_python(list(edits))))


def step(scheme: str) -> dict[str, Any]:
    return {"op": "normalize", "field": "body", "scheme": scheme}


def add(scheme: str, before: int | None = None) -> dict[str, Any]:
    return {"edit": "add_step", "view": "content", "step": step(scheme), "before": before}


def search(field: str, weight: float) -> dict[str, Any]:
    return {"edit": "search_field", "view": "content", "field": field, "weight": weight}


def schemes(program: Program) -> list[str]:
    return [plain.get("scheme", "join") for plain in canonical(program)["views"]["content"]["steps"]]


def test_the_whole_path_is_the_winner():
    path = [change("a", add("lowercase", 0)), change("b", search("title", 0.5))]
    program, dropped = without(BASELINE, path, None)
    assert program == edited(edited(BASELINE, path[0].edits), path[1].edits)
    assert dropped == ()


def test_steps_keep_their_places_when_an_earlier_one_is_left_out():
    path = [
        change("a", add("lowercase", 0)),
        change("b", add("nfkc", 1)),
        change("c", add("whitespace")),
        change("d", {"edit": "remove_step", "view": "content", "number": 1}),
    ]
    assert schemes(without(BASELINE, path, None)[0]) == ["lowercase", "join", "whitespace"]
    program, dropped = without(BASELINE, path, 0)
    assert (schemes(program), dropped) == (["join", "whitespace"], ())
    program, dropped = without(BASELINE, path, 1)
    assert (schemes(program), dropped) == (["lowercase", "join", "whitespace"], (3,))


def test_a_change_to_what_the_missing_one_made_leaves_with_it():
    path = [
        change("title", search("title", 0.5)),
        change("more title", search("title", 1.0)),
        change("lower", add("lowercase", 0)),
        change("accents", {"edit": "replace_step", "view": "content", "number": 0, "step": step("strip_accents")}),
    ]
    program, dropped = without(BASELINE, path, 0)
    assert (set(searched(program)), dropped) == ({"text"}, (1,))
    assert searched(without(BASELINE, path, 1)[0])["title"].weight == 0.5
    program, dropped = without(BASELINE, path, 2)
    assert (schemes(program), dropped) == (["join"], (3,))


def test_a_view_that_is_missing_takes_its_later_edits_along():
    rows = {"edit": "add_view", "name": "rows", "view": {"steps": [], "lexical": {"fields": {"body": {}}}}}
    path = [
        change("rows", rows),
        change("weight", {"edit": "weigh_view", "view": "rows", "weight": 0.5}),
        change("fusion", {"edit": "set_fusion", "fusion": {"weights": {"rows.lexical": 2.0}}}),
        change("title", search("title", 0.5)),
    ]
    program, dropped = without(BASELINE, path, 0)
    assert (list(program.views), dropped) == (["content"], (1, 2))
    assert set(searched(program)) == {"text", "title"}


def test_edits_of_one_change_may_need_each_other():
    keywords = {"op": "enrich", "with": "acronyms", "field": "body", "into": "short"}
    both = change("acronyms", search("short", 0.5), {"edit": "add_step", "view": "content", "step": keywords})
    program, dropped = without(BASELINE, [change("title", search("title", 1.0)), both], 0)
    assert (set(searched(program)), dropped) == ({"text", "short"}, ())


def test_a_path_that_does_not_fit_is_refused():
    with pytest.raises(ProgramError):
        without(BASELINE, [change("x", {"edit": "remove_view", "view": "nowhere"})], None)


@pytest.fixture
def evaluator() -> IncrementalEvaluator:
    documents = [
        Document("good", {"title": "wing", "text": "flow over a body " * 5}),
        Document("loud", {"title": "heat", "text": "wing wing flow"}),
        Document("other", {"title": "shield", "text": "heat of a body"}),
    ]
    queries = [Query("1", "wing"), Query("2", "shield"), Query("3", "wing flow")]
    return IncrementalEvaluator(Corpus.of(documents), queries, {"1": {"good": 1}, "2": {"other": 1}, "3": {"good": 1}})


def test_losses_are_the_winner_minus_the_program_without_the_change(evaluator: IncrementalEvaluator):
    rows = {"edit": "add_view", "name": "rows", "view": {"steps": [], "lexical": {"fields": {"title": {}}}}}
    path = [change("title", search("title", 5.0)), change("rows", rows), change("weight", search("title", 6.0))]
    found = leave_one_out(evaluator, BASELINE, path, np.array([0, 1]))
    assert [(one.name, one.dropped) for one in found] == [("title", ("weight",)), ("rows", ()), ("weight", ())]
    winner = evaluator.scores(without(BASELINE, path, None)[0])
    for one in found:
        other = evaluator.scores(one.program)
        differences = winner.values[NDCG][:2] - other.values[NDCG][:2]
        assert one.losses[NDCG].mean == pytest.approx(differences.mean())
        assert one.losses[NDCG].n == 2
        assert (one.rows, one.bytes) == (winner.size.rows - other.size.rows, winner.size.bytes - other.size.bytes)
    assert [one.rows for one in found] == [0, 3, 0]
    recorded = found[0].recorded(NDCG)
    assert (recorded.step, recorded.loss) == ("title (with weight)", found[0].losses[NDCG])


def test_without_queries_nothing_can_be_attributed(evaluator: IncrementalEvaluator):
    with pytest.raises(EvaluationError, match="no query"):
        leave_one_out(evaluator, BASELINE, [], np.array([], dtype=np.int64))


def outcomes(kind: str, gains: Sequence[float | None], kept: int) -> list[Outcome]:
    candidate = Candidate.of(BASELINE, Proposal((), kind, "", "test"))
    return [
        Outcome(candidate, 1, "invalid" if gain is None else "kept" if number < kept else "refused", gain)
        for number, gain in enumerate(gains)
    ]


def test_effects_are_means_by_kind_over_trials_with_a_gain():
    found = effects(
        [*outcomes("slice", [0.1, -0.3], 1), *outcomes("title", [0.2, 0.0, None], 1), *outcomes("none", [None], 0)]
    )
    assert [(one.kind, one.gain.n, one.kept) for one in found] == [("title", 2, 1), ("slice", 2, 1)]
    assert [one.gain.mean for one in found] == pytest.approx([0.1, -0.1])
