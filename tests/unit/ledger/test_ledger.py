"""Contract 9 in one process: reservations, commits, overshoot; property tests, and many threads at once."""

import random
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idxopt.errors import BudgetReached, BuildError, ConfigError, IdxoptError
from idxopt.ledger.ledger import Ledger, Reservation
from idxopt.ledger.pricing import cost, money, units


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "money" / "ledger.sqlite"


@pytest.fixture
def ledger(path: Path) -> Iterator[Ledger]:
    with Ledger.open(path, budget=5.0) as opened:
        yield opened


def test_commit_gives_back_what_was_not_spent(ledger: Ledger) -> None:
    held = ledger.reserve(4.0, 1_000, what="one")
    assert (ledger.spent().reserved, ledger.spent().left) == (4.0, 1.0)
    ledger.commit(held, 1.5, 100, 200)
    spent = ledger.spent()
    assert (spent.money, spent.tokens_in, spent.tokens_out, spent.calls) == (1.5, 100, 200, 1)
    assert (spent.reserved, spent.left, spent.overshoot, spent.stopped) == (0.0, 3.5, 0.0, None)


def test_release_gives_all_back_and_counts_no_call(ledger: Ledger) -> None:
    ledger.release(ledger.reserve(5.0, 10, what="one"))
    assert (ledger.spent().left, ledger.spent().calls) == (5.0, 0)


def test_refusal_names_the_call_and_the_figures(ledger: Ledger) -> None:
    ledger.commit(ledger.reserve(4.75, 10, what="first"), 4.75, 5, 5)
    with pytest.raises(
        BudgetReached, match=r"4\.75 spent and 0 reserved of 5, and summary of d1 may cost 0\.5"
    ) as caught:
        ledger.reserve(0.5, 10, what="summary of d1")
    assert int(caught.value.exit_code) == 6


def test_exactly_the_budget_fits_and_tenths_do_not_drift(path: Path) -> None:
    with Ledger.open(path, budget=1.0) as ledger:
        for number in range(10):
            ledger.commit(ledger.reserve(0.1, 1, what=str(number)), 0.1, 1, 0)
        assert ledger.spent().money == 1.0
        with pytest.raises(BudgetReached):
            ledger.reserve(1e-12, 0, what="a millionth of a millionth")
        ledger.reserve(0.0, 0, what="a local model")


def test_tokens_have_a_budget_of_their_own(path: Path) -> None:
    with Ledger.open(path, budget=None, budget_tokens=100) as ledger:
        held = ledger.reserve(7.0, 60, what="one")
        with pytest.raises(BudgetReached, match="60 reserved of 100, and two may take 41"):
            ledger.reserve(0.0, 41, what="two")
        ledger.commit(held, 7.0, 30, 20)
        ledger.reserve(0.0, 50, what="two")


def test_usage_above_the_reservation_is_committed_in_full_and_stops(path: Path) -> None:
    with Ledger.open(path, budget=5.0) as ledger:
        ledger.commit(ledger.reserve(4.0, 10, what="greedy"), 5.5, 20, 30)
        spent = ledger.spent()
        assert (spent.money, spent.overshoot, spent.overshoot_tokens, spent.left) == (5.5, 1.5, 40, 0.0)
        assert spent.stopped == "greedy cost 1.5 and 40 tokens more than was reserved for it"
    with Ledger.open(path, budget=100.0) as later:
        with pytest.raises(BudgetReached, match="the ledger is stopped: greedy"):
            later.reserve(0.0, 0, what="next")
        later.resume()
        later.reserve(0.1, 1, what="next")
        assert later.spent().overshoot == 1.5


def test_without_a_budget_an_overshoot_is_shown_and_nothing_stops(path: Path) -> None:
    with Ledger.open(path, budget=None) as ledger:
        ledger.commit(ledger.reserve(0.0, 10, what="local"), 0.0, 50, 50)
        assert (ledger.spent().overshoot_tokens, ledger.spent().stopped) == (90, None)
        ledger.reserve(0.0, 10, what="local")


def test_a_call_is_committed_once_and_only_in_its_ledger(ledger: Ledger, tmp_path: Path) -> None:
    held = ledger.reserve(1.0, 1, what="one")
    ledger.commit(held, 1.0, 1, 0)
    ledger.release(held)
    assert ledger.spent().money == 1.0
    with pytest.raises(IdxoptError, match="one was committed before"):
        ledger.commit(held, 1.0, 1, 0)
    with (
        Ledger.open(tmp_path / "other", budget=5.0) as other,
        pytest.raises(IdxoptError, match="one is not reserved in this ledger"),
    ):
        other.commit(held, 1.0, 1, 0)
    assert ledger.spent().calls == 1


def test_a_call_released_by_mistake_is_still_paid(ledger: Ledger) -> None:
    held = ledger.reserve(1.0, 1, what="slow")
    ledger.release(held)
    ledger.commit(held, 0.5, 1, 0)
    assert (ledger.spent().money, ledger.spent().overshoot) == (0.5, 0.5)


@pytest.mark.parametrize("bad", [-0.01, float("nan"), float("inf"), 1e9])
def test_amounts_that_are_none_are_refused(path: Path, bad: float) -> None:
    with pytest.raises(ConfigError):
        Ledger.open(path, budget=bad)
    with Ledger.open(path, budget=1.0) as ledger:
        with pytest.raises(ConfigError, match="the reservation for one"):
            ledger.reserve(bad, 1, what="one")
        held = ledger.reserve(0.5, 1, what="one")
        with pytest.raises(ConfigError, match="the cost of one"):
            ledger.commit(held, bad, 1, 1)
        with pytest.raises(ConfigError, match="tokens"):
            ledger.commit(held, 0.5, -1, 1)
        assert ledger.spent().reserved == 0.5


def test_a_damaged_or_newer_file_is_refused_and_kept(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged"
    damaged.write_bytes(b"no database, but long enough to have a header" * 100)
    with pytest.raises(BuildError, match="cannot be used as a ledger"):
        Ledger.open(damaged, budget=1.0)
    assert damaged.read_bytes().startswith(b"no database")
    newer = tmp_path / "newer"
    with sqlite3.connect(newer) as db:
        db.execute("PRAGMA user_version = 99")
    with pytest.raises(BuildError, match="version 99"):
        Ledger.open(newer, budget=1.0)
    with pytest.raises(BuildError):
        Ledger.open(damaged / "below" / "a file", budget=1.0)


@given(st.floats(min_value=0, max_value=1_000), st.integers(0, 2_000_000), st.integers(0, 100_000))
def test_cost_is_the_list_price_of_a_million(price: float, tokens_in: int, tokens_out: int) -> None:
    assert cost((price, 2 * price), tokens_in, tokens_out) == pytest.approx(
        price * tokens_in / 1e6 + 2 * price * tokens_out / 1e6
    )


@given(st.decimals(min_value=0, max_value=100_000, places=9))
def test_amounts_written_in_decimals_are_exact(amount: Decimal) -> None:
    assert units(float(amount), "it") == amount * 10**12
    assert money(units(float(amount), "it")) == float(amount)


Move = tuple[str, float, float]
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "commit", "release"]),
        st.floats(min_value=0, max_value=2, allow_nan=False),
        st.floats(min_value=0, max_value=1),
    ),
    max_size=40,
)


@settings(max_examples=40)
@given(moves=MOVES, budget=st.floats(min_value=0, max_value=5))
def test_honest_calls_never_pass_the_budget(
    tmp_path_factory: pytest.TempPathFactory, moves: list[Move], budget: float
) -> None:
    """Against a plain model: a list of what is open and a sum of what is spent."""
    with Ledger.open(tmp_path_factory.mktemp("ledger") / "file", budget=budget) as ledger:
        held: list[Reservation] = []
        spent = 0
        for move, amount, share in moves:
            if move == "reserve":
                asked = units(amount, "it")
                fits = spent + sum([units(one.money, "it") for one in held], asked) <= units(budget, "it")
                try:
                    held.append(ledger.reserve(amount, 1, what="it"))
                    assert fits
                except BudgetReached:
                    assert not fits
            elif held and move == "commit":
                one = held.pop(0)
                ledger.commit(one, one.money * share, 1, 0)
                spent += units(one.money * share, "it")
            elif held:
                ledger.release(held.pop(0))
            now = ledger.spent()
            assert now.money == pytest.approx(money(spent), abs=1e-11)
            assert units(now.money, "it") + units(now.reserved, "it") <= units(budget, "it") + 1
            assert (now.overshoot, now.stopped) == (0.0, None)


def test_h20_four_calls_at_once_do_not_see_the_same_remainder(ledger: Ledger) -> None:
    ledger.commit(ledger.reserve(4.75, 1, what="before"), 4.75, 1, 0)
    together = threading.Barrier(4)

    def call(number: int) -> bool:
        together.wait()
        try:
            held = ledger.reserve(0.09, 1, what=str(number))
        except BudgetReached:
            return False
        ledger.commit(held, 0.09, 1, 0)
        return True

    with ThreadPoolExecutor(4) as pool:
        started = list(pool.map(call, range(4)))
    assert sum(started) == 2
    assert ledger.spent().money == pytest.approx(4.93)


def test_threads_never_pass_the_budget_at_any_moment(ledger: Ledger) -> None:
    watched: list[float] = []
    over = threading.Event()

    def watch() -> None:
        while not over.is_set():
            now = ledger.spent()
            watched.append(now.money + now.reserved)

    def work(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(25):
            most = rng.uniform(0, 0.2)
            try:
                held = ledger.reserve(most, 10, what="it")
            except BudgetReached:
                continue
            if rng.random() < 0.2:
                ledger.release(held)
            else:
                ledger.commit(held, most * rng.random(), 5, 5)

    watcher = threading.Thread(target=watch)
    watcher.start()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    over.set()
    watcher.join()
    assert max(watched) <= 5.0
    assert ledger.spent().reserved == 0.0
    assert ledger.spent().money > 3.0


def test_waits_for_calls_under_way_that_cost_less_than_reserved(ledger: Ledger) -> None:
    held = ledger.reserve(5.0, 1, what="first")
    with ThreadPoolExecutor(1) as pool:
        second = pool.submit(ledger.reserve, 2.0, 1, what="second", wait_s=20.0)
        with pytest.raises(BudgetReached):
            ledger.reserve(2.0, 1, what="third", wait_s=0.1)
        ledger.commit(held, 1.0, 1, 0)
        assert second.result().money == 2.0
    with pytest.raises(BudgetReached):
        ledger.reserve(4.5, 1, what="never fits, so does not wait", wait_s=1_000.0)
