"""The scheduler alone, with a clock that the test moves: every text once, in budget, never held beyond the wait."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.sidecar.scheduler import BatchLimits, Item, QueueFull, Run, Scheduler, TooLong, Wait

LIMITS = BatchLimits(batch_tokens=100, wait_s=0.01, queue=1_000)


def run(scheduler: Scheduler, now: float, free_since: float) -> tuple[Item, ...]:
    """What runs now, and it is done at once."""
    decision = scheduler.decide(now, free_since)
    assert isinstance(decision, Run)
    scheduler.finished()
    return decision.items


def test_a_lone_client_never_waits():
    scheduler = Scheduler(LIMITS)
    now = 0.0
    for _ in range(3):
        scheduler.offer([5], now)
        assert len(run(scheduler, now, now)) == 1
        now += 0.5


def test_a_free_model_waits_for_those_that_were_there_a_moment_ago():
    scheduler = Scheduler(LIMITS)
    for _ in range(3):
        scheduler.offer([5], 0.0)
    assert len(run(scheduler, 0.0, 0.0)) == 3
    scheduler.offer([5], 1.0)
    assert scheduler.decide(1.0, 1.0) == Wait(1.01)
    scheduler.offer([5], 1.002)
    assert scheduler.decide(1.002, 1.0) == Wait(1.01)
    scheduler.offer([5], 1.003)
    assert len(run(scheduler, 1.003, 1.0)) == 3  # all are back: nobody to wait for


def test_it_waits_no_longer_than_it_may_and_then_expects_fewer():
    scheduler = Scheduler(LIMITS)
    for _ in range(3):
        scheduler.offer([5], 0.0)
    run(scheduler, 0.0, 0.0)
    scheduler.offer([5], 1.0)
    assert len(run(scheduler, 1.01, 1.0)) == 1
    scheduler.offer([5], 2.0)
    assert len(run(scheduler, 2.0, 2.0)) == 1


def test_requests_take_turns_and_long_texts_go_first_within_one():
    scheduler = Scheduler(LIMITS)
    bulk = scheduler.offer([10, 30, 20, 30, 10, 30], 0.0)
    single = scheduler.offer([40], 0.0)
    first = run(scheduler, 0.0, 0.0)
    assert [(item.ticket, item.position) for item in first] == [(bulk, 1), (single, 0), (bulk, 3)]
    second = run(scheduler, 0.01, 0.0)
    assert [(item.ticket, item.position) for item in second] == [(bulk, 5), (bulk, 2), (bulk, 0), (bulk, 4)]


def test_a_turn_may_be_a_whole_request():
    scheduler = Scheduler(BatchLimits(100, 0.01, 1_000, turn=1_000))
    first, second = scheduler.offer([20] * 4, 0.0), scheduler.offer([20] * 4, 0.0)
    assert [item.ticket for item in run(scheduler, 0.0, 0.0)] == [first] * 4 + [second]


def test_a_text_over_the_budget_is_refused_at_once_and_nothing_of_its_request_is_queued():
    scheduler = Scheduler(LIMITS)
    with pytest.raises(TooLong) as refused:
        scheduler.offer([5, 101, 5], 0.0)
    assert (refused.value.position, refused.value.tokens) == (1, 101)
    assert (scheduler.texts, scheduler.tokens) == (0, 0)
    assert scheduler.decide(0.0, 0.0) == Wait(None)


def test_the_queue_is_bounded():
    scheduler = Scheduler(BatchLimits(100, 0.01, queue=4))
    scheduler.offer([7, 7, 7], 0.0)
    with pytest.raises(QueueFull) as refused:
        scheduler.offer([1, 1], 0.0)
    assert refused.value.waiting == 21
    scheduler.offer([1], 0.0)
    assert scheduler.texts == 4


def test_what_was_withdrawn_is_not_run():
    scheduler = Scheduler(LIMITS)
    kept, gone = scheduler.offer([5, 5], 0.0), scheduler.offer([5, 5, 5], 0.0)
    scheduler.withdraw(gone)
    scheduler.withdraw(gone)
    assert {item.ticket for item in run(scheduler, 0.0, 0.0)} == {kept}
    assert (scheduler.texts, scheduler.tokens) == (0, 0)


requests_ = st.lists(
    st.tuples(st.floats(0, 0.05), st.lists(st.integers(1, 40), min_size=1, max_size=12)), min_size=1, max_size=25
)


@given(requests_, st.floats(0.0001, 0.03), st.integers(1, 20))
def test_every_text_is_run_once_in_budget_and_never_held_beyond_the_wait(requests, batch_seconds, turn):
    """A simulation: requests arrive at given gaps, a batch takes `batch_seconds`, the scheduler is asked as a worker
    asks it."""
    scheduler = Scheduler(BatchLimits(batch_tokens=64, wait_s=0.01, queue=10_000, turn=turn))
    arrivals, now = [], 0.0
    for gap, tokens in requests:
        now += gap
        arrivals.append((now, tokens))
    sent: dict[int, list[int]] = {}
    since: dict[int, float] = {}
    seen: list[tuple[int, int]] = []
    clock = free_since = 0.0
    while arrivals or scheduler.texts:
        while arrivals and arrivals[0][0] <= clock:
            at, tokens = arrivals.pop(0)
            ticket = scheduler.offer(tokens, at)
            sent[ticket], since[ticket] = tokens, at
        decision = scheduler.decide(clock, free_since)
        if isinstance(decision, Wait):
            assert decision.until is None or clock < decision.until <= max(free_since, min(since.values())) + 0.01
            assert (decision.until is None) == (scheduler.texts == 0)
            times = [at for at, _ in arrivals[:1]] + ([decision.until] if decision.until is not None else [])
            clock = min(times)
            continue
        batch = decision.items
        assert batch
        assert sum(item.tokens for item in batch) <= 64
        seen += [(item.ticket, item.position) for item in batch]
        assert all(sent[item.ticket][item.position] == item.tokens for item in batch)
        waiting = {ticket for ticket, tokens in sent.items() if sum(t == ticket for t, _ in seen) < len(tokens)}
        since = {ticket: at for ticket, at in since.items() if ticket in waiting}
        clock += batch_seconds
        while arrivals and arrivals[0][0] <= clock:  # while the batch runs
            at, tokens = arrivals.pop(0)
            ticket = scheduler.offer(tokens, at)
            sent[ticket], since[ticket] = tokens, at
        scheduler.finished()
        free_since = clock
    assert sorted(seen) == sorted(
        (ticket, position) for ticket, tokens in sent.items() for position in range(len(tokens))
    )
    assert (scheduler.texts, scheduler.tokens) == (0, 0)
