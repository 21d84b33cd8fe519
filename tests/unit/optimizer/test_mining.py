"""Term tables mined from documents: what they find, what they must not, and how long they take on real collections."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from idxopt.operators.row import Document
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.mining import sample
from idxopt.optimizer.mining.acronyms import acronym_table
from idxopt.optimizer.mining.synonyms import synonym_table
from idxopt.program.schema import Source
from idxopt.program.validate import program_from

SOURCE = Source(fields={"title": "title", "body": "text"})


def corpus(*texts: str) -> Corpus:
    return Corpus.of(Document(f"d{number}", {"title": "", "text": text}) for number, text in enumerate(texts))


def twice(*texts: str) -> Corpus:
    return corpus(*texts, *texts)


def test_an_acronym_is_found_in_both_directions():
    table = acronym_table(corpus("Use Elastic Block Store (EBS) volumes.", "EBS is fast."), SOURCE)
    assert table == {"EBS": ["Elastic Block Store"], "Elastic Block Store": ["EBS"]}


def test_expansions_that_differ_by_case_or_plural_are_one():
    table = acronym_table(
        corpus("A dendritic cell (DC).", "Many Dendritic Cells (DC).", "The dendritic cell (DC) again."), SOURCE
    )
    assert table["DC"] == ["dendritic cell"]


def test_a_rare_meaning_of_an_acronym_is_left_out():
    texts = ["virtual private cloud (VPC)"] * 9 + ["very poor coffee (VPC)"]
    assert acronym_table(corpus(*texts), SOURCE)["VPC"] == ["virtual private cloud"]


def test_an_acronym_that_is_a_common_word_is_left_out():
    table = acronym_table(corpus("acute lymphoblastic leukemia (ALL)", "all of it", "all"), SOURCE)
    assert table == {}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("a dataset here", "a data set here"),
        ("send an email now", "send an e-mail now"),
        ("the tumour grows", "the tumor grows"),
        ("it was organised so", "it was organized so"),
        ("in self-defence", "in self-defense"),
        ("the centre of it", "the center of it"),
        ("severe anaemia", "severe anemia"),
        ("Sj\u00f6gren disease", "Sjogren disease"),
        ("diabetes of type II", "diabetes of type 2"),
    ],
)
def test_two_forms_of_one_word_are_found(one: str, other: str):
    table = synonym_table(twice(one, other), SOURCE)
    (first, second) = table
    assert table == {first: [second], second: [first]}
    assert {first in one.lower(), second in one.lower()} == {True, False}
    assert {first in other.lower(), second in other.lower()} == {True, False}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("into the house", "in to the house"),  # function words
        ("however it is", "how ever it is"),
        ("many cats", "one cat"),  # the stemmer's business
        ("labelled so", "labeled so"),
        ("poets write", "pets bark"),
        ("filling a form", "filing a form"),
        ("four of them", "for them"),
        ("see https://example.org/userguide/x", "the user guide says"),  # joined by an address
        ("my data. Set it", "a dataset"),  # a sentence ends between them
    ],
)
def test_what_only_looks_like_another_form_is_left_out(one: str, other: str):
    assert synonym_table(twice(one, other), SOURCE) == {}


def test_one_document_is_no_evidence():
    assert synonym_table(corpus("a dataset", "a data set"), SOURCE) == {}


def test_a_chance_meeting_of_two_words_is_no_form_of_a_common_word():
    texts = ["manage it"] * 400 + ["a man age 40"] * 3
    assert synonym_table(corpus(*texts), SOURCE) == {}


def test_tables_are_bounded_and_fit_the_steps_that_read_them():
    names = [f"{letter}ab{other}our" for letter in "bcdfghjklmnp" for other in "bcdfghjklmnp"]
    found = twice(" ".join(names), " ".join(name.replace("our", "or") for name in names))
    table = synonym_table(found, SOURCE, limit=50)
    assert len(table) == 50
    steps = [
        {"op": "enrich", "with": "synonyms", "into": "also", "table": table},
        {"op": "normalize", "scheme": "terms", "keep_original": True, "table": table},
    ]
    program_from(
        {
            "schema": "idxopt/1",
            "name": "mined",
            "source": {"fields": {"body": "text"}},
            "views": {"content": {"steps": steps, "lexical": {"fields": {"body": {}, "also": {}}}}},
        },
        "program",
    )
    pairs = [f"Alpha{name} Beta{name} Gamma{name} (ABG)" for name in names]
    assert len(acronym_table(corpus(*pairs), SOURCE, limit=3)) <= 3


def test_fields_can_be_chosen():
    documents = Corpus.of([Document("a", {"title": "Elastic Block Store (EBS)", "text": "Simple Queue (SQ)"})])
    assert set(acronym_table(documents, SOURCE, ["title"])) == {"EBS", "Elastic Block Store"}
    assert len(acronym_table(documents, SOURCE)) == 4


def test_a_large_corpus_is_sampled_the_same_way_each_time(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sample, "MAX_CHARACTERS", 1_000)
    many = corpus(*[f"text {number} " * 10 for number in range(500)])
    read = list(sample.texts(many, SOURCE))
    assert 500 < sum(map(len, read)) <= 2_000
    assert read == list(sample.texts(many, SOURCE))


def real(folder: Path) -> Corpus:
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        records = [json.loads(line) for line in lines]
    return Corpus.of(Document(str(record.pop("_id")), record) for record in records)


@pytest.mark.parametrize(
    ("name", "acronyms", "synonyms"),
    [
        ("medquad_pages", {"MRI": ["magnetic resonance imaging"]}, {"healthcare": ["health care"]}),
        ("awsdocs_small", {"IAM": ["Identity and Access Management"]}, {"dataset": ["data set"]}),
    ],
)
def test_real_collections(
    shared: Path, name: str, acronyms: dict[str, Sequence[str]], synonyms: dict[str, Sequence[str]]
):
    documents = real(shared / "datasets" / name)
    start = time.process_time()
    found, variants = acronym_table(documents, SOURCE), synonym_table(documents, SOURCE)
    assert time.process_time() - start < 15  # 3 seconds on an idle core
    assert acronyms.items() <= found.items()
    assert synonyms.items() <= variants.items()
    assert max(len(found), len(variants)) <= 2_000
