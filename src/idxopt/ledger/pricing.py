"""List prices, and amounts of money as whole numbers: sums of floats drift, and a budget holds to the last digit."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Decimal

from idxopt.errors import ConfigError

Price = tuple[float, float]
"""Of a million input tokens and a million output tokens."""

UNIT = 10**12
"""Units of one unit of currency in the ledger: a token at 0.000001 a million is still a whole number."""
MOST = 1_000_000.0
"""The largest amount: its units, and sums of some of them, fit in 64 bits."""


def cost(price: Price, tokens_in: int, tokens_out: int) -> float:
    """Money for a call, in the currency of the price."""
    return (price[0] * tokens_in + price[1] * tokens_out) / 1_000_000


def units(money: float, what: str) -> int:
    """Whole units of an amount, as it is written in decimals. Raises ConfigError outside 0 to `MOST`."""
    if not math.isfinite(money) or not 0 <= money <= MOST:
        raise ConfigError(f"{what} is {money}, not an amount from 0 to {MOST:,.0f}", remedy="correct it")
    return int((Decimal(repr(float(money))) * UNIT).to_integral_value(ROUND_HALF_EVEN))


def money(amount: int) -> float:
    """An amount of units as a number of the currency."""
    return amount / UNIT
