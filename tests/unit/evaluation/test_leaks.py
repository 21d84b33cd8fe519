"""What makes judged figures say less: missing documents, near-duplicates, copied queries."""

import gzip
import itertools
import json
import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import EvaluationError
from idxopt.evaluation.datasets import load_dataset_folder
from idxopt.evaluation.judgments import Query
from idxopt.evaluation.leaks import copied_queries, find_leaks, missing_documents, near_duplicates

WORDS = [f"w{number}" for number in range(5_000)]


def text(seed: int, length: int = 300) -> list[str]:
    return random.Random(seed).choices(WORDS, k=length)


def jaccard(one: str, other: str) -> float:
    shingles = [
        {tuple(words[place : place + 5]) for place in range(max(1, len(words) - 4))}
        for words in (one.split(), other.split())
    ]
    return len(shingles[0] & shingles[1]) / len(shingles[0] | shingles[1])


def test_judged_documents_that_are_missing_are_an_error_that_names_some():
    qrels = {"1": {"a": 1, "gone": 1}, "2": {"gone": 0, "away": 2}}
    with pytest.raises(
        EvaluationError, match="2 of 3 judged documents are not in the corpus, for example 'away', 'gone'"
    ):
        missing_documents(qrels, ["a", "b"])
    found = missing_documents(qrels, ["a", "b"], allow_missing=True)
    assert (found.documents, found.judgments, found.judged, found.examples) == (2, 3, 3, ("away", "gone"))


def test_all_missing_is_an_error_even_where_some_may_be():
    with pytest.raises(EvaluationError, match="none of the 2 judged documents is in the corpus, for example 'a', 'b'"):
        missing_documents({"1": {"a": 1}, "2": {"b": 1}}, ["./a", "./b"], allow_missing=True)


def test_nothing_missing():
    assert missing_documents({"1": {"a": 1}}, {"a"}).documents == 0


def test_equal_words_are_one_group_whatever_their_case_and_punctuation():
    texts = {"b": "Red, GREEN; blue!", "a": "red green blue", "c": "red green", "empty": "...", "none": ""}
    found = near_duplicates(texts)
    assert found.groups == (("a", "b"),)
    assert (found.exact, found.documents, found.compared) == (2, 2, 5)


def test_few_changed_words_are_near_many_are_not():
    words = text(1, 400)
    few, many = words.copy(), words.copy()
    few[100] = few[300] = "other"
    for place in range(0, 400, 40):
        many[place] = "other"
    texts = {"a": " ".join(words), "few": " ".join(few), "many": " ".join(many), "z": " ".join(text(2))}
    assert jaccard(texts["a"], texts["few"]) > 0.94
    assert jaccard(texts["a"], texts["many"]) < 0.85
    found = near_duplicates(texts)
    assert found.groups == (("a", "few"),)
    assert found.exact == 0


def test_no_near_pair_is_missed_and_none_is_invented():
    """200 documents, pairs at all similarities: the groups are those of the exact comparison of all pairs."""
    texts: dict[str, str] = {}
    for number in range(100):
        words = text(number)
        changed = words.copy()
        for place in random.Random(number).sample(range(300), number % 12):
            changed[place] = "x"
        texts |= {f"{number:03}a": " ".join(words), f"{number:03}b": " ".join(changed)}
    pairs = {
        (one, other)
        for one, other in itertools.combinations(sorted(texts), 2)
        if one[:3] == other[:3] and jaccard(texts[one], texts[other]) >= 0.9
    }
    assert 20 < len(pairs) < 60
    assert set(near_duplicates(texts).groups) == pairs


def test_thousands_of_copies_stay_cheap():
    words = text(7)
    texts = {f"d{number:04}": " ".join([*words, str(number)]) for number in range(2_000)}
    started = time.perf_counter()
    found = near_duplicates(texts)
    assert time.perf_counter() - started < 20
    assert [len(group) for group in found.groups] == [2_000]
    assert found.exact == 0


@given(st.dictionaries(st.text(min_size=1, max_size=3), st.text(max_size=60), max_size=8))
def test_any_text_is_taken(texts):
    found = near_duplicates(texts)
    assert found.compared == len(texts)
    assert all(len(group) > 1 for group in found.groups)


def test_queries_that_stand_in_a_relevant_document_are_found():
    texts = {"d1": "Now: the quick brown fox, jumps high. End", "d2": "the quick brown fox", "d3": "nothing"}
    queries = [
        Query("1", "the quick brown fox jumps high?"),
        Query("2", "the quick brown fox"),  # too short
        Query("3", "quick the brown fox jumps high"),  # another order
        Query("4", "the quick brown fox jumps high"),  # only in a document that is not relevant
        Query("5", "he quick brown fox jumps high"),  # no whole words
        Query("6", "the quick brown fox jumps high"),  # no judgments
    ]
    qrels = {key: {"d1": 1} for key in "1235"} | {"4": {"d1": 0, "d3": 1}}
    found = copied_queries(queries, qrels, texts)
    assert found.copies == (("1", "d1"),)
    assert found.eligible == 4


def test_what_was_found_is_said_in_sentences():
    texts = {"a": "one two three four five six", "b": "one two three four five six"}
    leaks = find_leaks(texts, [Query("1", "one two three four five six")], {"1": {"a": 1, "x": 1}}, allow_missing=True)
    missing, duplicates, copied = leaks.sentences
    assert missing.startswith("1 of 2 judged documents are not in the corpus")
    assert duplicates.startswith("2 of 2 documents are near-duplicates of another, in 1 group (2 with equal words)")
    assert copied.startswith("1 of 1 queries of 6 words or more stand word for word")
    clean = find_leaks({"a": "one"}, [Query("1", "two")], {"1": {"a": 1}})
    assert clean.sentences == ()


def test_scifact_takes_seconds_and_lists_what_it_holds(shared):
    folder = shared / "datasets" / "scifact"
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        documents = [json.loads(line) for line in lines]
    texts = {each["_id"]: f"{each['title']}\n{each['text']}" for each in documents}
    judged = load_dataset_folder(folder)
    started = time.process_time()
    leaks = find_leaks(texts, judged.queries, judged.qrels)
    assert time.process_time() - started < 5
    assert (leaks.missing.documents, leaks.duplicates.groups) == (0, ())
    assert leaks.copied.copies == (("845", "17741440"),)
