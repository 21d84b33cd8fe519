"""Columns made from the steps that matter are those of the whole interpreter, and only what is new is run."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import IdxoptError
from idxopt.evaluation.judgments import Query
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.steps import compile_step
from idxopt.optimizer.scoring import fields, searched, texts
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.scoring.texts import Texts, relevant_steps
from idxopt.program.effects import view_fields
from idxopt.program.schema import Program
from idxopt.text.analysis import analyzer
from tests.unit.optimizer.scoring.drawing import CORPUS, QRELS, QUERIES, START, drawn, program

MORE: list[dict[str, Any]] = [
    {"op": "reorganize", "to": "merge_short", "min_size": 5},
    {"op": "reorganize", "to": "merge_short", "field": "title", "min_size": 3},
    {"op": "reorganize", "to": "promote", "field": "title", "into": "copy"},
    {"op": "reorganize", "to": "promote", "field": "body", "into": "copy"},
    {"op": "reorganize", "to": "rename", "field": "copy", "into": "body"},
    {"op": "reorganize", "to": "rename", "field": "body", "into": "copy"},
    {"op": "reorganize", "to": "join", "field": ["title", "body"], "into": "copy"},
    {"op": "reorganize", "to": "join", "field": ["copy", "tags"], "into": "body"},
    {"op": "reorganize", "to": "sections", "level": 2},
    {"op": "reorganize", "to": "qa_pairs"},
    {"op": "reorganize", "to": "table_rows"},
    {"op": "reorganize", "to": "code_blocks", "into": "copy"},
    {"op": "discard", "span": {"fields": ["title"]}},
    {"op": "discard", "span": {"fields": ["copy"]}},
    {"op": "discard", "span": {"repeated_lines": {"min_docs": 2}}},
    {"op": "discard", "span": {"phrases": ["apple"]}},
    {"op": "slice", "unit": "words", "window": 4, "overlap": 2},
    {"op": "slice", "unit": "words", "field": "title", "window": 2},
    {"op": "slice", "unit": "headings", "keep_heading_path": True},
    {"op": "slice", "unit": "paragraphs", "window": 1, "field": "copy"},
    {"op": "enrich", "with": "neighbours", "into": "beside"},
    {"op": "enrich", "with": "prime_terms", "into": "terms", "top": 3, "max_idf_terms": 5},
    {"op": "enrich", "with": "prime_terms", "into": "other_terms", "top": 3},
    {"op": "enrich", "with": "keywords", "into": "copy", "top": 4},
    {"op": "enrich", "with": "lead", "field": "copy", "into": "lead", "words": 3},
    {"op": "enrich", "with": "heading_tree", "into": "tree"},
    {"op": "normalize", "scheme": "lowercase", "field": ["title", "body"]},
    {"op": "normalize", "scheme": "terms", "table": {"apple": ["pear"]}, "keep_original": True},
    {"op": "reweight", "field": "title", "alpha": 2.0},
]


def with_steps(steps: list[dict[str, Any]]) -> Program | None:
    """A program with as many of the steps as are valid one after the other, which searches all that there is."""
    found: Program | None = None
    taken: list[dict[str, Any]] = []
    for step in steps:
        try:
            rows = {"steps": [*taken, step], "lexical": {"fields": {"year": {}}}}
            made = program(views={"content": START["views"]["content"], "rows": rows})
        except IdxoptError:
            continue
        found, taken = made, [*taken, step]
    return found


def check(found: Program, one: Texts) -> None:
    tables = CORPUS.tables(found)
    for name, view in found.views.items():
        whole = Interpreter(found, name, tables)
        rows = [row for document in CORPUS.documents for row in whole.rows(document)]
        at = view_fields(found, view)
        for field in {*at.names} - at.structures:
            expected = [tuple(texts._values(row.fields.get(field))) for row in rows]
            assert one.values(one.derivation(found, name, field)) == expected, (name, field)
        documents = one.row_set(found, name).documents
        assert [CORPUS.documents[place].id for place in documents] == [row.doc_id for row in rows]


SHARED = Texts(CORPUS)


@given(st.lists(st.sampled_from(MORE), min_size=1, max_size=8))
def test_columns_of_relevant_steps_are_those_of_all_steps(steps):
    found = with_steps(steps)
    if found is not None:
        check(found, Texts(CORPUS))
        check(found, SHARED)  # whatever was kept before


@given(st.integers(0, 1_000))
def test_so_they_are_for_programs_of_the_random_proposer(seed):
    check(drawn(seed, 10), SHARED)


def steps_of(*numbers: int) -> tuple[Any, ...]:
    found = with_steps([MORE[number] for number in numbers])
    assert found is not None
    return tuple(found.views["rows"].steps)


def test_what_matters_to_a_field():
    lower, title, cut, gone = steps_of(26, 2, 16, 12)
    steps = (lower, title, cut, gone)
    assert relevant_steps(steps, "body") == (lower, cut)
    assert relevant_steps(steps, "copy") == (lower, title, cut)
    assert relevant_steps(steps, "title") == (lower, cut, gone)
    assert relevant_steps(steps, None) == (lower, cut)
    assert relevant_steps(steps, "tags") == (lower, cut)


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often a step was run on a document; the real step runs."""
    counted: Counter[str] = Counter()

    def counting(step: Any, context: Any) -> Any:
        transform = compile_step(step, context)

        def run(rows: Any) -> Any:
            counted[_name(step)] += 1
            return transform(rows)

        return run

    monkeypatch.setattr(texts, "compile_step", counting)
    return counted


def _name(step: Any) -> str:
    return str(getattr(step, "scheme", None) or getattr(step, "with_", None) or getattr(step, "to", None) or step.op)


@pytest.fixture
def scored(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many queries each call scored in one field; the real scoring runs."""
    calls: list[int] = []
    scores = fields.QueryTerms.scores

    def counting(self: Any, field: Any, weight: float, k1: float, b: float, queries: Any) -> Any:
        calls.append(len(queries))
        return scores(self, field, weight, k1, b, queries)

    monkeypatch.setattr(fields.QueryTerms, "scores", counting)
    return calls


def content(steps: list[dict[str, Any]], **searched: dict[str, Any]) -> Program:
    joined = START["views"]["content"]["steps"]
    return program(views={"content": {"steps": [*steps, *joined], "lexical": {"fields": {"text": {}, **searched}}}})


def evaluator() -> IncrementalEvaluator:
    return IncrementalEvaluator(CORPUS, QUERIES, QRELS)


def test_new_weights_transform_no_document(ran):
    one = evaluator()
    one.scores(content([], title={"weight": 0.5}))
    assert ran == {"join": len(CORPUS.documents)}
    ran.clear()
    one.scores(content([], title={"weight": 2.0}))
    one.scores(content([], title={"weight": 2.0, "k1": 0.4, "b": 0.1}))
    one.scores(content([{"op": "reweight", "field": "title", "alpha": 3.0}], title={}))
    assert not ran


def test_a_new_last_step_runs_alone(ran):
    one = evaluator()
    lower, cut = {"op": "normalize", "scheme": "lowercase"}, {"op": "slice", "unit": "words", "window": 5}
    views = {"content": START["views"]["content"], "rows": {"steps": [lower], "lexical": {"fields": {"body": {}}}}}
    one.scores(program(views=views))
    ran.clear()
    one.scores(program(views={**views, "rows": {**views["rows"], "steps": [lower, cut]}}))
    assert not ran, "rows that are searched and nothing else are cut from the texts, without being made"
    short = {"op": "enrich", "with": "lead", "into": "lead", "words": 2}
    views["rows"] = {"steps": [lower, cut, short], "lexical": {"fields": {"lead": {}}}}
    one.scores(program(views=views))
    assert ran.keys() == {"slice", "lead"}
    assert ran["slice"] == len(CORPUS.documents)


def test_a_field_added_runs_its_own_steps_alone(ran):
    one = evaluator()
    one.scores(content([]))
    ran.clear()
    one.scores(content([{"op": "enrich", "with": "lead", "into": "lead", "words": 3}], lead={}))
    assert ran == {"lead": len(CORPUS.documents)}


def test_queries_without_a_term_in_an_added_field_are_not_scored_again(scored):
    one = evaluator()
    one.scores(content([]))
    assert scored == [len(QUERIES)]
    scored.clear()
    one.scores(content([], tags={}))
    with_term = [query for query in QUERIES if {"red", "fruit", "appl", "true", "7"} & set(terms(query))]
    assert 0 < len(with_term) < len(QUERIES) / 2
    assert scored == [len(with_term)] * 2


def test_a_change_that_is_undone_scores_nothing(scored):
    one = evaluator()
    one.scores(content([]))
    one.scores(content([], tags={}))
    scored.clear()
    one.scores(content([], tags={"weight": 0.0}))
    one.rankings(content([]), [query.id for query in QUERIES], 10)
    assert scored == []


def terms(query: Query) -> list[str]:
    return analyzer("english")(query.text)


@pytest.mark.parametrize("limit", [{"words": 3}, {"words": 500}, {"sentences": 1}], ids=str)
def test_the_beginning_of_a_text_is_counted_by_its_chunks(monkeypatch, limit):
    found = content([{"op": "enrich", "with": "lead", "into": "lead", **limit}], lead={})
    ids = [query.id for query in QUERIES]
    monkeypatch.setattr(searched, "_LONG", 10_000)
    expected = evaluator().rankings(found, ids, 100)
    calls: list[int] = []
    counted = fields.QueryTerms.cut_field

    def counting(self: Any, placed: Any, spans: Any) -> Any:
        calls.append(spans.count)
        return counted(self, placed, spans)

    monkeypatch.setattr(fields.QueryTerms, "cut_field", counting)
    monkeypatch.setattr(searched, "_LONG", 0)
    assert evaluator().rankings(found, ids, 100) == expected
    assert calls == [len(CORPUS.documents)]


BESIDE = {"op": "slice", "unit": "words", "window": 3}


@pytest.mark.parametrize(
    "steps",
    [
        [],
        [{"op": "normalize", "scheme": "lowercase", "field": "title"}],
        [{"op": "reorganize", "to": "qa_pairs"}],
        [{"op": "reorganize", "to": "qa_pairs"}, BESIDE],
        [BESIDE],
        [BESIDE, {"op": "slice", "unit": "words", "field": "title", "window": 1}],
        [{"op": "slice", "unit": "words", "field": "title", "window": 1}, BESIDE],
    ],
    ids=["nothing", "rewritten", "made", "made and cut", "cut", "cut twice", "cut twice, the other first"],
)
@pytest.mark.parametrize("joined", [["title", "body"], ["body", "tags", "year"], ["title", "copy"]], ids=str)
def test_fields_that_are_put_together_are_those_that_are_made(monkeypatch, steps, joined):
    """Joins as sums, what rows share counted once: as if every row were made."""
    join = {"op": "reorganize", "to": "join", "field": joined, "into": "text"}
    copy = {"op": "reorganize", "to": "promote", "field": "tags", "into": "copy"}
    searched: dict[str, Any] = {name: {} for name in ("text", "title", "body", "tags")}
    found = program(
        views={
            "content": {"lexical": {"fields": {"body": {}}}},
            "rows": {"steps": [copy, *steps, join], "lexical": {"fields": searched}},
        }
    )
    ids = [query.id for query in QUERIES]
    one = evaluator()
    quick = one.rankings(found, ids, 100), one.scores(found)
    monkeypatch.setattr(texts.Texts, "cut", lambda self, of: None)
    monkeypatch.setattr(texts.Derivation, "joined", None)
    one = evaluator()
    assert quick[0] == one.rankings(found, ids, 100)
    assert quick[1].size == one.scores(found).size
