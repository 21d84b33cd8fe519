"""The generator without weights: what it chooses is in the text, and always the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import ModelError, ProgramError
from idxopt.models.extractive import TASKS, Extractive
from idxopt.models.ports import Prompt
from idxopt.models.prompts import TextRequest, answer_of, prompt
from idxopt.operators.fidelity import acronyms_in, numbers_in
from tests.unit.operators.generating import enrich, generating, made_of, rows_of

GUIDE = """# Guide to shards

A shard is a part of an index. It is nice to know that shards exist, and many people like them very much.

## Installing the tool

Run the installer. The installer needs 512 MB of memory because it unpacks the whole index at once.

## Limits

An index has at most 1,024 shards. Therefore a large index is split over several nodes. The JVM of a node must have
enough heap for the shards of an index.
"""


def asked(task, text, **options):
    request = TextRequest(task, text, {"markup": "markdown", **options})
    return answer_of(request, Extractive().generate(prompt(request, len)).text)


def test_a_summary_is_made_of_sentences_of_the_text():
    summary = asked("summary", GUIDE)
    plain = " ".join(GUIDE.split())
    assert all(sentence.strip(" .") in plain for sentence in summary.split(". "))
    assert 0 < len(summary) < len(plain) / 2


def test_keywords_are_the_frequent_content_words_first():
    assert asked("keywords", GUIDE, count=3) == ["shards", "index", "guide"]


def test_questions_come_from_headings_and_definitions():
    assert asked("questions", GUIDE, count=9) == [
        "What is said about Guide to shards?",
        "How does installing the tool work?",
        "What is said about Limits?",
        "What is a shard?",
    ]


def test_a_mindmap_has_the_heading_tree():
    lines = asked("mindmap", GUIDE).split("\n")
    assert next(line for line in lines if line.count(">") < 2 and "Limits" in line) == "Guide to shards > Limits"
    assert "Guide to shards > Limits > index" in lines


def test_restructuring_keeps_numbers_acronyms_and_conclusions():
    part = (
        "It is a truth widely known that gardens are lovely. Many people walk through them on quiet evenings. "
        "They look at flowers and trees there. The GPU needs 300 W under load. Therefore the fan must run. "
        "Others prefer the sea and its waves."
    )
    (made,) = asked("restructure", part, path=[], parts=[part])
    assert "The GPU needs 300 W under load. Therefore the fan must run." in made
    assert len(made) < len(part)


@given(st.text(max_size=400) | st.lists(st.sampled_from(GUIDE.split(" ")), max_size=80).map(" ".join))
def test_a_compressed_part_has_every_number_and_nothing_new(part):
    request = TextRequest("restructure", part, {"path": [], "parts": [part]})
    (made,) = json.loads(Extractive().generate(prompt(request, len)).text)["parts"]
    assert numbers_in(made) == numbers_in(part)
    assert acronyms_in(made) == acronyms_in(part)
    assert not set(made.split()) - set(part.split())
    assert Extractive().generate(prompt(request, len)) == Extractive().generate(prompt(request, len))


@given(st.sampled_from(TASKS), st.text(max_size=300), st.sampled_from(["markdown", "html", "rest", "asciidoc", "text"]))
def test_any_text_gets_an_answer_or_none(task, text, markup):
    made = made_of(generating(enrich(task), markup=markup), text)
    assert made is None or made


def test_paraphrases_are_refused():
    with pytest.raises(ModelError, match="choosing sentences"):
        Extractive().generate(Prompt("paraphrase", "A text."))
    with pytest.raises(ProgramError, match="name a language model"):
        rows_of(generating(enrich("paraphrase")), GUIDE)


def test_questions_become_rows():
    rows = rows_of(generating(enrich("questions", rows=True, into="body")), GUIDE)
    assert [row.fields["body"] for row in rows] == asked("questions", GUIDE)
    assert {row.fields["title"] for row in rows} == {"Title"}
    assert all("body" in row.changed for row in rows)


def test_a_text_without_questions_stays_one_row():
    (row,) = rows_of(generating(enrich("questions", rows=True, into="body")), "nothing to ask here")
    assert row.fields["body"] == "nothing to ask here"
    (empty,) = rows_of(generating(enrich("summary")), "  \n ")
    assert "made" not in empty.fields


def test_keywords_of_a_generator_need_no_corpus_tables():
    assert made_of(generating(enrich("keywords", top=2)), GUIDE) == ["shards", "index"]


def test_identity_and_price():
    assert Extractive().price == (0.0, 0.0)
    assert Extractive().identity.id == "extractive"
    assert Extractive().count_tokens("two words") == 2
