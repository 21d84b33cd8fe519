"""`idxopt optimize` on Cranfield, killed with -9 at random moments, ends as if nothing had happened.

Four kills, or 20 where `IDXOPT_TEST_ALL_KILL_POINTS` is set; `python -m benchmarks.kills` shows each of them.
"""

import os
from pathlib import Path

import pytest

from benchmarks.kills import KILLS, SHORT_KILLS, bars, measured

COUNT = KILLS if os.environ.get("IDXOPT_TEST_ALL_KILL_POINTS") else SHORT_KILLS


@pytest.mark.timeout(120 * COUNT)
def test_h19_killed_at_random_moments_it_ends_as_undisturbed(shared: Path, tmp_path: Path) -> None:
    """cases.md H19, with one worker and two in turn."""
    found = measured(shared / "datasets" / "cranfield", tmp_path, COUNT)
    assert [bar for bar in bars(found, COUNT) if not bar.met] == []
    assert {one.workers for one in found.kills} == {1, 2}
    assert any(one.scored for one in found.kills), "one of them came after something was scored"
