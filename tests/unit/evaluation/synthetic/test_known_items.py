"""Texts of documents as queries, and the documents without them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.evaluation.synthetic.known_items import Candidate, Cut, candidates, cuts, of_kinds, texts_of, without
from idxopt.evaluation.synthetic.wording import cleaned, content_terms, content_words, is_personal, jaccard
from idxopt.operators.row import Document
from idxopt.program.schema import Source
from idxopt.text.structure import parse

SOURCE = Source(fields={"title": "title", "body": "text"}, markup="markdown")
PAGE = (
    "# Rotating API Keys Safely\n\n"
    "Old keys stay valid for 24 hours after rotation. Rotating API keys safely is what this page is about.\n\n"
    "## Keys of Expired Accounts\n\nThey are deleted.\n\n"
    "## keys of the expired account\n\nSaid twice.\n"
)
DOCUMENT = Document("d", {"title": "Rotating API Keys Safely", "text": PAGE, "lang": "en"})


def by_kind(document=DOCUMENT, source=SOURCE):
    found: dict[str, list[Candidate]] = {}
    for candidate in candidates(document, source):
        found.setdefault(candidate.kind, []).append(candidate)
    return found


def test_titles_headings_and_the_first_sentence():
    found = by_kind()
    assert [one.text for one in found["title"]] == ["Rotating API Keys Safely"]
    assert [one.text for one in found["heading"]] == [
        "Rotating API Keys Safely",
        "Keys of Expired Accounts",
        "keys of the expired account",
    ]
    assert [one.text for one in found["sentence"]] == ["Old keys stay valid 24 hours rotation"]


def test_of_some_kinds_each_text_once():
    every = candidates(DOCUMENT, SOURCE)
    both = of_kinds(every, ["title", "heading"])
    assert [(one.kind, one.text) for one in both] == [
        ("title", "Rotating API Keys Safely"),
        ("heading", "Keys of Expired Accounts"),
    ]
    alone = of_kinds(every, ["heading"])
    assert [one.text for one in alone] == ["Keys of Expired Accounts"], "the first heading is the title"


def test_every_copy_of_the_text_is_removed_and_nothing_else():
    title = by_kind()["title"][0]
    changed = without(DOCUMENT, SOURCE, cuts(DOCUMENT, SOURCE, title))
    assert changed.source["title"] == ""
    assert changed.source["text"] == PAGE.removeprefix("# Rotating API Keys Safely\n")
    assert changed.source["lang"] == "en"
    assert DOCUMENT.source["text"] == PAGE, "the original is as it was"
    heading = by_kind()["heading"][1]
    text = without(DOCUMENT, SOURCE, cuts(DOCUMENT, SOURCE, heading)).source["text"]
    assert [one.text for one in parse(text, "markdown").headings] == ["Rotating API Keys Safely"]
    assert "They are deleted." in text
    assert "Said twice." in text


def test_a_first_sentence_is_removed_whole():
    sentence = by_kind()["sentence"][0]
    text = without(DOCUMENT, SOURCE, cuts(DOCUMENT, SOURCE, sentence)).source["text"]
    assert "Old keys" not in text
    assert "Rotating API keys safely is what" in text


def test_texts_below_dotted_paths_and_in_keys_with_dots():
    source = Source(fields={"title": "meta.name", "body": "a.b"}, markup="markdown")
    document = Document("d", {"meta": {"name": "Slow Query Log", "n": 1}, "a.b": "## Reading Slow Logs\n\nText."})
    title, heading, _ = candidates(document, source)
    changed = without(document, source, [*cuts(document, source, title), *cuts(document, source, heading)])
    assert changed.source == {"meta": {"name": "", "n": 1}, "a.b": "\nText."}


def test_lists_and_numbers_give_no_query_and_stay():
    document = Document("d", {"title": ["Two", "Titles"], "text": 7})
    assert texts_of(document, SOURCE) == {}
    assert candidates(document, SOURCE) == []


def test_a_question_is_no_copy():
    text = "Rotating API Keys Safely"
    assert cuts(DOCUMENT, SOURCE, Candidate("d", "question", text, content_terms(text))) == ()


@given(st.text(alphabet="ab#. \n-*`>|<", max_size=80), st.data())
def test_what_is_left_is_the_text_without_the_cuts(text, data):
    document = Document("d", {"text": text})
    found = candidates(document, SOURCE)
    if not found:
        return
    candidate = data.draw(st.sampled_from(found))
    places = cuts(document, SOURCE, candidate)
    assert places
    left = without(document, SOURCE, places).source["text"]
    gone = {at for cut in places for at in range(cut.start, cut.end)}
    assert left == "".join(character for at, character in enumerate(text) if at not in gone)


def test_overlapping_cuts_are_removed_once():
    document = Document("d", {"text": "0123456789"})
    changed = without(document, SOURCE, [Cut("body", 4, 8), Cut("body", 2, 6), Cut("body", 5, 6)])
    assert changed.source["text"] == "0189"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("Step 3: Create the  role", "Create the role"),
        ("2.1. Limits of\nservices", "Limits of services"),
        ("What is (are) Lupus ?", "What is (are) Lupus?"),
        ("**Note**:", "Note"),
        ("3 ways to fail", "3 ways to fail"),
        ("A plan B", "A plan B"),
    ],
)
def test_cleaning(text, clean):
    assert cleaned(text) == clean


def test_content_words_and_terms():
    assert content_words("How do I rotate the API Keys?") == ["rotate", "API", "Keys"]
    assert content_terms("Rotating the keys") == content_terms("KEY rotates")
    assert jaccard(frozenset("abcd"), frozenset("bcde")) == 3 / 5
    assert jaccard(frozenset(), frozenset()) == 0


@pytest.mark.parametrize(
    "text", ["mail to ann.b@example.org now", "call +1 (555) 123-4567", "card 4111 1111 1111 1111"]
)
def test_personal(text):
    assert is_personal(text)


@pytest.mark.parametrize("text", ["http 404 error", "windows 2019 to 2022", "@mentions in chat", "port 65535"])
def test_not_personal(text):
    assert not is_personal(text)
