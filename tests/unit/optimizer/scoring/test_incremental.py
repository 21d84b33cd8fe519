"""What an evaluator has seen before changes no bit of what it says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idxopt.errors import IdxoptError
from idxopt.optimizer.ports import METRICS
from idxopt.optimizer.scoring import chunks, evaluator, searched, texts
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.program.schema import Program
from tests.unit.optimizer.scoring.drawing import CORPUS, QRELS, QUERIES, drawn

IDS = [query.id for query in QUERIES]
SEEDS = st.integers(0, 400)


def fresh() -> IncrementalEvaluator:
    return IncrementalEvaluator(CORPUS, QUERIES, QRELS)


def answer(one: IncrementalEvaluator, program: Program) -> tuple[object, ...]:
    """Rankings, values as bits, size; or the reason why there are none."""
    try:
        scores = one.scores(program)
        return (
            one.rankings(program, IDS, 1_000),
            [scores.values[metric].tobytes() for metric in METRICS],
            scores.size,
        )
    except IdxoptError as error:
        return type(error), error.message


@settings(max_examples=25)
@given(st.lists(SEEDS, min_size=2, max_size=6), st.randoms(use_true_random=False))
def test_one_evaluator_says_of_every_program_what_a_fresh_one_says(seeds, rng):
    one = fresh()
    expected = {seed: answer(fresh(), drawn(seed)) for seed in seeds}
    order = [*seeds, *seeds]
    rng.shuffle(order)
    for seed in order:
        assert answer(one, drawn(seed)) == expected[seed], seed


def test_drawn_programs_are_scored_not_refused():
    one = fresh()
    answers = [answer(one, drawn(seed)) for seed in range(60)]
    assert sum(not isinstance(found[0], type) for found in answers) > 50
    assert len({str(found) for found in answers}) > 35


def test_caches_that_hold_next_to_nothing_change_nothing(monkeypatch: pytest.MonkeyPatch):
    expected = {seed: answer(fresh(), drawn(seed)) for seed in range(12)}
    monkeypatch.setattr(evaluator, "_KEPT_PLACES", 20)
    monkeypatch.setattr(evaluator, "_KEPT_ENTRIES", 1)
    monkeypatch.setattr(searched, "_KEPT_POSTINGS", 1)
    monkeypatch.setattr(searched, "_KEPT_PLACED", 1)
    monkeypatch.setattr(evaluator, "_CELLS", 10)
    monkeypatch.setattr(texts, "_KEPT_CHARACTERS", 100)
    monkeypatch.setattr(texts, "_KEPT_CUT_ROWS", 5)
    monkeypatch.setattr(chunks, "_KEPT_BYTES", 10)
    monkeypatch.setattr(chunks, "_NUMBERED_CHARACTERS", 10)
    monkeypatch.setattr(searched, "_KEPT_ROWS", 5)
    one = fresh()
    for seed in [*range(12), *reversed(range(12))]:
        assert answer(one, drawn(seed)) == expected[seed]


def test_ways_that_pay_off_for_long_texts_change_nothing_for_short_ones(monkeypatch: pytest.MonkeyPatch):
    seeds = range(40)
    monkeypatch.setattr(searched, "_LONG", 10_000)
    expected = {seed: answer(fresh(), drawn(seed)) for seed in seeds}
    monkeypatch.setattr(searched, "_LONG", 0)
    monkeypatch.setattr(chunks, "_LONG", 0)
    one = fresh()
    for seed in seeds:
        assert answer(one, drawn(seed)) == expected[seed]


def test_rankings_of_some_queries_are_those_of_all():
    one, other = fresh(), fresh()
    for seed in range(10):
        whole = one.rankings(drawn(seed), IDS, 5)
        assert other.rankings(drawn(seed), IDS[3:6], 5) == {id: whole[id] for id in IDS[3:6]}
    assert np.isfinite(one.scores(drawn(1)).values[METRICS[0]]).all()
