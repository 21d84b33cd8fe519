"""kill -9 at every open, fsync, rename and removal: the old build serves, and running again finishes."""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from idxopt.engines.embedded import EmbeddedEngine, durable, index_store, loading
from idxopt.engines.port import AliasAction
from idxopt.errors import Conflict
from tests.unit.embedded.shelf import BODY, rows, search

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kill -9 and fork are POSIX")

OLD = rows(*((f"old{n}", {"text": "river"}) for n in range(4)))
NEW = rows(*((f"new{n}", {"text": "river valley", "tag": "x"}) for n in range(7)))


@pytest.fixture(autouse=True)
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "BATCH_ROWS", 3)
    monkeypatch.setattr(index_store, "MAX_SEGMENTS", 2)
    monkeypatch.setattr(index_store, "MAX_SMALL", 2)


def _start(folder: Path) -> None:
    engine = EmbeddedEngine(folder)
    engine.create_index("state", BODY)
    state = engine.create_index("site--old", BODY)
    engine.load("site--old", state.uuid, OLD)
    engine.refresh("site--old")
    engine.update_aliases([AliasAction("add", "site--old", "site")])


def _build(folder: Path) -> None:
    """A small apply: every kind of change, each of which goes on from whatever a killed run has left."""
    engine = EmbeddedEngine(folder)
    if engine.get_document("state", "lock") is None:
        engine.put_document("state", "lock", {"tag": "held"}, create=True)
    held = engine.get_document("state", "lock")
    assert held is not None
    engine.put_document("state", "lock", {"tag": "beat"}, expect=held.version, refresh=True)
    engine.put_template("site--new", {"index_patterns": ["site--new*"]})
    if engine.get_index("site--new") is None:
        engine.create_index("site--new", BODY)
    state = engine.get_index("site--new")
    assert state is not None
    report = engine.load("site--new", state.uuid, NEW)
    assert report.created + report.existed == len(NEW)
    engine.refresh("site--new")
    if "site--old" in engine.aliases("site").get("site", {}):
        engine.update_aliases([AliasAction("remove", "site--old", "site"), AliasAction("add", "site--new", "site")])
    old = engine.get_index("site--old")
    if old is not None:
        engine.delete_index("site--old", old.uuid)
    engine.delete_document("state", "lock")
    engine.refresh("state")
    engine.delete_template("site--new")


def _in_a_child(work: Callable[[], None]) -> int:
    """Runs `work` in a forked process; the signal that ended it, 0 when it ended well."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - a forked child must never come back into pytest
            os._exit(1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) in {0, -signal.SIGKILL}
    return -os.waitstatus_to_exitcode(status)


def _kill_at(folder: Path, number: int) -> bool:
    """Builds in a child that dies at step `number`; False when it ended before that."""

    def work() -> None:
        steps = iter(range(number))

        def hook(step: durable.Step, path: Path) -> None:
            if next(steps, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        durable.hook = hook
        _build(folder)

    return _in_a_child(work) == signal.SIGKILL


def _served(folder: Path) -> list[str]:
    response = search(EmbeddedEngine(folder), "site", "river")
    assert response.error is None, response.error
    assert response.total == len(response.hits)
    return sorted(hit.id for hit in response.hits)


def test_killed_anywhere_the_old_or_the_new_build_serves(tmp_path: Path) -> None:
    old, new = [row.id for row in OLD], [row.id for row in NEW]
    start = tmp_path / "start"
    _start(start)
    switched, number = False, 0
    while True:
        folder = tmp_path / str(number)
        shutil.copytree(start, folder)
        killed = _kill_at(folder, number)
        served = _served(folder)
        assert served in (old, new), number
        assert not (switched and served == old), "a later kill must not bring the old build back"
        switched = served == new
        _build(folder)
        _check_finished(folder)
        if not killed:
            break
        number += 1
    assert number > 60
    assert switched


def test_killed_again_and_again_it_still_ends(tmp_path: Path) -> None:
    folder = tmp_path / "engine"
    _start(folder)
    number = 3
    while _kill_at(folder, number):
        number += 3
    _build(folder)
    _check_finished(folder)


def _check_finished(folder: Path) -> None:
    """Only what the catalogue and the commits name is left."""
    engine = EmbeddedEngine(folder)
    assert _served(folder) == [row.id for row in NEW]
    assert {row.id: row.source for row in engine.scan("site")} == {row.id: row.body for row in NEW}
    assert [state.name for state in engine.list_indices("*")] == ["site--new", "state"]
    assert engine.templates() == []
    assert engine.get_document("state", "lock") is None
    with pytest.raises(Conflict):
        engine.update_aliases([AliasAction("remove", "site--old", "site")])
    engine.put_document("state", "last", {}, refresh=True)
    engine.delete_index("state", next(state.uuid for state in engine.list_indices("state")))
    state = engine.get_index("site--new")
    assert state is not None
    engine.create_index("sweep", BODY)  # sweeps what killed deletions and creations have left
    kept = {path.name for path in (folder / "indices").iterdir()}
    assert kept == {index.uuid for index in engine.list_indices("*")}
    engine.put_document("site--new", "one more", {})
    engine.refresh("site--new")
    files = sorted(path.name for path in (folder / "indices" / state.uuid).rglob("*") if path.is_file())
    segments = [name for name in files if name.endswith(".seg")]
    assert set(files) - set(segments) == {"commit.json", "lock"}
    assert len(segments) == len(
        index_store.IndexStore(folder / "indices" / state.uuid, "x", loading.analyse_rows).commit().segments
    )
    assert [path for path in folder.iterdir() if path.name.endswith(durable.TEMPORARY)] == []
