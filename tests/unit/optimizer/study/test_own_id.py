"""The id that a study's trial indices carry: its own, also where others have a study of the same name."""

import shutil
from pathlib import Path

import pytest

from idxopt.cli.studies import trial_id
from idxopt.errors import BuildError
from idxopt.optimizer.study.folder import StudyFolder
from idxopt.optimizer.trials.marks import check_study


def test_it_is_drawn_once_for_each_study(tmp_path: Path) -> None:
    one, other = (StudyFolder(tmp_path / who / "study") for who in ("ann", "bob"))
    for folder in (one, other):
        folder.create()
    assert one.own_id(pytest.fail) == StudyFolder(one.path).own_id(pytest.fail)
    assert one.own_id(pytest.fail) != other.own_id(pytest.fail)
    one.create()  # a study killed before its manifest was written is taken up again


def test_a_moved_folder_keeps_it_and_a_copy_draws_another(tmp_path: Path) -> None:
    first = StudyFolder(tmp_path / "first")
    first.create()
    own = first.own_id(pytest.fail)
    moved = StudyFolder(first.path.rename(tmp_path / "moved"))
    assert moved.own_id(pytest.fail) == own
    told: list[str] = []
    for copied in (StudyFolder(tmp_path / "copied"), first):  # one under the old name too
        shutil.copytree(moved.path, copied.path)
        other = copied.own_id(told.append)
        assert other != own
        assert copied.own_id(pytest.fail) == other
    assert moved.own_id(pytest.fail) == own
    assert len(told) == 2
    assert all(own in text and "copied" in text for text in told)


def test_a_damaged_one_is_told(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path)
    for damaged in (b"", b"../../other", b"\xff"):
        folder.identity.write_bytes(damaged)
        with pytest.raises(BuildError, match=r"study\.id"):
            folder.own_id(pytest.fail)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("study", "study-0a1b2c3d"),
        ("My Study_2", "my-study-2-0a1b2c3d"),
        ("\u7814\u7a76", "study-0a1b2c3d"),
        ("a" * 60, "a" * 31 + "-0a1b2c3d"),
        ("a" * 30 + "-b", "a" * 30 + "-0a1b2c3d"),
    ],
)
def test_trial_ids_are_allowed_in_names_of_indices(name: str, wanted: str) -> None:
    assert check_study(trial_id(name, "0a1b2c3d")) == wanted
