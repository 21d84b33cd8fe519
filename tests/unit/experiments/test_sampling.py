"""Samples: judged documents kept, limits kept, the same seed the same sample, and a digest of everything."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import EvaluationError
from idxopt.evaluation.judgments import JudgedQueries, Query
from idxopt.experiments.sampling import EVERYTHING, Limits, draw, guessed_markup, slug, write_corpus
from idxopt.operators.row import Document
from idxopt.program.presets import BEIR_SOURCE

DOCUMENTS = [Document(f"d{n:02}", {"_id": f"d{n:02}", "title": f"t{n}", "text": "x" * (n + 1)}) for n in range(40)]
JUDGED = JudgedQueries(
    tuple(Query(f"q{n}", f"query {n}") for n in range(10)),
    {f"q{n}": {f"d{n:02}": 1, f"d{n + 1:02}": 0} for n in range(10)},
)


def sample(limits: Limits):
    return draw("some", "place", BEIR_SOURCE, DOCUMENTS, JUDGED, limits)


@given(st.integers(1, 12), st.integers(1, 45), st.integers(1, 900), st.integers(0, 3))
def test_judged_documents_are_kept_and_others_fit(queries, documents, characters, seed):
    found = sample(Limits(queries, documents, characters, seed))
    ids = [document.id for document in found.documents]
    judged = {doc for graded in found.judged.qrels.values() for doc in graded}
    assert judged <= set(ids)
    assert ids == sorted(ids)
    assert len(found.judged.queries) == min(queries, 10)
    assert set(found.judged.qrels) == {query.id for query in found.judged.queries}
    assert len(ids) <= max(documents, len(judged))
    size = sum(len(text) for text in found.texts.values())
    assert size <= max(characters, sum(len(found.texts[doc]) for doc in judged))
    assert sample(Limits(queries, documents, characters, seed)).digest == found.digest


def test_another_seed_is_another_sample_and_no_limit_takes_all():
    assert sample(Limits(3, 10, None, 1)).digest != sample(Limits(3, 10, None, 2)).digest
    every = sample(EVERYTHING)
    assert (len(every.documents), len(every.judged.queries)) == (40, 10)
    assert "10 of 10 judged queries and 40 of 40 documents" in every.statement


def test_the_digest_sees_texts_queries_and_judgments():
    found = sample(EVERYTHING)
    first = replace(found, documents=(Document("d00", {"_id": "d00", "text": "y"}), *found.documents[1:]))
    second = replace(found, judged=replace(JUDGED, queries=(Query("q0", "other"), *JUDGED.queries[1:])))
    third = replace(found, judged=replace(JUDGED, qrels={**JUDGED.qrels, "q0": {"d00": 2}}))
    assert len({one.digest for one in (found, first, second, third)}) == 4


def test_judged_documents_that_are_absent_are_counted_and_none_at_all_is_an_error():
    with_absent = replace(JUDGED, qrels={**JUDGED.qrels, "q0": {"gone": 1, "d00": 1}})
    found = draw("some", "place", BEIR_SOURCE, DOCUMENTS, with_absent, EVERYTHING)
    assert found.absent == 1
    assert "1 judged ones are not in the collection" in found.statement
    lost = JudgedQueries((Query("q", "text"),), {"q": {"gone": 1}})
    with pytest.raises(EvaluationError, match="none of the judged documents"):
        draw("some", "place", BEIR_SOURCE, DOCUMENTS, lost, EVERYTHING)


def test_markup_is_guessed_from_headings():
    assert guessed_markup(["# One\n\ntext", "text"]) == "markdown"
    assert guessed_markup(["text # not a heading"] * 20 + ["## One"]) == "text"
    assert guessed_markup([]) == "text"


def test_the_corpus_is_written_with_ids(tmp_path):
    bare = [Document("a/b.md", {"title": "t", "text": "body"})]
    found = draw("x", "p", BEIR_SOURCE, bare, JudgedQueries((Query("q", "t"),), {"q": {"a/b.md": 1}}), EVERYTHING)
    write_corpus(found, tmp_path / "corpus")
    assert (tmp_path / "corpus" / "corpus.jsonl").read_text() == '{"title":"t","text":"body","_id":"a/b.md"}\n'


@pytest.mark.parametrize(
    ("name", "wanted"), [("awsdocs_small", "awsdocs-small"), ("--", "collection"), ("A b" * 40, None)]
)
def test_slugs_are_parts_of_names(name, wanted):
    found = slug(name)
    assert wanted is None or found == wanted
    assert len(found) <= 32
    assert not found.startswith("-")
    assert not found.endswith("-")
