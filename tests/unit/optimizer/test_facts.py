"""Facts of a corpus, and kinds of queries."""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import pytest

from idxopt.evaluation.judgments import Query
from idxopt.operators.row import Document
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.diagnosis.facts import corpus_facts, sampled
from idxopt.optimizer.diagnosis.slices import content_words, kind_of, kinds_of, slices
from idxopt.program.schema import Source

SOURCE = Source(fields={"title": "title", "body": "text"})


def corpus(*texts: str, title: str = "") -> Corpus:
    return Corpus.of(Document(f"d{number:04}", {"title": title, "text": text}) for number, text in enumerate(texts))


@pytest.mark.parametrize(
    ("fact", "there", "absent"),
    [
        ("headings", "intro\n\n## Setup\n\ntext", "```\n# a comment\n```\ntext #1"),
        ("headings", "Title\n=====\n\ntext", "a = b\nc == d"),
        ("html", "<p>one</p>", "a < b and c > d"),
        ("code_blocks", "run\n```sh\nls\n```\n", "run `ls`"),
        ("tables", "| a | b |\n| --- | --- |\n| 1 | 2 |", "a - b\n---\n"),
        ("lists", "- one\n- two", "well-known - and so on"),
        ("identifiers", "call getUserName, max_size and os.path", "McDonald met MacArthur; e.g. at www.mc_a.org/b_c"),
        ("acronyms", "the Elastic Block Store (EBS)", "the store (ABC) and EBS"),
    ],
)
def test_a_share_counts_the_documents_that_have_any(fact: str, there: str, absent: str):
    found = corpus_facts(corpus(there, absent, absent, absent), SOURCE)
    assert getattr(found, fact) == 0.25


def test_repeated_characters_are_those_of_lines_in_twenty_documents():
    texts = [f"own {number}aa\nfooter" for number in range(10, 30)]
    assert corpus_facts(corpus(*texts), SOURCE).repeated_characters == pytest.approx(6 / 15)
    assert corpus_facts(corpus(*texts[:19]), SOURCE).repeated_characters == 0


def test_a_title_in_the_body_is_found_behind_markup_and_only_at_its_beginning():
    later = "x " * 200 + "Get Item"
    found = corpus_facts(corpus("# Get  item\n\ntext", "Get itemised lists", later, "other", title="Get Item"), SOURCE)
    assert found.title_in_body == 0.25


def test_fields_are_measured_where_they_are_present():
    documents = [
        Document("a", {"title": "One", "text": "a b c d"}),
        Document("b", {"title": "one ", "text": "a b"}),
        Document("c", {"text": "a b c d e f"}),
        Document("d", {"title": None, "text": ""}),
    ]
    found = corpus_facts(Corpus.of(documents), SOURCE)
    assert (found.fields["title"].present, found.fields["title"].distinct) == (0.5, 0.5)
    assert (found.fields["body"].present, found.fields["body"].mean_words) == (0.75, 4.0)
    assert (found.title, found.body) == ("title", "body")


def test_title_and_body_are_found_by_length_where_their_names_are_others():
    source = Source(fields={"abstract": "abstract", "headline": "headline", "tags": "tags"})
    documents = [Document("a", {"abstract": "one two three four", "headline": "one two three", "tags": "one"})]
    found = corpus_facts(Corpus.of(documents), source)
    assert (found.title, found.body) == ("tags", "abstract")
    alone = corpus_facts(Corpus.of(documents), Source(fields={"title": "abstract"}))
    assert (alone.title, alone.body) == (None, "title")


def test_an_empty_corpus_has_none_of_anything():
    found = corpus_facts(Corpus.of([]), SOURCE)
    assert (found.documents, found.sampled, found.headings, found.markup) == (0, 0, 0.0, "text")


def test_the_sample_is_spread_over_all_documents_and_never_larger_than_asked():
    documents = [Document(f"{number:05}", {}) for number in range(2_500)]
    sample = sampled(documents)
    assert len(sample) == len({document.id for document in sample}) == 1_000
    assert sample[0] is documents[0]
    assert int(sample[-1].id) > 2_490
    assert sampled(documents[:7]) == documents[:7]


@pytest.mark.parametrize("text", ["aB" * 200_000, "<a " * 100_000, "a_" * 200_000, "|-" * 200_000, "x@" * 200_000])
def test_hostile_texts_take_linear_time(text: str):
    start = time.process_time()
    corpus_facts(corpus(text), SOURCE)
    assert time.process_time() - start < 5


def test_markup_is_guessed_from_the_bodies(shared: Path):
    def facts(name: str) -> tuple[str, float]:
        with gzip.open(shared / "datasets" / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
            documents = [Document(plain["_id"], plain) for plain in map(json.loads, lines)]
        found = corpus_facts(Corpus.of(documents), SOURCE)
        assert found.sampled == 1_000
        return found.markup, round(found.title_in_body, 1)

    assert facts("awsdocs_small") == ("markdown", 0.9)
    assert facts("scifact") == ("text", 0.0)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("how does getUserName work?", ("identifier", "question", "short")),
        ("std::vector growth", ("identifier", "short")),
        ("is the wing stable", ("question", "short")),
        ("wing stability in supersonic flow today", ("other",)),
        ("one two three four five six seven eight nine ten eleven twelve", ("long",)),
        ("", ("short",)),
    ],
)
def test_kinds_of_queries(text: str, kinds: tuple[str, ...]):
    assert kinds_of(text) == kinds
    assert kind_of(text) == kinds[0]


def test_slices_hold_the_places_of_their_queries():
    queries = [Query("1", "is it?"), Query("2", "max_size"), Query("3", "wing stability in supersonic flow today")]
    found = {kind: places.tolist() for kind, places in slices(queries).items()}
    assert found == {"identifier": [1], "question": [0], "short": [0, 1], "other": [2]}


def test_content_words_leave_stop_words_out_unless_there_is_nothing_else():
    assert content_words("What is the BatchGetItem of an item, Item?") == ["BatchGetItem", "item"]
    assert content_words("to be or not to be") == ["to", "be", "or", "not"]
