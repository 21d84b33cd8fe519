"""The id that a study's trial indices carry: its own, also where others have a study of the same name."""

import os
import shutil
import stat
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


def test_an_older_file_is_adopted(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path / "old")
    folder.create()
    inode = folder.path.stat().st_ino
    for old in ("0a1b2c3d", f"0a1b2c3d 77:{inode}"):  # without an inode, and with a device before it
        folder.identity.write_text(f"{old}\n", encoding="ascii")
        assert folder.own_id(pytest.fail) == "0a1b2c3d"
        assert folder.identity.read_text(encoding="ascii").split()[:2] == ["0a1b2c3d", str(inode)]
        told: list[str] = []
        copied = StudyFolder(tmp_path / "copied")
        shutil.copytree(folder.path, copied.path)
        assert copied.own_id(told.append) != "0a1b2c3d"
        assert len(told) == 1
        shutil.rmtree(copied.path)
    folder.identity.write_text(f"0a1b2c3d 77:{inode + 1}\n", encoding="ascii")
    assert folder.own_id(lambda _: None) != "0a1b2c3d"  # a copy as that version told it


def test_a_folder_moved_to_another_path_is_the_same_there_and_back(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path / "one" / "study")
    folder.create()
    own = folder.own_id(pytest.fail)
    (tmp_path / "other").mkdir()
    moved = StudyFolder(folder.path.rename(tmp_path / "other" / "renamed"))
    assert moved.own_id(pytest.fail) == own
    (tmp_path / "link").symlink_to(moved.path)
    before = moved.identity.read_bytes()
    assert StudyFolder(tmp_path / "link").own_id(pytest.fail) == own
    assert moved.identity.read_bytes() == before
    assert StudyFolder(moved.path.rename(folder.path)).own_id(pytest.fail) == own


@pytest.mark.parametrize("field", [stat.ST_DEV, stat.ST_INO])
def test_a_disk_that_numbers_anew_makes_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, field: int) -> None:
    """Device numbers change at a reboot, inodes on file systems that have none of their own."""
    folder = StudyFolder(tmp_path / "study")
    folder.create()
    own = folder.own_id(pytest.fail)
    true_stat = Path.stat

    def remounted(path: Path, *, follow_symlinks: bool = True) -> os.stat_result:
        fields = list(true_stat(path, follow_symlinks=follow_symlinks))
        fields[field] += 1
        return os.stat_result(fields)

    monkeypatch.setattr(Path, "stat", remounted)
    assert folder.path.stat()[field] != true_stat(folder.path)[field]
    if field == stat.ST_DEV:  # the path need not help
        folder = StudyFolder(folder.path.rename(tmp_path / "moved"))
    assert folder.own_id(pytest.fail) == own
    assert StudyFolder(folder.path.rename(tmp_path / "later")).own_id(pytest.fail) == own  # by the numbers of now


def test_a_damaged_one_is_told(tmp_path: Path) -> None:
    folder = StudyFolder(tmp_path)
    for damaged in (b"", b"../../other", b"\xff", b"0a1b2c3d 7 8", b"0a1b2c3d e"):
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
