"""A diagnosis over a real evaluator: what is found of failing queries, how they are counted, and how long it takes."""

from __future__ import annotations

import gzip
import itertools
import json
import time
from pathlib import Path

import pytest

from idxopt.evaluation.datasets import load_dataset_folder
from idxopt.evaluation.judgments import Qrels, Query
from idxopt.operators.row import Document
from idxopt.optimizer.baseline import baseline_program
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.diagnosis import diagnose as module
from idxopt.optimizer.diagnosis.diagnose import diagnose
from idxopt.optimizer.diagnosis.documents import AskedWords
from idxopt.optimizer.diagnosis.findings import Diagnosis, FailingQuery
from idxopt.optimizer.edits import EDITS, edited
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.program.schema import Program, Source

SOURCE = Source(fields={"title": "title", "body": "text"})
BASELINE = baseline_program(SOURCE, "handbook")
FILLER = "other words that say little about any of it and go on for a while "


def corpus(**texts: tuple[str, str]) -> Corpus:
    return Corpus.of(Document(doc_id, {"title": title, "text": text}) for doc_id, (title, text) in texts.items())


def diagnosed(found: Corpus, queries: dict[str, str], qrels: Qrels, program: Program = BASELINE) -> Diagnosis:
    asked = [Query(query_id, text) for query_id, text in queries.items()]
    evaluator = IncrementalEvaluator(found, asked, qrels)
    return diagnose(evaluator, found, program, asked, qrels, evaluator.scores(program))


def only(found: Diagnosis) -> FailingQuery:
    assert found.failed == len(found.failing) == 1
    return found.failing[0]


def test_a_failing_query_shows_ranks_words_and_what_stands_above():
    documents = corpus(
        good=("Store volumes", FILLER * 5 + "how volumes are encrypted"),
        bad=("Encrypted volumes", "encrypted volumes and encrypted volumes"),
        none=("Nothing", "of the kind"),
    )
    found = only(diagnosed(documents, {"q": "encrypted store volumes snapshot"}, {"q": {"good": 1, "bad": 0}}))
    (relevant,), (above,) = found.relevant, found.above
    assert (found.query_id, round(found.value, 3)) == ("q", 0.631)
    assert (relevant.doc_id, relevant.rank, relevant.grade) == ("good", 2, 1)
    assert relevant.matched == {"text": ("encrypted", "store", "volumes")}
    assert relevant.in_source == {"title": ("store", "volumes"), "body": ("encrypted", "volumes")}
    assert relevant.missing == ("snapshot",)
    assert relevant.words == relevant.row_words == 81
    assert (above.doc_id, above.rank, above.grade, above.missing) == ("bad", 1, 0, ("store", "snapshot"))
    assert found.kinds == ("vocabulary_gap",)


def test_a_long_document_that_has_the_whole_query_is_diluted():
    documents = corpus(
        good=("Store volumes", FILLER * 5 + "how volumes are encrypted"),
        bad=("Encrypted volumes", "encrypted volumes and encrypted volumes"),
    )
    found = only(diagnosed(documents, {"q": "encrypted volumes"}, {"q": {"good": 1, "bad": 0}}))
    assert found.kinds == ("diluted_by_length",)


def test_a_relevant_document_that_was_not_found_has_no_rank():
    documents = corpus(good=("A", "call getItem"), bad=("B", "item and table"))
    found = only(diagnosed(documents, {"q": "item"}, {"q": {"good": 1}}))
    assert found.relevant[0].rank is None
    assert found.relevant[0].other_forms == ("item",)
    assert found.above[0].grade is None
    assert found.kinds == ("vocabulary_gap", "missing_identifier_form", "unjudged_above")


def test_what_stands_above_is_worse_than_the_best_document_that_is_not_where_it_could_be():
    documents = corpus(
        first=("", "wing wing wing"), second=("", "wing wing flow"), third=("", "wing flow heat"), last=("", "heat")
    )
    found = only(diagnosed(documents, {"q": "wing"}, {"q": {"first": 2, "third": 2, "second": 1}}))
    assert [one.doc_id for one in found.relevant] == ["first", "third", "second"]
    assert [one.doc_id for one in found.above] == ["second"]


def test_lines_that_many_documents_repeat_are_seen_as_boilerplate():
    footer = "contact support for billing questions"
    documents = corpus(
        **{f"d{number:02}": (f"Page {number}", f"page {number} text\n{footer}") for number in range(30)},
        good=("Billing", FILLER * 20 + "questions and support for billing"),
    )
    found = only(diagnosed(documents, {"q": "billing support questions"}, {"q": {"good": 1}}))
    assert "boilerplate_match" in found.kinds


def test_documents_cut_into_rows_have_the_length_of_their_best_row():
    documents = corpus(good=("A", FILLER * 20 + "how volumes are encrypted"), bad=("B", "encrypted volumes"))
    edits = [
        {
            "edit": "add_view",
            "name": "rows",
            "view": {
                "steps": [{"op": "slice", "unit": "words", "window": 20, "overlap": 0}],
                "lexical": {"fields": {"body": {}}},
            },
        }
    ]
    program = edited(BASELINE, EDITS.validate_python(edits))
    found = only(diagnosed(documents, {"q": "encrypted volumes"}, {"q": {"good": 1}}, program))
    assert found.relevant[0].words > 200
    assert found.relevant[0].row_words <= 20
    assert set(found.relevant[0].matched) == {"text", "body"}


def test_queries_that_are_perfect_or_have_nothing_in_the_corpus_do_not_fail():
    documents = corpus(a=("Wing", "flow"), b=("Heat", "shield"))
    found = diagnosed(documents, {"1": "wing", "2": "heat"}, {"1": {"a": 1}, "2": {"elsewhere": 1}})
    assert (found.n, found.failed, found.failing, found.kinds) == (2, 0, (), {})
    assert found.by_query_kind == {"short": (2, 0.5)}


def test_a_diagnosis_of_some_queries_reads_their_own_scores():
    documents = corpus(a=("Wing", "flow"), b=("Heat", "shield wing wing wing"))
    queries = [Query("1", "heat"), Query("2", "wing")]
    qrels = {"1": {"b": 1}, "2": {"a": 1}}
    evaluator = IncrementalEvaluator(documents, queries, qrels)
    found = diagnose(evaluator, documents, BASELINE, queries[1:], qrels, evaluator.scores(BASELINE))
    assert (found.n, found.failing[0].query_id) == (1, "2")


def test_many_failing_queries_are_all_counted_and_the_worst_kept(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MOST_FAILING", 3)
    monkeypatch.setattr(module, "MOST_CLASSIFIED", 5)
    documents = corpus(a=("A", "wing"), b=("B", "flow"))
    queries = {f"{number}": "wing" for number in range(8)}
    found = diagnosed(documents, queries, {query_id: {"b": 1} for query_id in queries})
    assert (found.failed, len(found.failing), found.classified) == (8, 3, 5)
    assert found.kinds["vocabulary_gap"] == 5


def test_a_diagnosis_is_json():
    documents = corpus(good=("A", "call getItem"), bad=("B", "item and table"))
    found = diagnosed(documents, {"q": "item"}, {"q": {"good": 1}})
    plain = json.loads(json.dumps(found.to_json()))
    assert plain["failing"][0]["relevant"][0]["other_forms"] == ["item"]
    assert plain["by_query_kind"] == {"short": {"n": 1, "ndcg_10": 0.0}}
    assert plain["facts"]["fields"]["title"]["present"] == 1.0


@pytest.mark.parametrize("name", ["scifact", "awsdocs_small"])
def test_a_collection_is_diagnosed_in_seconds_and_twice_alike(shared: Path, name: str):
    folder = shared / "datasets" / name
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = Corpus.of(Document(plain["_id"], plain) for plain in map(json.loads, lines))
    judged = load_dataset_folder(folder)
    evaluator = IncrementalEvaluator(documents, judged.queries, judged.qrels)
    scores = evaluator.scores(BASELINE)

    def run() -> Diagnosis:
        return diagnose(evaluator, documents, BASELINE, judged.queries, judged.qrels, scores)

    first = run()
    start = time.process_time()
    assert run() == first
    assert time.process_time() - start < 3
    assert first.classified == first.failed > 40
    assert all(query.kinds and query.relevant for query in first.failing)


def test_what_words_weigh_together_does_not_depend_on_their_order():
    """Sets have another order in every process; the last bit decides between equal rows, and so what is tried next."""
    weights = {"wing": 0.1, "flow": 0.2, "heat": 0.3, "shock": 0.15, "layer": 0.25}
    asked = AskedWords(tuple(weights), weights, {})
    assert len({sum(order) for order in itertools.permutations(weights.values())}) > 1
    assert len({asked.share(order) for order in itertools.permutations(weights)}) == 1
