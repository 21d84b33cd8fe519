"""Splits: nothing straddles, nothing depends on the order of files, the held-out queries are read once."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import EvaluationError, UsageError
from idxopt.evaluation.datasets import load_dataset_folder
from idxopt.evaluation.judgments import JudgedQueries, Query, pair_with_judgments
from idxopt.optimizer.splits import gather, normalised_text, split_queries


def judged(*texts: str, prefix: str = "q") -> JudgedQueries:
    queries = [Query(f"{prefix}{number:03}", text) for number, text in enumerate(texts)]
    return pair_with_judgments(queries, {query.id: {"d": 1} for query in queries})


def parts(split) -> dict[str, str]:
    """query id -> part; opens the held-out queries."""
    sets = {"dev": split.dev, "test": split.test, "held-out": split.held_out.read("the test")}
    return {query_id: part for part, named in sets.items() for queries in named for query_id in queries.ids}


HUNDRED = judged(*(f"query number {number}" for number in range(100)))


def test_a_fifth_is_held_out_and_places_point_at_the_queries():
    gathered = gather({"main": HUNDRED})
    split = split_queries(gathered, seed=3)
    (dev,), (held_out,) = split.dev, split.held_out.read("the test")
    assert (dev.n, held_out.n, split.test) == (80, 20, ())
    for queries in (dev, held_out):
        assert [gathered.queries[place].id for place in queries.places] == list(queries.ids)
    assert not set(dev.ids) & set(held_out.ids)
    assert split.dev_ids == dev.ids


def test_half_for_the_test_leaves_a_fifth_of_the_rest_held_out():
    split = split_queries(gather({"main": HUNDRED}), seed=1, test=0.5)
    assert (split.dev[0].n, split.held_out.n, split.test[0].n) == (40, 10, 50)


def test_a_split_depends_on_the_seed_and_the_queries_not_on_their_order():
    shuffled = list(HUNDRED.queries)
    random.Random(4).shuffle(shuffled)
    again = JudgedQueries(tuple(shuffled), HUNDRED.qrels)
    one, other = (parts(split_queries(gather({"main": each}), seed=7, test=0.3)) for each in (HUNDRED, again))
    assert one == other
    assert parts(split_queries(gather({"main": HUNDRED}), seed=8, test=0.3)) != one


@given(
    st.lists(st.sampled_from("abcdefgh"), min_size=4, max_size=60), st.integers(0, 50), st.sampled_from([0, 0.3, 0.5])
)
def test_equal_texts_never_straddle_and_every_query_is_in_one_part(letters, seed, test):
    forms = ("{}?", "  {} ", "{}", "{}!!")
    texts = [
        forms[number % 4].format(letter.upper() if number % 3 else letter) for number, letter in enumerate(letters)
    ]
    gathered = gather({"main": judged(*texts)})
    found = parts(split_queries(gathered, seed=seed, test=test))
    assert sorted(found) == sorted(query.id for query in gathered.queries)
    by_text: dict[str, set[str]] = {}
    for query in gathered.queries:
        by_text.setdefault(normalised_text(query.text), set()).add(found[query.id])
    assert all(len(where) == 1 for where in by_text.values())


def test_texts_are_equal_but_for_case_space_and_punctuation():
    assert normalised_text("What  is STRASSE?") == normalised_text("what is straße")
    assert normalised_text("???") != normalised_text("!")
    assert normalised_text("a-b") != normalised_text("ab")


def test_several_sets_each_give_held_out_queries_and_share_no_text():
    other = judged(*(f"Query number {number}!" for number in range(40)), prefix="x")
    gathered = gather({"a": HUNDRED, "b": other})
    split = split_queries(gathered, seed=2)
    assert {queries.name: queries.n for queries in split.dev} == {"a": 80, "b": 32}
    found = parts(split)
    assert all(found[f"a/q{number:03}"] == found[f"b/x{number:03}"] for number in range(40))
    assert gathered.qrels["b/x000"] == {"d": 1}
    assert np.array_equal(split.dev_places, np.unique(np.concatenate([each.places for each in split.dev])))


def test_a_test_set_takes_equal_queries_of_other_sets_with_it():
    other = judged("query NUMBER 5", "a new one", prefix="x")
    split = split_queries(gather({"a": HUNDRED, "b": other}), test_sets=["b"])
    assert {queries.name: queries.ids for queries in split.test} == {"a": ("a/q005",), "b": ("b/x000", "b/x001")}


def test_held_out_queries_are_read_once():
    held_out = split_queries(gather({"main": HUNDRED})).held_out
    assert (held_out.n, held_out.read_by) == (20, None)
    held_out.read("the final cut")
    with pytest.raises(EvaluationError, match=r"read already \(the final cut\)"):
        held_out.read("somebody else")


def test_summaries_tell_splits_apart_and_open_nothing():
    one, same, other = (split_queries(gather({"main": HUNDRED}), seed=seed) for seed in (1, 1, 2))
    assert one.summary() == same.summary() != other.summary() | {"seed": 1}
    assert one.held_out.read_by is None


def test_what_makes_no_sense_is_refused():
    with pytest.raises(EvaluationError, match="no judged queries"):
        gather({})
    with pytest.raises(EvaluationError, match="is there twice"):
        gather({"a": judged("one", prefix="b/c"), "a/b": judged("two", prefix="c")})
    gathered = gather({"main": HUNDRED})
    with pytest.raises(UsageError, match="held-out"):
        split_queries(gathered, held_out=1.0)
    with pytest.raises(UsageError, match="no set 'x'"):
        split_queries(gathered, test_sets=["x"])
    with pytest.raises(EvaluationError, match="no dev query is left"):
        split_queries(gathered, test_sets=["main"])


def test_few_queries_still_leave_dev_queries():
    split = split_queries(gather({"main": judged("one")}))
    assert (split.dev[0].n, split.held_out.n) == (1, 0)


@pytest.mark.parametrize("name", ["covidqa_docs", "medquad_pages"])
def test_splits_of_real_queries_keep_duplicates_together(shared, name):
    gathered = gather({name: load_dataset_folder(shared / "datasets" / name)})
    found = parts(split_queries(gathered, seed=0, test=0.5))
    texts: dict[str, set[str]] = {}
    for query in gathered.queries:
        texts.setdefault(normalised_text(query.text), set()).add(found[query.id])
    assert all(len(where) == 1 for where in texts.values())
    n = len(gathered.queries)
    assert sum(part == "test" for part in found.values()) == pytest.approx(n / 2, abs=2)
