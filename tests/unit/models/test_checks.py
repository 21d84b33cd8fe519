"""H22: a vector or score that cannot be used is an error that names its text, never an answer."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from idxopt.errors import ModelError
from idxopt.models.checks import usable_scores, usable_vectors, with_item

GOOD = [[1.0, 2.0, 2.0]] * 8


def usable(vectors, texts=8, dimension: int | None = 3, similarity="cosine"):
    return usable_vectors(vectors, texts=texts, dimension=dimension, similarity=similarity, place="models.x")


def spoiled(row):
    return [*GOOD[:3], row, *GOOD[4:]]


BAD_ROWS = {
    "null": None,
    "nulls": [None, None, None],
    "NaN": [1.0, math.nan, 0.0],
    "infinity": [1.0, math.inf, 0.0],
    "beyond float32": [1e300, 0.0, 0.0],
    "zeros": [0.0, 0.0, 0.0],
    "text": "0.1",
    "texts": ["a", "b", "c"],
    "a number": 1.0,
    "short": [1.0, 2.0],
    "long": [1.0, 2.0, 2.0, 1.0],
    "nested": [[1.0], [2.0], [3.0]],
}


@pytest.mark.parametrize("row", BAD_ROWS.values(), ids=BAD_ROWS)
def test_the_bad_vector_is_named(row):
    with pytest.raises(ModelError) as caught:
        usable(spoiled(row))
    assert caught.value.item == 3
    assert "text 3" in caught.value.message
    assert caught.value.place == "models.x"


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 0.0])
def test_arrays_are_looked_at_as_lists_are(value):
    rows = np.ones((8, 3), np.float32)
    rows[3] = value
    with pytest.raises(ModelError) as caught:
        usable(rows)
    assert caught.value.item == 3


@pytest.mark.parametrize("count", [0, 7, 9])
def test_a_missing_or_spare_vector_is_refused(count):
    with pytest.raises(ModelError, match=f"{count} vectors came back for 8 texts"):
        usable([GOOD[0]] * count)


def test_something_else_than_a_list_is_refused():
    with pytest.raises(ModelError, match="0 vectors"):
        usable({"0": GOOD[0]})


def test_another_dimension_everywhere_is_refused():
    with pytest.raises(ModelError, match="has 3 dimensions, not 4"):
        usable(GOOD, dimension=4)
    assert usable(GOOD, dimension=None).shape == (8, 3)


def test_cosine_has_length_1_and_others_stay():
    assert usable(GOOD)[0] == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert usable(GOOD, similarity="dot")[0].tolist() == [1.0, 2.0, 2.0]


@given(arrays(np.float32, (5, 7), elements=st.floats(-100, 100, width=32)), st.permutations(range(5)))
def test_a_vector_s_bits_do_not_depend_on_its_place(rows, order):
    rows = rows + np.float32(1000)  # no zero vector
    whole = usable(rows, texts=5, dimension=7)
    for place, row in enumerate(usable(rows[list(order)], texts=5, dimension=7)):
        assert row.tobytes() == whole[order[place]].tobytes()
    assert usable(rows[2:3], texts=1, dimension=7)[0].tobytes() == whole[2].tobytes()


@pytest.mark.parametrize("score", [math.nan, math.inf, None, "0.5", True, [0.5]])
def test_the_bad_score_is_named(score):
    with pytest.raises(ModelError, match="text 1") as caught:
        usable_scores([0.5, score, 0.1], texts=3, place="models.x")
    assert caught.value.item == 1


def test_scores_are_floats_and_complete():
    assert usable_scores([1, np.float32(0.5)], texts=2, place="models.x") == [1.0, 0.5]
    with pytest.raises(ModelError, match="1 scores came back for 2 texts"):
        usable_scores([1.0], texts=2, place="models.x")


def test_an_error_moves_to_the_caller_s_position():
    moved = with_item(ModelError("the vector of text 3 is all zeros", place="p", remedy="r", item=3), 1003)
    assert (moved.item, moved.message, moved.place, moved.remedy) == (
        1003,
        "the vector of text 1003 is all zeros",
        "p",
        "r",
    )
