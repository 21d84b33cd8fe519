"""How JSON values become indexed values."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.engines.embedded.values import NUMERIC_KINDS, BadValue, as_date, as_number, as_term, as_text

DAY = 24 * 60 * 60 * 1000

JSON_SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers(), max_size=2)


@pytest.mark.parametrize(
    ("value", "start", "end"),
    [
        ("1970", 0, DAY - 1),
        ("1970-02", 31 * DAY, 32 * DAY - 1),
        ("1970-01-02", DAY, 2 * DAY - 1),
        ("1970-01-01T01", 3_600_000, 7_200_000 - 1),
        ("1970-01-01T00:01", 60_000, 120_000 - 1),
        ("1970-01-01T00:00:01", 1_000, 1_999),
        ("1970-01-01T00:00:00.5", 500, 500),
        ("1970-01-01T00:00:00,123456789Z", 123, 123),
        ("1970-01-01T01:00+01:00", 0, 59_999),
        ("1970-01-01T00:00:00-0130", 5_400_000, 5_400_999),
        ("1969-12-31T23:59:59.999Z", -1, -1),
        (0, 0, 0),
        ("-5", -5, -5),
        (1706745600000, 1706745600000, 1706745600000),
        (12.9, 12, 12),
    ],
)
def test_dates(value: Any, start: int, end: int) -> None:
    assert as_date(value) == start
    assert as_date(value, round_up=True) == end


@pytest.mark.parametrize(
    "value",
    ["", "now", "now-1d", "2024-02-01||/d", "2024-02-30", "2024-1-1", "1/2/2024", "2024-01-01T25", None, [], {}],
)
def test_what_is_no_date(value: Any) -> None:
    with pytest.raises(BadValue):
        as_date(value)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("integer", "5", 5),
        ("integer", 5.9, 5),
        ("integer", "-5.9", -5),
        ("long", 2**63 - 1, 2**63 - 1),
        ("long", "9007199254740993", 9007199254740993),
        ("double", "1e3", 1000.0),
        ("float", 0.1, 0.10000000149011612),
        ("boolean", "true", 1),
        ("boolean", "", 0),
    ],
)
def test_numbers(kind: str, value: Any, expected: float) -> None:
    assert as_number(kind, value) == expected


@given(st.sampled_from(sorted(NUMERIC_KINDS)), JSON_SCALARS)
def test_every_value_is_a_number_or_refused(kind: str, value: Any) -> None:
    with suppress(BadValue):
        assert abs(as_number(kind, value)) < float("inf")


def test_terms() -> None:
    assert as_term(True) == b"true"
    assert as_term(1.5) == b"1.5"
    assert as_text("x") == "x"
    assert len(as_term("x" * 32_766)) == 32_766
    for refused in ("x" * 32_767, "ä" * 16_384, {"a": 1}, ["x"], None):
        with pytest.raises(BadValue):
            as_term(refused)
