"""Rate limits against a clock that only moves when somebody sleeps."""

import pytest

from idxopt.optimizer.trials.pace import Pace
from tests.unit.builds.samples import ManualClock


@pytest.mark.parametrize("rate", [5.0, 400.0, 10_000.0])
def test_no_faster_than_the_rate(rate):
    clock = ManualClock()
    begun = clock.monotonic()
    assert list(Pace(rate, clock).paced(range(1_000))) == list(range(1_000))
    taken = clock.monotonic() - begun
    assert 999 / rate - 0.03 <= taken <= 1_000 / rate


def test_no_rate_no_wait():
    clock = ManualClock()
    begun = clock.monotonic()
    assert len(list(Pace(None, clock).paced(range(1_000)))) == 1_000
    assert clock.monotonic() == begun
