"""Which index is a trial."""

import datetime as dt
from dataclasses import replace
from typing import Any

import pytest

from idxopt.builds import names
from idxopt.engines.port import IndexState
from idxopt.errors import UsageError
from idxopt.optimizer.trials.marks import Loaded, Mark, check_study, mark_of, trial_index

NOW = dt.datetime(2026, 8, 1, 12, tzinfo=dt.UTC)
MARK = Mark("s1", "ab" * 32, "cd" * 32, NOW, NOW + dt.timedelta(hours=6))


def state(mark: Mark = MARK, name: str | None = None, **changes: Any) -> IndexState:
    meta = mark.meta()
    meta["idxopt"].update(changes)
    return IndexState(name or mark.index, "uuid", {}, {"_meta": meta}, {})


@pytest.mark.parametrize("loaded", [None, Loaded(3, 2)])
def test_a_mark_is_read_as_it_was_written(loaded):
    mark = replace(MARK, loaded=loaded)
    assert mark_of(state(mark)) == mark
    assert mark.index == ".idxopt-trial-s1-abababab"


def test_a_trial_is_no_index_of_a_build():
    assert not names.owned(state())
    assert not names.ours(state().mappings["_meta"])
    assert names.view_hash(state()) is None


@pytest.mark.parametrize(
    "found",
    [
        state(name=".idxopt-trial-s1-cccccccc"),
        state(owner="idxopt"),
        state(index="other"),
        state(trial={}),
        state(trial="text"),
        state(trial={**MARK.meta()["idxopt"]["trial"], "expires": "soon"}),
        state(trial={**MARK.meta()["idxopt"]["trial"], "expires": "2026-08-01T12:00:00"}),
        state(trial={**MARK.meta()["idxopt"]["trial"], "study": "s2"}),
        state(view_hash=None, trial={"study": "s1"}),
        IndexState(MARK.index, "uuid", {}, {}, {}),
        IndexState(MARK.index, "uuid", {}, {"_meta": {"idxopt": "text"}}, {}),
    ],
    ids=lambda found: str(found.mappings)[:60],
)
def test_what_is_copied_damaged_or_unmarked_is_no_trial(found):
    assert mark_of(found) is None


def test_ids_of_studies():
    assert check_study("tuning-2") == "tuning-2"
    assert trial_index("tuning-2", "0123456789") == ".idxopt-trial-tuning-2-01234567"
    for wrong in ("", "A", "a b", "a*", "a--b", "-a", "a" * 41, "a_b", "a,b"):
        with pytest.raises(UsageError):
            check_study(wrong)
