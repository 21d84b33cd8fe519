"""H23: batches of like length, halved when the memory is short, results in the order of the texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import ModelError
from idxopt.models.batches import DeviceFull, batches, run_in_batches

LENGTHS = st.lists(st.integers(0, 600), max_size=60)


RUN_COSTS = st.none() | st.integers(0, 64)


@given(LENGTHS, st.integers(16, 2000), st.booleans(), RUN_COSTS)
def test_every_text_is_in_one_batch_within_the_budget(lengths, budget, single, run_cost):
    found = batches(lengths, budget, single=single, run_cost=run_cost)
    assert sorted(place for batch in found for place in batch) == list(range(len(lengths)))
    for batch in found:
        padded = len(batch) * max(lengths[place] for place in batch)
        assert len(batch) == 1 or (padded <= budget and not single)


@given(LENGTHS, st.integers(16, 2000), st.integers(0, 64))
def test_the_cheapest_batches_cost_no_more_than_full_ones_or_single_texts(lengths, budget, run_cost):
    def cost(found: list[list[int]]) -> int:
        return sum(run_cost + len(batch) * max(1, *(lengths[place] for place in batch)) for batch in found)

    least = cost(batches(lengths, budget, run_cost=run_cost))
    assert least <= cost(batches(lengths, budget))
    assert least <= cost(batches(lengths, budget, single=True))


def test_padding_is_weighed_against_one_more_run():
    assert batches([50, 48, 10, 9], 1000) == [[0, 1, 2, 3]]
    assert batches([50, 48, 10, 9], 1000, run_cost=16) == [[0, 1], [2, 3]]
    assert batches([50, 48, 10, 9], 1000, run_cost=100) == [[0, 1, 2, 3]]


def test_texts_of_like_length_go_together():
    assert batches([10, 500, 12, 480, 11], 1000) == [[1, 3], [2, 4, 0]]


@given(LENGTHS, st.integers(16, 2000), st.integers(1, 8))
def test_short_memory_changes_neither_count_nor_order(lengths, budget, fits):
    """Out of memory for every batch of more than `fits` texts."""

    def run(batch: list[int]) -> list[str]:
        if len(batch) > fits:
            raise DeviceFull
        return [f"result {place}" for place in batch]

    said: list[int] = []
    found = run_in_batches(lengths, budget, run, place="x", on_progress=lambda done, _: said.append(done))
    assert found == [f"result {place}" for place in range(len(lengths))]
    assert said == sorted(said)
    assert said[-1:] == ([len(lengths)] if lengths else [])


def test_the_second_batch_is_out_of_memory_once():
    calls: list[list[int]] = []

    def run(batch: list[int]) -> list[int]:
        calls.append(batch)
        if len(calls) == 2:
            raise DeviceFull
        return batch

    lengths = [5, 90, 7, 80, 6, 70]
    assert run_in_batches(lengths, 180, run, place="x") == list(range(6))
    assert calls[1] == calls[2] + calls[3]


def test_a_text_that_does_not_fit_alone_is_named():
    def run(batch: list[int]) -> list[int]:
        if 4 in batch:
            raise DeviceFull
        return batch

    with pytest.raises(ModelError, match="text 4 alone") as caught:
        run_in_batches([1, 2, 3, 4, 500, 6], 10_000, run, place="x")
    assert caught.value.item == 4


def test_a_batch_with_another_number_of_results_is_refused():
    with pytest.raises(ModelError, match="1 results for 3 texts"):
        run_in_batches([1, 1, 1], 100, lambda batch: batch[:1], place="x")
