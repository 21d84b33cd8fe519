"""The program that a study starts from: every field of a source, in one, analysed as English."""

from __future__ import annotations

import pytest

from idxopt.errors import ProgramError
from idxopt.evaluation.judgments import Query
from idxopt.operators.row import Document
from idxopt.optimizer.baseline import baseline_program
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.program.schema import Source


def searched(source: Source) -> tuple[str, list[list[str]]]:
    view = baseline_program(source, "found").views["content"]
    assert view.lexical is not None
    ((name, field),) = view.lexical.fields.items()
    assert (field.analyzer, field.k1, field.b, field.weight) == ("english", 1.2, 0.75, 1.0)
    return name, [list(step.field) for step in view.steps]


def test_one_field_is_searched_as_it_is():
    assert searched(Source(fields={"body": "text"})) == ("body", [])


def test_several_are_joined_in_their_order():
    assert searched(Source(fields={"title": "t", "body": "b"})) == ("text", [["title", "body"]])
    assert searched(Source(fields={"body": "b", "title": "t"})) == ("text", [["body", "title"]])


def test_the_joined_field_takes_a_name_that_is_free():
    assert searched(Source(fields={"text": "a", "text_2": "b"})) == ("text_3", [["text", "text_2"]])
    many = {"text": "a", **{f"text_{number}": f"a{number}" for number in range(2, 51)}}
    assert searched(Source(fields=many))[0] == "text_51"


def test_the_source_stays_whole():
    source = Source(id="key", fields={"body": "in.text"}, metadata={"kind": "keyword"}, markup="html")
    assert baseline_program(source, "found").source == source


def test_a_name_that_no_index_may_have_is_refused():
    with pytest.raises(ProgramError):
        baseline_program(Source(fields={"body": "text"}), "No Name")


def test_it_finds_what_any_field_says():
    corpus = Corpus.of(
        [Document("a", {"t": "apples"}), Document("b", {"b": "pear"}), Document("c", {"t": "x", "b": "y"})]
    )
    program = baseline_program(Source(fields={"title": "t", "body": "b"}), "found")
    queries = [Query("1", "apple"), Query("2", "pears")]
    found = IncrementalEvaluator(corpus, queries, {}).rankings(program, ["1", "2"], 10)
    assert found == {"1": [("a", 1.0)], "2": [("b", 1.0)]}
