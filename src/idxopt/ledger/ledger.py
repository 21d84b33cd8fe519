"""The ledger: a reservation before each paid call, a commit after it, one budget over all of them (contract 9).

What is committed plus what is reserved never passes the budget, whichever threads and processes share the file. A call
that cost more than its reservation is committed in full all the same: the money is gone. Where there is a budget in
that unit, such a call stops the ledger, and nothing is reserved until `resume`.

A reservation of a process that died stays: its call may have been paid for. It counts as spent until `forgive`.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from idxopt.errors import BudgetReached, ConfigError, IdxoptError
from idxopt.ledger.file import LedgerFile
from idxopt.ledger.owner import Owner
from idxopt.ledger.pricing import money as as_money
from idxopt.ledger.pricing import units

PAUSE_S = 0.05


@dataclass(frozen=True, slots=True)
class Reservation:
    """Money and tokens set aside for one call; commit or release it."""

    id: int
    money: float
    tokens: int
    what: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Where a ledger stands. Money in the currency of the prices; `calls` are those committed.

    `reserved` is set aside for calls under way, `abandoned` the part of it whose processes are gone. `overshoot` is
    what calls cost above their reservations (part of `money`). `stopped` says why nothing is reserved any more.
    """

    money: float
    tokens_in: int
    tokens_out: int
    reserved: float
    reserved_tokens: int
    abandoned: float
    abandoned_calls: int
    overshoot: float
    overshoot_tokens: int
    calls: int
    budget: float | None
    budget_tokens: int | None
    stopped: str | None

    @property
    def left(self) -> float | None:
        """Money that can still be reserved; None without a budget."""
        return None if self.budget is None else max(0.0, self.budget - self.money - self.reserved)


@dataclass(frozen=True, slots=True)
class _Totals:
    money: int
    tokens: int
    reserved: int
    reserved_tokens: int
    stopped: str | None


class Ledger:
    """An open ledger. Safe between threads and processes; the budget is that of whoever reserves."""

    def __init__(self, file: LedgerFile, budget: float | None, budget_tokens: int | None) -> None:
        self._file = file
        self._budget = budget
        self._budget_units = None if budget is None else units(budget, "the budget")
        self._budget_tokens = budget_tokens

    @classmethod
    def open(cls, path: Path, *, budget: float | None, budget_tokens: int | None = None) -> Ledger:
        """Opens or makes the file. None: no limit.

        Raises ConfigError for a budget that is none, BuildError when the file cannot be used.
        """
        if budget_tokens is not None and budget_tokens < 0:
            raise ConfigError(f"the budget is {budget_tokens} tokens", remedy="give a number of at least 0")
        if budget is not None:
            units(budget, "the budget")
        return cls(LedgerFile(path), budget, budget_tokens)

    def close(self) -> None:
        """Closes the file; open reservations stay."""
        self._file.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def reserve(self, money: float, tokens: int, *, what: str, wait_s: float = 0.0) -> Reservation:
        """Sets aside the most that a call can cost; `what` names it in messages and in the file.

        Where only calls under way stand in the way, waits up to `wait_s` seconds for them to cost less than reserved.
        Raises BudgetReached when committed + reserved would pass the budget, or the ledger is stopped.
        """
        amount = units(money, f"the reservation for {what}")
        _count(tokens, f"the reservation for {what}")
        until = time.monotonic() + wait_s
        while True:
            with self._file.transaction() as db:
                totals = _totals(db)
                refusal = self._refusal(totals, amount, tokens, what)
                if refusal is None:
                    return Reservation(self._insert(db, amount, tokens, what), money, tokens, what)
            final = totals.stopped or not self._fits(totals.money, totals.tokens, amount, tokens)
            if final or time.monotonic() >= until:
                raise refusal
            time.sleep(PAUSE_S)

    def commit(self, reservation: Reservation, money: float, tokens_in: int, tokens_out: int) -> None:
        """Writes what the call cost, in full. Above the reservation, in a unit that has a budget, the ledger stops.

        A reservation that was released meanwhile is committed too: the money is gone. Raises IdxoptError when it was
        committed before.
        """
        amount = units(money, f"the cost of {reservation.what}")
        _count(tokens_in, f"the usage of {reservation.what}")
        _count(tokens_out, f"the usage of {reservation.what}")
        with self._file.transaction() as db:
            state, reserved, reserved_tokens = _entry(db, reservation)
            if state == "committed":
                raise IdxoptError(f"{reservation.what} was committed before", remedy="reserve again for another call")
            if state == "released":
                reserved, reserved_tokens = 0, 0
            over = max(0, amount - reserved)
            over_tokens = max(0, tokens_in + tokens_out - reserved_tokens)
            db.execute(
                "UPDATE entries SET state = 'committed', money = ?, tokens_in = ?, tokens_out = ?, settled_at = ?"
                " WHERE id = ?",
                (amount, tokens_in, tokens_out, time.time(), reservation.id),
            )
            db.execute(
                "UPDATE totals SET money = money + ?, tokens_in = tokens_in + ?, tokens_out = tokens_out + ?,"
                " calls = calls + 1, overshoot = overshoot + ?, overshoot_tokens = overshoot_tokens + ?",
                (amount, tokens_in, tokens_out, over, over_tokens),
            )
            if (over and self._budget is not None) or (over_tokens and self._budget_tokens is not None):
                db.execute(
                    "UPDATE totals SET stopped = coalesce(stopped, ?)", (_overshot(reservation, over, over_tokens),)
                )

    def release(self, reservation: Reservation) -> None:
        """Gives a reservation back: the call was never made, or is known to be free. Settled ones stay as they are."""
        with self._file.transaction() as db:
            _entry(db, reservation)
            db.execute(
                "UPDATE entries SET state = 'released', settled_at = ? WHERE id = ? AND state = 'open'",
                (time.time(), reservation.id),
            )

    def resume(self) -> None:
        """Lets a stopped ledger reserve again, when somebody has looked at the overshoot."""
        with self._file.transaction() as db:
            db.execute("UPDATE totals SET stopped = NULL")

    def forgive(self) -> int:
        """Releases the reservations of processes that are gone, when somebody knows that their calls cost nothing.

        Returns how many.
        """
        with self._file.transaction() as db:
            gone = [row[0] for row in _abandoned(db)]
            db.executemany(
                "UPDATE entries SET state = 'released', settled_at = ? WHERE id = ?",
                [(time.time(), one) for one in gone],
            )
        return len(gone)

    def spent(self) -> Spent:
        """Where the ledger stands now."""
        with self._file.transaction() as db:
            row = db.execute(
                "SELECT money, tokens_in, tokens_out, overshoot, overshoot_tokens, calls, stopped FROM totals"
            ).fetchone()
            totals = _totals(db)
            gone = _abandoned(db)
        return Spent(
            money=as_money(row[0]),
            tokens_in=row[1],
            tokens_out=row[2],
            reserved=as_money(totals.reserved),
            reserved_tokens=totals.reserved_tokens,
            abandoned=as_money(sum(amount for _, amount in gone)),
            abandoned_calls=len(gone),
            overshoot=as_money(row[3]),
            overshoot_tokens=row[4],
            calls=row[5],
            budget=self._budget,
            budget_tokens=self._budget_tokens,
            stopped=row[6],
        )

    def _insert(self, db: sqlite3.Connection, amount: int, tokens: int, what: str) -> int:
        owner = Owner.here()
        cursor = db.execute(
            "INSERT INTO entries (what, state, host, pid, started, money_reserved, tokens_reserved, reserved_at)"
            " VALUES (?, 'open', ?, ?, ?, ?, ?, ?)",
            (what, owner.host, owner.pid, owner.started, amount, tokens, time.time()),
        )
        assert cursor.lastrowid is not None  # an INSERT
        return cursor.lastrowid

    def _fits(self, money: int, tokens: int, amount: int, more: int) -> bool:
        return (self._budget_units is None or money + amount <= self._budget_units) and (
            self._budget_tokens is None or tokens + more <= self._budget_tokens
        )

    def _refusal(self, totals: _Totals, amount: int, tokens: int, what: str) -> BudgetReached | None:
        place = str(self._file.path)
        if totals.stopped:
            return BudgetReached(
                f"the ledger is stopped: {totals.stopped}",
                place=place,
                remedy="check the model's tokenizer and prices in idxopt.toml before anything more is spent",
            )
        if self._fits(totals.money + totals.reserved, totals.tokens + totals.reserved_tokens, amount, tokens):
            return None
        limits = []
        if self._budget is not None:
            limits.append(
                f"{as_money(totals.money):.6g} spent and {as_money(totals.reserved):.6g} reserved of"
                f" {self._budget:.6g}, and {what} may cost {as_money(amount):.6g}"
            )
        if self._budget_tokens is not None:
            limits.append(
                f"{totals.tokens:,} tokens spent and {totals.reserved_tokens:,} reserved of {self._budget_tokens:,},"
                f" and {what} may take {tokens:,}"
            )
        return BudgetReached(
            f"the budget is reached: {'; '.join(limits)}",
            place=place,
            remedy="raise the budget and run again; what is done is kept",
        )


def _count(tokens: int, what: str) -> None:
    if not 0 <= tokens < 2**53:
        raise ConfigError(f"{what} is {tokens} tokens", remedy="give a number of at least 0")


def _totals(db: sqlite3.Connection) -> _Totals:
    money, tokens, stopped = db.execute("SELECT money, tokens_in + tokens_out, stopped FROM totals").fetchone()
    reserved, reserved_tokens = db.execute(
        "SELECT coalesce(sum(money_reserved), 0), coalesce(sum(tokens_reserved), 0) FROM entries WHERE state = 'open'"
    ).fetchone()
    return _Totals(money, tokens, reserved, reserved_tokens, stopped)


def _entry(db: sqlite3.Connection, reservation: Reservation) -> tuple[str, int, int]:
    row = db.execute(
        "SELECT state, money_reserved, tokens_reserved FROM entries WHERE id = ?", (reservation.id,)
    ).fetchone()
    if row is None:
        raise IdxoptError(f"{reservation.what} is not reserved in this ledger", remedy="reserve before the call")
    return row[0], row[1], row[2]


def _abandoned(db: sqlite3.Connection) -> Sequence[tuple[int, int]]:
    """(id, money) of open reservations whose process is gone."""
    rows = db.execute("SELECT id, money_reserved, host, pid, started FROM entries WHERE state = 'open'").fetchall()
    owners = {(host, pid, started) for _, _, host, pid, started in rows}
    gone = {owner for owner in owners if Owner(*owner).gone()}
    return [(id_, amount) for id_, amount, *owner in rows if tuple(owner) in gone]


def _overshot(reservation: Reservation, over: int, over_tokens: int) -> str:
    parts = ([f"{as_money(over):.6g}"] if over else []) + ([f"{over_tokens:,} tokens"] if over_tokens else [])
    return f"{reservation.what} cost {' and '.join(parts)} more than was reserved for it"
