"""The proposer without a model: valid, new, repeatable changes on any source; the retriever stays as it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from idxopt.evaluation.judgments import Query
from idxopt.operators.row import Document
from idxopt.optimizer.autoindex.heuristic import BUNDLE, HeuristicProposer
from idxopt.optimizer.autoindex.moves import aspects
from idxopt.optimizer.autoindex.shape import shape_of
from idxopt.optimizer.baseline import baseline_program
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.diagnosis.diagnose import diagnose
from idxopt.optimizer.diagnosis.findings import Diagnosis
from idxopt.optimizer.edits import EDITS, Edit, edited
from idxopt.optimizer.ports import Candidate, Outcome, Proposal, SearchState
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.program.canonical import canonical, program_hash
from idxopt.program.schema import Program, Source
from idxopt.program.validate import program_from

TABLES = {"abbreviations": {"EBS": ["Elastic Block Store"]}, "terms": {"disk": ["disc"]}}
PROSE = (
    "## How disks work\n\nElastic Block Store (EBS) keeps getDiskName.\n\n```\ncode(x)\n```\n\nSame line.\n\n"
    + "word " * 200
)


def documents() -> list[Document]:
    made = []
    for n in range(24):
        source = {"title": f"Disk {n}", "text": f"{PROSE} disk{n}", "kind": "x", "html": f"<p>disk{n} <b>bold</b></p>"}
        made.append(Document(f"d{n:02}", source))
    return made


CORPUS = Corpus.of(documents())
QUERIES = [Query(f"q{n}", f"how does disk{n} work elastic") for n in range(24)]
QRELS = {f"q{n}": {f"d{n:02}": 1, f"d{(n + 1) % 24:02}": 1} for n in range(24)}
SOURCES = {
    "two fields": Source(fields={"title": "title", "body": "text"}, markup="markdown"),
    "one field": Source(fields={"body": "text"}, markup="markdown"),
    "one short field": Source(fields={"title": "title"}),
    "no title": Source(fields={"body": "text", "html": "html"}),
    "html": Source(fields={"title": "title", "page": "html"}, markup="html"),
    "many fields": Source(fields={"title": "title", "kind": "kind", "body": "text", "html": "html", "none": "absent"}),
    "absent": Source(fields={"none": "absent"}),
}
USERS: dict[str, Any] = {
    "schema": "idxopt/1",
    "name": "users",
    "source": {"fields": {"title": "title", "body": "text"}, "metadata": {"kind": "keyword"}, "markup": "markdown"},
    "models": {"writer": {"kind": "generator", "id": "extractive"}},
    "fusion": {"window": 30, "weights": {"content.lexical": 2.0}},
    "views": {
        "content": {
            "steps": [
                {"op": "enrich", "with": "summary", "into": "lead", "generator": "writer"},
                {"op": "discard", "span": {"references": True}},
                {"op": "reorganize", "to": "promote", "field": "title", "into": "name"},
            ],
            "lexical": {
                "fields": {
                    "body": {"analyzer": "standard", "k1": 0.9, "b": 0.3},
                    "title": {"analyzer": "keyword", "weight": 2.0},
                    "name": {"k1": 2.0},
                }
            },
        },
        "pieces": {
            "steps": [
                {"op": "normalize", "scheme": "lowercase", "field": "title"},
                {"op": "reorganize", "to": "join", "field": ["title", "body"], "into": "all"},
                {"op": "slice", "unit": "words", "field": "all", "window": 60, "overlap": 10},
            ],
            "lexical": {"fields": {"all": {}}},
        },
    },
}


def starts() -> dict[str, Program]:
    made = {name: baseline_program(source, "found") for name, source in SOURCES.items()}
    users = program_from(USERS, "the program")
    rows_only = canonical(users)
    del rows_only["views"]["content"]["lexical"], rows_only["fusion"]["weights"]
    return {**made, "users": users, "rows alone": program_from(rows_only, "the program")}


STARTS = starts()


def evaluated(program: Program) -> Diagnosis:
    evaluator = IncrementalEvaluator(CORPUS, QUERIES, QRELS)
    return diagnose(evaluator, CORPUS, program, QUERIES, QRELS, evaluator.scores(program))


@pytest.fixture(scope="module")
def diagnoses() -> dict[str, Diagnosis]:
    return {name: evaluated(program) for name, program in STARTS.items()}


def ever(found: Diagnosis) -> Diagnosis:
    """The same, of a corpus that has everything, so that every aspect is tried."""
    facts = replace(found.facts, headings=1, html=1, code_blocks=1, lists=1, identifiers=1, acronyms=1)
    return replace(found, facts=replace(facts, repeated_characters=1))


def state(program: Program, found: Diagnosis, outcomes: Sequence[Outcome] = (), number: int = 1) -> SearchState:
    seen = {program_hash(program), *(outcome.candidate.hash for outcome in outcomes)}
    return SearchState(number, program, program, found, outcomes, frozenset(seen))


def retrievers(program: Program) -> dict[tuple[str, str], tuple[str, float, float]]:
    return {
        (view_name, name): (field.analyzer, field.k1, field.b)
        for view_name, view in program.views.items()
        if view.lexical is not None
        for name, field in view.lexical.fields.items()
    }


@pytest.mark.parametrize("name", STARTS)
def test_every_option_is_a_valid_program_with_the_retriever_as_it_was(name, diagnoses):
    program = STARTS[name]
    shape = shape_of(program, diagnoses[name].facts)
    before = retrievers(program)
    own = next(iter(retrievers(program).values()))
    count = 0
    for aspect in aspects(shape, ever(diagnoses[name]), TABLES):
        assert 0 < aspect.prior <= 1, aspect.name
        assert aspect.why
        for option in aspect.options:
            made = edited(program, EDITS.validate_python(option.edits))
            after = retrievers(made)
            for place, retriever in after.items():
                assert retriever == before.get(place, own), (aspect.name, option.label, place)
            assert made.fusion.window == program.fusion.window
            count += 1
    assert count >= 8


@pytest.mark.parametrize("name", STARTS)
def test_asked_until_it_has_no_more_to_say_it_repeats_nothing(name, diagnoses):
    program, found = STARTS[name], ever(diagnoses[name])
    outcomes: list[Outcome] = []
    for number in range(1, 40):
        asked = state(program, found, outcomes, number)
        proposals = HeuristicProposer(TABLES).ask(asked, 4)
        assert proposals == HeuristicProposer(TABLES).ask(asked, 4)
        if not proposals:
            break
        for proposal in proposals:
            candidate = Candidate.of(edited(program, proposal.edits), proposal)
            assert candidate.hash not in asked.seen
            outcomes.append(Outcome(candidate, number, "refused", -0.001, 0.4, "no gain"))
    assert not proposals
    assert len({outcome.candidate.hash for outcome in outcomes}) >= len(outcomes) - 2  # two ways to one program
    assert len(outcomes) >= 8


def test_a_hundred_views_or_a_bundle_of_many_edits_end_nothing(diagnoses):
    plain = canonical(STARTS["two fields"])
    for number in range(30):
        plain["views"][f"more-{number}"] = {"lexical": {"fields": {"title": {}}}}
    program = program_from(plain, "the program")
    assert HeuristicProposer(TABLES).ask(state(program, ever(diagnoses["two fields"])), 50)


def refused(
    program: Program, kind: str, gain: float, confidence: float, *edits: dict[str, Any], number: int = 1
) -> Outcome:
    parsed: tuple[Edit, ...] = tuple(EDITS.validate_python(list(edits)))
    proposal = Proposal(parsed, kind, "because", "heuristic")
    return Outcome(Candidate.of(edited(program, parsed), proposal), number, "refused", gain, confidence, "too little")


def weigh(field: str, weight: float) -> dict[str, Any]:
    return {"edit": "search_field", "view": "content", "field": field, "weight": weight}


def bundles(program: Program, found: Diagnosis, *outcomes: Outcome) -> dict[str, Program]:
    asked = HeuristicProposer().ask(state(program, found, outcomes, 3), 100)
    return {one.kind: edited(program, one.edits) for one in asked if one.kind.startswith(BUNDLE)}


def test_small_gains_are_tried_together(diagnoses):
    program, found = STARTS["many fields"], diagnoses["many fields"]
    best = refused(program, "title: weight 2", 0.004, 0.8, weigh("title", 2.0))
    made = bundles(
        program,
        found,
        best,
        refused(program, "title: weight 1", 0.003, 0.9, weigh("title", 1.0)),
        refused(program, "kind: weight 1", 0.003, 0.7, weigh("kind", 1.0)),
        refused(program, "page: weight 1", 0.001, 0.7, weigh("html", 1.0)),
        refused(program, "none: weight 1", 0.004, 0.5, weigh("none", 1.0)),
    )
    assert list(made) == [f"{BUNDLE}: title + kind"]
    lexical = made[f"{BUNDLE}: title + kind"].views["content"].lexical
    assert lexical is not None
    assert {name: field.weight for name, field in lexical.fields.items()} == {"text": 1.0, "title": 2.0, "kind": 1.0}


def test_what_was_measured_before_a_change_was_kept_is_not_bundled(diagnoses):
    program, found = STARTS["many fields"], diagnoses["many fields"]
    first = refused(program, "title: weight 2", 0.004, 0.8, weigh("title", 2.0))
    second = refused(program, "kind: weight 1", 0.003, 0.7, weigh("kind", 1.0))
    kept = replace(refused(program, "html: weight 1", 0.03, 1.0, weigh("html", 1.0)), status="kept", refused=None)
    assert len(bundles(program, found, first, second)) == 1
    assert bundles(program, found, first, second, kept) == {}


def test_a_bundle_replaces_the_step_that_was_measured(diagnoses):
    program, found = STARTS["users"], diagnoses["users"]
    slice_ = {"op": "slice", "unit": "words", "field": "all", "window": 30, "overlap": 15}
    lower = {"op": "normalize", "scheme": "whitespace"}
    one = refused(
        program, "lower: added", 0.004, 0.8, {"edit": "add_step", "view": "pieces", "step": lower, "before": 0}
    )
    cut = {"edit": "replace_step", "view": "pieces", "number": 2, "step": slice_}
    made = bundles(program, found, one, refused(program, "rows: 30 words", 0.003, 0.8, cut))
    (together,) = made.values()
    steps = [step.op for step in together.views["pieces"].steps]
    assert steps == ["normalize", "normalize", "reorganize", "slice"]


def test_rows_of_another_field_are_cut_again_there(diagnoses):
    shape = shape_of(STARTS["users"], diagnoses["users"].facts)
    (rows,) = (one for one in aspects(shape, ever(diagnoses["users"]), {}) if one.name == "rows")
    assert [(edit["step"]["field"], edit["step"]["window"]) for one in rows.options for edit in one.edits] == [
        ("all", 30),
        ("all", 120),
    ]


def test_code_blocks_are_left_out_where_a_join_is_the_only_reorganization(diagnoses):
    shape = shape_of(STARTS["two fields"], diagnoses["two fields"].facts)
    names = {one.name for one in aspects(shape, ever(diagnoses["two fields"]), {})}
    assert {"without code blocks", "without references", "without repeated lines"} <= names


def test_what_failed_is_measured_over_all_that_was_classified(diagnoses):
    program, found = STARTS["two fields"], diagnoses["two fields"]
    some = replace(found, failing=found.failing[:1], kinds={"vocabulary_gap": 10}, classified=100)
    shape = shape_of(program, found.facts)
    (acronyms,) = (one for one in aspects(shape, some, TABLES) if one.name == "acronyms written out")
    assert acronyms.prior == pytest.approx(0.35 + 0.3 * 0.1)


def test_a_gain_brings_the_next_option_of_its_aspect_first(diagnoses):
    program, found = STARTS["two fields"], diagnoses["two fields"]
    won = refused(program, "field lead: weight 0.25", 0.05, 0.9, weigh("title", 3.0))
    first = HeuristicProposer(TABLES).ask(state(program, found, [won]), 1)[0]
    assert first.kind.startswith("field lead: ")


def test_both_forms_of_a_title_are_tried_in_one_round(diagnoses):
    """Whichever is kept first stays: a list of its own was never tried once a field had gained."""
    name = "two fields"
    asked = HeuristicProposer().ask(state(STARTS[name], diagnoses[name]), 4)
    assert {"title: weight 0.5", "title: a list of its own"} <= {proposal.kind for proposal in asked}
