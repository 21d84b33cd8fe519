"""What the evaluator refuses, and corpora at the edge."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from idxopt.errors import BuildError, EvaluationError, IdxoptError, ProgramError
from idxopt.evaluation.judgments import Query
from idxopt.operators.row import Document
from idxopt.operators.steps import compile_step
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import METRICS, NDCG, Size
from idxopt.optimizer.scoring import growth, texts
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.trials import embedded_trials
from idxopt.program.schema import Program
from idxopt.program.validate import program_from

ASKED = [Query("q", "apple")]
JUDGED = {"q": {"a": 1}}


def one_field(
    *steps: dict[str, Any], path: str = "body", searched: dict[str, Any] | None = None, **more: Any
) -> Program:
    return program_from(
        {
            "schema": "idxopt/1",
            "name": "limits",
            "source": {"fields": {"body": path}},
            "views": {"content": {"lexical": {"fields": searched or {"body": {}}}, "steps": [*steps]}},
            **more,
        },
        "the program",
    )


def rows(*steps: dict[str, Any], path: str = "body") -> Program:
    view = {"steps": [*steps], "lexical": {"fields": {"body": {}}}}
    return one_field(path=path, views={"content": {"lexical": {"fields": {"body": {}}}}, "rows": view})


def evaluator(*documents: Any, queries: Any = ASKED, qrels: Any = JUDGED) -> IncrementalEvaluator:
    return IncrementalEvaluator(Corpus.of(documents), queries, qrels)


def test_a_flood_of_rows_is_refused(monkeypatch):
    monkeypatch.setattr(growth, "_FREE_ROWS", 10)
    monkeypatch.setattr(growth, "MAX_ROWS_A_DOCUMENT", 5)
    one = evaluator(*(Document(name, {"body": "apple " * 20}) for name in "abc"))
    with pytest.raises(ProgramError, match="more than 5 rows a document"):
        one.scores(rows({"op": "slice", "unit": "words", "window": 1}))
    assert one.scores(rows({"op": "slice", "unit": "words", "window": 3})).size.rows == 3 + 21


def test_a_flood_of_text_is_refused_wherever_documents_have_their_texts(monkeypatch):
    monkeypatch.setattr(growth, "_FREE_CHARACTERS", 100)
    long = {"op": "normalize", "scheme": "regex_replace", "pattern": "a", "replacement": "a" * 50}
    short = {"op": "normalize", "scheme": "regex_replace", "pattern": "a", "replacement": "aa"}
    for source, path in (
        ({"body": "apple " * 50}, "body"),
        ({"in": {"body": "apple " * 50}}, "in.body"),
        ({"body": ["apple "] * 50}, "body"),
    ):
        one = evaluator(Document("a", source))
        with pytest.raises(ProgramError, match=f"writes more than {growth.MAX_GROWTH} times the text"):
            one.scores(one_field(long, path=path))
        assert one.scores(one_field(short, path=path)).values[NDCG].tolist() == [0.0]
        assert one.size(one_field(path=path)).bytes > 300


def test_whole_documents_in_each_of_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr(growth, "_FREE_CHARACTERS", 100)
    one = evaluator(*(Document(name, {"body": "apple " * 60, "whole": "apple " * 60}) for name in "abc"))

    def beside(window: int) -> Program:
        """Rows of the body, each with the whole text beside it."""
        slices = {"op": "slice", "unit": "words", "window": window}
        return program_from(
            {
                "schema": "idxopt/1",
                "name": "limits",
                "source": {"fields": {"body": "body", "whole": "whole"}},
                "views": {
                    "content": {"lexical": {"fields": {"body": {}}}},
                    "rows": {"steps": [slices], "lexical": {"fields": {"body": {}, "whole": {}}}},
                },
            },
            "the program",
        )

    with pytest.raises(ProgramError, match=f"together hold more than {growth.MAX_GROWTH} times the text") as refused:
        one.scores(beside(3))
    assert refused.value.place == "rows.whole"
    assert one.scores(beside(10)).size.rows == 3 + 3 * 6
    assert one.scores(rows({"op": "slice", "unit": "words", "window": 3})).size.rows == 3 + 3 * 20


def test_a_query_of_too_many_words_is_cut_to_its_rarest_as_live_searches_do():
    chosen = random.Random(7)
    words = [f"{kind}{n}" for n in range(300) for kind in ("part", "parts", "Part's")]
    texts = [" ".join(chosen.choices(words, weights=range(len(words), 0, -1), k=40)) for _ in range(60)]
    corpus = Corpus.of([Document(f"d{n:02}", {"body": text}) for n, text in enumerate(texts)])
    long = " ".join([*chosen.choices(words, k=700), "nowhere", *chosen.choices(words, k=699)])
    queries = [Query("long", long), Query("short", texts[3][:60]), Query("longer", long * 2), *ASKED]
    qrels = {query.id: {"d03": 1} for query in queries}
    fields = {"body": {}, "copy": {"weight": 2.0, "analyzer": "standard"}, "whole": {"analyzer": "keyword"}}
    copies = [{"op": "reorganize", "to": "promote", "into": into} for into in ("copy", "whole")]
    programs = [
        one_field(),
        one_field(*copies[:1], searched={name: fields[name] for name in ("body", "copy")}),
        one_field(*copies, searched=fields),
        one_field(*copies, searched={**fields, "body": {"weight": 3.0}}),
        rows({"op": "slice", "unit": "words", "window": 8}),
    ]
    ids = [query.id for query in queries]
    one = IncrementalEvaluator(corpus, queries, qrels)
    with embedded_trials(corpus, queries, qrels) as engine:
        for program in programs:
            found, expected = one.rankings(program, ids, 100), engine.rankings(program, ids, 100)
            for id in ids:
                assert [doc_id for doc_id, _ in found[id]] == [doc_id for doc_id, _ in expected[id]]
            assert found == IncrementalEvaluator(corpus, queries, qrels).rankings(program, ids, 100)


def test_a_dense_leg_is_refused():
    dense = {"content": {"lexical": {"fields": {"body": {}}}, "dense": {"model": "m", "text": ["body"]}}}
    models = {"m": {"kind": "embedder", "id": "any", "dimension": 4, "similarity": "dot"}}
    one = evaluator(Document("a", {"body": "apple"}), Document("b", {"body": "pear"}))
    both = one_field(views=dense, models=models)
    with pytest.raises(EvaluationError, match="dense leg"):
        one.scores(both)
    plain = one.size(one_field())
    assert one.size(both) == Size(plain.rows, plain.bytes + 2 * 4 * 4, 1), "its vectors count, for trials on a cluster"


def test_an_object_in_a_searched_field_is_refused_as_engines_do():
    corpus = Corpus.of([Document("a", {"body": [{"x": "apple"}]}), Document("b", {"body": "apple"})])
    with pytest.raises(BuildError, match="holds an object"):
        IncrementalEvaluator(corpus, ASKED, JUDGED).scores(one_field())
    with embedded_trials(corpus, ASKED, JUDGED) as engine, pytest.raises(IdxoptError):
        engine.scores(one_field())


def test_a_document_that_a_step_cannot_take_is_named(monkeypatch):
    def failing(step: Any, context: Any) -> Any:
        def run(found: Any) -> Any:
            if found[0].doc_id == "b":
                raise ValueError("out of luck")
            return compile_step(step, context)(found)

        return run

    monkeypatch.setattr(texts, "compile_step", failing)
    one = evaluator(*(Document(name, {"body": "apple"}) for name in "ab"))
    with pytest.raises(BuildError, match="document 'b' cannot be transformed: out of luck"):
        one.scores(one_field({"op": "normalize", "scheme": "lowercase"}))


@pytest.mark.parametrize("path", ["in.body", "in.parts.text", "dotted.key"])
def test_texts_below_objects_are_found_as_the_engine_finds_them(path):
    source = {
        "in": {"body": "apple", "parts": [{"text": "apple"}, {"text": ["pear", "apple"]}, {}]},
        "dotted.key": "apple",
    }
    corpus = Corpus.of([Document("a", source), Document("b", {"in": {"body": "pear"}})])
    found = IncrementalEvaluator(corpus, ASKED, JUDGED).rankings(one_field(path=path), ["q"], 10)
    assert [doc_id for doc_id, _ in found["q"]] == ["a"]
    with embedded_trials(corpus, ASKED, JUDGED) as engine:
        assert [doc_id for doc_id, _ in engine.rankings(one_field(path=path), ["q"], 10)["q"]] == ["a"]


@pytest.mark.parametrize("searched", [{"weight": 1e-46}, {"k1": 1_000.0, "b": 1.0}])
def test_a_row_that_matches_with_a_score_of_0_is_a_hit(searched):
    documents = [Document("a", {"body": "apple"}), *(Document(f"b{n}", {"body": ""}) for n in range(3))]
    documents += [
        Document("c", {"body": "apple " + "word " * 99_999}),
        *(Document(f"d{n}", {"body": "x"}) for n in range(9_999)),
    ]
    corpus = Corpus.of(documents)
    program = one_field(searched={"body": searched})
    found = IncrementalEvaluator(corpus, ASKED, JUDGED).rankings(program, ["q"], 10)
    assert [doc_id for doc_id, _ in found["q"]] == ["a", "c"]
    with embedded_trials(corpus, ASKED, JUDGED) as engine:
        assert [doc_id for doc_id, _ in engine.rankings(program, ["q"], 10)["q"]] == ["a", "c"]


def test_without_documents_or_queries():
    nothing = evaluator()
    assert nothing.scores(one_field()).size == Size(0, 0, 1)
    assert nothing.rankings(one_field(), ["q"], 10) == {"q": []}
    unasked = evaluator(Document("a", {"body": "apple"}), queries=[])
    assert [unasked.scores(one_field()).values[metric].shape for metric in METRICS] == [(0,)] * 3
    assert np.isfinite(nothing.scores(one_field()).values[NDCG]).all()


def test_queries_are_asked_by_ids_of_their_own():
    with pytest.raises(EvaluationError, match="no query 'other'"):
        evaluator().rankings(one_field(), ["other"], 10)
    with pytest.raises(EvaluationError, match="two queries have the id 'q'"):
        evaluator(queries=[*ASKED, *ASKED])


MODELS = {"writer": {"kind": "generator", "id": "extractive"}, "other": {"kind": "generator", "id": "somewhere"}}


def test_the_generator_that_runs_in_steps_works_in_candidates():
    text = "Apples are fruit. Pears are fruit too. Bread is none. " * 5
    step = {"op": "enrich", "with": "summary", "into": "summary", "generator": "writer"}
    program = one_field(step, searched={"body": {}, "summary": {"weight": 2.0}}, models=MODELS)
    corpus = Corpus.of([Document("a", {"body": text}), Document("b", {"body": "apple"})])
    found = IncrementalEvaluator(corpus, ASKED, JUDGED).rankings(program, ["q"], 10)
    with embedded_trials(corpus, ASKED, JUDGED) as engine:
        expected = engine.rankings(program, ["q"], 10)
    assert [doc_id for doc_id, _ in found["q"]] == [doc_id for doc_id, _ in expected["q"]]
    assert {doc_id for doc_id, _ in found["q"]} == {"a", "b"}


def test_texts_of_a_language_model_that_were_never_made_are_an_error():
    step = {"op": "enrich", "with": "summary", "into": "summary", "generator": "other"}
    program = one_field(step, searched={"body": {}, "summary": {}}, models=MODELS)
    with pytest.raises(BuildError, match="document 'a': 1 texts"):
        evaluator(Document("a", {"body": "Apples are fruit."})).scores(program)


PROMOTED = {"op": "reorganize", "to": "promote", "field": "more", "into": "copy"}
SHORT = {"op": "enrich", "with": "lead", "field": "copy", "into": "short", "words": 1}


def copied(*steps: dict[str, Any], **searched: Any) -> Program:
    plain = {
        "schema": "idxopt/1",
        "name": "limits",
        "source": {"fields": {"body": "body", "more": "more"}},
        "views": {"content": {"steps": [PROMOTED, *steps], "lexical": {"fields": {"body": {}, **searched}}}},
    }
    return program_from(plain, "the program")


@pytest.mark.parametrize("more", [{"a": 1}, ["x", {"a": 1}]], ids=str)
def test_a_refusal_says_the_same_whatever_was_scored_before(more):
    documents = [Document("a", {"body": "apple", "more": "x"}), Document("b", {"body": "apple", "more": more})]
    messages = []
    for before in ([], [copied(SHORT, short={})]):
        one = evaluator(*documents)
        for program in before:
            one.scores(program)
        with pytest.raises(BuildError) as refused:
            one.scores(copied(copy={}))
        messages.append(str(refused.value))
    assert messages[0] == messages[1]
    assert "document 'b': a searched field holds an object" in messages[0]


def test_numbers_are_text_to_limits_too(monkeypatch):
    """A copy of what documents hold is no flood, whatever kind of value it is."""
    monkeypatch.setattr(growth, "_FREE_CHARACTERS", 10)
    one = evaluator(Document("a", {"body": "apple", "more": [number / 7 for number in range(500)]}))
    assert one.scores(copied(copy={})).size.rows == 1
