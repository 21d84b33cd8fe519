"""The state machine of a search: what is kept and merged, what proposers are told, replay."""

from __future__ import annotations

import dataclasses

import pytest

from idxopt.errors import EvaluationError
from idxopt.evaluation.judgments import Query, pair_with_judgments
from idxopt.operators.row import Document
from idxopt.optimizer.autoindex.search import Search
from idxopt.optimizer.autoindex.settings import Found, SearchSettings
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.diagnosis.findings import Diagnosis
from idxopt.optimizer.edits import RemoveStep
from idxopt.optimizer.ports import NDCG, Proposal, Scores, Size
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.splits import gather, split_queries
from idxopt.program.canonical import program_hash
from idxopt.program.schema import Program
from tests.unit.optimizer.proposing import baseline, diagnosis, searched
from tests.unit.optimizer.searching import (
    DEV,
    Listed,
    driven,
    fields_of,
    held_out,
    kind_of,
    scored,
    search_field,
    started,
    wide_baseline,
)


def test_the_best_is_kept_and_the_others_that_pass_are_merged_onto_it():
    proposer = Listed([search_field("lead"), search_field("body"), search_field("title"), search_field("noise")])
    search = started(proposer)
    first, second = driven(search)
    assert [(each.status, kind_of(each.candidate)) for each in first.outcomes] == [
        ("refused", "lead"),
        ("refused", "body"),
        ("kept", "title"),
        ("refused", "noise"),
    ]
    assert first.outcomes[1].refused == "it passes, but another of its round is better"
    assert (first.stage, first.complete, second.stage, second.complete) == ("proposals", False, "merge", True)
    assert [(step.proposal.kind, step.round, step.merged) for step in search.path] == [
        ("title", 1, False),
        ("body", 1, True),
    ]
    found = search.finish(held_out())
    assert fields_of(found) == {"text", "title", "body"}
    assert found.evaluations == 5
    assert found.ended == "listed has nothing new to propose"


def test_steps_of_the_path_say_what_they_gained_and_cost():
    search = started(Listed([search_field("title"), search_field("body")]))
    driven(search)
    title, body = search.path
    assert title.gain.mean == pytest.approx(0.1 * 30 / DEV)
    assert body.gain.mean == pytest.approx(0.05 * 40 / DEV)
    for step in (title, body):
        assert step.gain.method == "bca"
        assert step.gain.low is not None
        assert step.gain.high is not None
        assert step.gain.low < step.gain.mean < step.gain.high
        assert step.confidence > 0.99
    assert (title.before.bytes, title.after.bytes, body.before.bytes, body.after.bytes) == (1_000, 2_000, 2_000, 3_000)


def test_without_merging_only_the_best_of_a_round_is_kept():
    search = started(Listed([search_field("title"), search_field("body")]), merge=False)
    (record,) = driven(search)
    assert record.complete
    assert [step.proposal.kind for step in search.path] == ["title"]


def test_a_merge_that_does_not_pass_on_top_of_the_best_is_refused():
    """Either helps alone; together they gain no more."""

    def score(program: Program) -> Scores:
        either = {"title", "body"} & set(searched(program))
        return scored(program, {min(either): (0.1, 30)} if either else {})

    search = started(Listed([search_field("title"), search_field("body")]), score)
    records = driven(search, score)
    assert [record.kept is not None for record in records] == [True, False]
    assert "below 0.005" in (records[1].outcomes[0].refused or "")


def test_equal_candidates_are_decided_by_size_then_by_order():
    effects = {"title": (0.1, 30), "body": (0.1, 30)}
    search = started(Listed([search_field("title"), search_field("body")]), lambda p: scored(p, effects), merge=False)
    driven(search, lambda p: scored(p, effects))
    assert search.path[0].proposal.kind == "title"

    def smaller_second(program: Program) -> Scores:
        found = scored(program, effects)
        rows = 99 if "body" in searched(program) else 100
        return Scores(found.values, Size(rows, found.size.bytes, 1))

    search = started(Listed([search_field("title"), search_field("body")]), smaller_second, merge=False)
    driven(search, smaller_second)
    assert search.path[0].proposal.kind == "body"


def test_invalid_seen_and_repeated_proposals_are_logged_and_asked_again():
    wrong = Proposal((RemoveStep(edit="remove_step", view="nowhere", number=0),), "wrong", "", "listed")
    nothing = Proposal((), "nothing", "", "listed")
    lead, title = search_field("lead"), search_field("title")
    proposer = Listed(
        [wrong, nothing, lead], [dataclasses.replace(lead, kind="again"), search_field("text"), title], []
    )
    search = started(proposer)
    pending = search.pending()
    assert [kind_of(each) for each in pending] == ["lead", "title"]
    record = search.report({each.hash: scored(each.program) for each in pending})
    assert [(each.status, kind_of(each.candidate)) for each in record.outcomes] == [
        ("invalid", "wrong"),
        ("refused", "nothing"),
        ("refused", "text"),
        ("refused", "lead"),
        ("kept", "title"),
    ]
    assert 'there is no view "nowhere"' in (record.outcomes[0].refused or "")
    assert record.outcomes[0].candidate.hash == ""
    assert record.outcomes[1].refused == "it is the baseline"
    assert proposer.told == [record.outcomes]
    assert search.current.hash == pending[1].hash


def test_the_state_shows_what_was_dropped_while_the_round_is_filled():
    proposer = Listed([Proposal((), "nothing", "", "listed")], [search_field("title")])
    search = started(proposer)
    search.pending()
    first, second = proposer.states[:2]
    assert (len(first.outcomes), len(second.outcomes)) == (0, 1)
    assert (first.round, second.round) == (1, 1)
    assert first.seen == {program_hash(wide_baseline())}


def test_the_diagnosis_is_made_once_for_each_current_program():
    made: list[str] = []

    def diagnose(program: Program) -> Diagnosis:
        made.append(program_hash(program))
        return diagnosis()

    search = started(
        Listed([search_field("lead")], [], [search_field("title")], [], []),
        diagnose=diagnose,
    )
    assert made == []
    driven(search)
    assert search.round == 3
    assert made == [program_hash(wide_baseline()), search.current.hash]


def test_held_out_queries_cut_the_path_and_are_read_once():
    effects = {"title": (0.1, 30), "body": (0.05, 40)}

    def score(program: Program) -> Scores:
        found = scored(program, effects)
        if "body" in searched(program):
            found.values[NDCG][DEV:] -= 0.3  # what dev queries cannot see
        return found

    search = started(Listed([search_field("title"), search_field("body")]), score)
    driven(search, score)
    assert len(search.path) == 2
    sealed = held_out()
    found = search.finish(sealed)
    assert (found.cut.kept, len(found.path)) == (1, 2)
    assert fields_of(found) == {"text", "title"}
    assert found.program.hash == found.path[0].candidate.hash
    assert sealed.read_by == "the final cut"
    assert found.differences[NDCG].mean == 0.0
    with pytest.raises(EvaluationError, match="read already"):
        search.finish(sealed)


def test_a_search_never_looks_at_held_out_values():
    def other_values(program: Program) -> Scores:
        found = scored(program)
        for values in found.values.values():
            values[DEV:] = 0.0
        return found

    searches = [
        started(Listed([search_field("title"), search_field("body")]), score) for score in (scored, other_values)
    ]
    records = [driven(search, score) for search, score in zip(searches, (scored, other_values), strict=True)]
    assert [record.outcomes for record in records[0]] == [record.outcomes for record in records[1]]
    assert searches[0].current == searches[1].current


def test_with_nothing_kept_the_baseline_is_found():
    search = started(Listed([search_field("noise")]))
    driven(search)
    found = search.finish(held_out())
    assert found.program == found.baseline
    assert (found.cut.kept, found.path) == (0, ())
    assert "nothing to cut" in found.cut.sentence


def crossed() -> tuple[Corpus, list[Query], dict[str, dict[str, int]]]:
    """Documents whose texts name the title of the next one more often than their own."""
    names = [f"{one}{other}" for one in "bdfgk" for other in "aeiou"]
    texts = [f"About {names[(place + 1) % len(names)]}, " * 3 for place in range(len(names))]
    made = [Document(name, {"title": name, "text": text}) for name, text in zip(names, texts, strict=True)]
    asked = [Query(f"q{name}", name) for name in names]
    return Corpus.of(made), asked, {query.id: {query.text: 1} for query in asked}


def found_in_documents(asked_for: list[list[str]]) -> Found:
    """A search over real documents; `asked_for` collects the hashes of what was scored."""
    corpus, asked, qrels = crossed()
    gathered = gather({"main": pair_with_judgments(asked, qrels)})
    split = split_queries(gathered, seed=1)
    evaluator = IncrementalEvaluator(corpus, gathered.queries, gathered.qrels)
    fields = [search_field("title", 4.0), search_field("title", 0.01), search_field("body", 0.5)]
    search = Search(
        SearchSettings(),
        baseline(),
        evaluator.scores(baseline()),
        split.dev,
        Listed(fields, [search_field("title", 8.0)]),
        lambda _: diagnosis(),
        documents=len(corpus.documents),
    )
    while pending := search.pending():
        asked_for.append([each.hash for each in pending])
        search.report({each.hash: evaluator.scores(each.program) for each in pending})
    return search.finish(split.held_out)


def test_a_search_over_real_documents_finds_the_title_and_replays_alike():
    first: list[list[str]] = []
    second: list[list[str]] = []
    found, again = found_in_documents(first), found_in_documents(second)
    assert first == second
    assert (found.program, found.outcomes, found.cut) == (again.program, again.outcomes, again.cut)
    assert searched(found.program.program)["title"].weight >= 4.0
    assert found.differences[NDCG].mean > 0.2


def test_two_ways_to_do_the_same_are_not_merged():
    """Of `title: ...` and `title: ...` one is kept in a round; what decides something else joins it."""

    def way(field: str, kind: str) -> Proposal:
        return dataclasses.replace(search_field(field), kind=kind)

    search = started(Listed([way("title", "title: one way"), way("body", "title: another way")]))
    driven(search)
    assert [step.proposal.kind for step in search.path] == ["title: one way"]
    search = started(Listed([way("title", "title: one way"), way("body", "body: some way")]))
    driven(search)
    assert [step.proposal.kind for step in search.path] == ["title: one way", "body: some way"]
