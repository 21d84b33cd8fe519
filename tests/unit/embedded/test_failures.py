"""Disks and folders that are not as they should be: one clear error each, and the old state goes on serving."""

import errno
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from idxopt.engines.embedded import EmbeddedEngine, durable, sealed
from idxopt.engines.port import AliasAction
from idxopt.errors import EngineError, Forbidden, NotFound
from tests.unit.embedded.shelf import BODY, fill, rows, search

ROWS = rows(("1", {"text": "river"}), ("2", {"text": "river valley", "tag": "a"}))


def _failing(number: int, step: durable.Step) -> Callable[[durable.Step, Path], None]:
    def hook(current: durable.Step, path: Path) -> None:
        if current == step:
            raise OSError(number, "injected")

    return hook


def _changes(engine: EmbeddedEngine) -> dict[str, Callable[[], object]]:
    state = engine.get_index("a")
    assert state is not None
    return {
        "create": lambda: engine.create_index("b", BODY),
        "load": lambda: engine.load("a", state.uuid, rows(("3", {"text": "river"}))),
        "put": lambda: engine.put_document("a", "4", {"text": "river"}),
        "alias": lambda: engine.update_aliases([AliasAction("add", "a", "live")]),
        "mapping": lambda: engine.put_mapping("a", {"_meta": {"x": 1}}),
        "settings": lambda: engine.update_settings("a", {"index.refresh_interval": "1s"}),
        "template": lambda: engine.put_template("t", {"index_patterns": ["x*"]}),
        "delete": lambda: engine.delete_index("a", state.uuid),
    }


@pytest.mark.parametrize("step", ["open", "fsync", "rename"])
@pytest.mark.parametrize("change", ["create", "load", "put", "alias", "mapping", "settings", "template", "delete"])
@pytest.mark.parametrize(
    ("number", "kind", "word"),
    [(errno.ENOSPC, EngineError, "no space"), (errno.EROFS, Forbidden, "read-only"), (errno.EIO, EngineError, "disk")],
)
def test_a_failing_disk_changes_nothing(
    engine: EmbeddedEngine,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    step: durable.Step,
    change: str,
    number: int,
    kind: type[EngineError],
    word: str,
) -> None:
    fill(engine, "a", ROWS)
    before = engine.get_index("a")
    hits = search(engine, "a", "river").hits
    monkeypatch.setattr(durable, "hook", _failing(number, step))
    with pytest.raises(kind) as caught:
        _changes(engine)[change]()
    assert word in caught.value.message
    assert caught.value.remedy
    assert str(folder) in str(caught.value.place)
    monkeypatch.undo()
    for again in (engine, EmbeddedEngine(folder)):
        again.refresh("a")
        assert again.get_index("a") == before
        assert [state.name for state in again.list_indices("*")] == ["a"]
        assert search(again, "a", "river").hits == hits
        assert again.templates() == []
    _changes(engine)[change]()


@pytest.mark.skipif(sys.platform == "win32", reason="limits of a process are POSIX")
def test_a_file_that_does_not_fit(engine: EmbeddedEngine, folder: Path) -> None:
    import resource

    fill(engine, "a", ROWS)
    state = engine.get_index("a")
    assert state is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(EngineError, match="no space") as caught:
            engine.load("a", state.uuid, rows(*((f"n{n}", {"text": "river " * 100}) for n in range(300))))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert str(folder) in str(caught.value.place)
    assert list(folder.rglob(f"*{durable.TEMPORARY}")) == []
    engine.refresh("a")
    assert engine.stats("a").documents == 2


def test_a_refresh_without_space_keeps_the_old_view(engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(engine, "a", ROWS)
    engine.put_document("a", "3", {"text": "river", "doc_id": "3"})
    engine.delete_document("a", "1")
    monkeypatch.setattr(durable, "hook", _failing(errno.ENOSPC, "rename"))
    with pytest.raises(EngineError, match="no space"):
        engine.refresh("a")
    monkeypatch.undo()
    assert sorted(hit.id for hit in search(engine, "a", "river").hits) == ["1", "2"]
    engine.refresh("a")
    assert sorted(hit.id for hit in search(engine, "a", "river").hits) == ["2", "3"]


def test_every_damaged_file_is_named(engine: EmbeddedEngine, folder: Path) -> None:
    fill(engine, "a", ROWS)
    engine.put_document("a", "3", {"text": "river"})
    files = [path for path in folder.rglob("*") if path.is_file() and not path.name.endswith("lock")]
    assert {path.suffix for path in files} == {".json", ".seg"}
    assert len(files) == 4
    for path in files:
        content = path.read_bytes()
        for position in range(0, len(content), max(1, len(content) // 40)):
            path.write_bytes(content[:position] + bytes([content[position] ^ 0x10]) + content[position + 1 :])
            _damaged(folder, path)
        for cut in (0, 10, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:cut])
            assert _damaged(folder, path)
        path.write_bytes(content)
    assert len(search(EmbeddedEngine(folder), "a", "river").hits) == 2


def _damaged(folder: Path, path: Path) -> bool:
    """Whether everything still reads as before (a byte that nothing depends on, such as padding) or fails by name."""
    engine = EmbeddedEngine(folder)
    caught: EngineError | None = None
    try:
        read = sorted((row.id, row.source["text"]) for row in engine.scan("a"))
        third = engine.get_document("a", "3")
        response = search(engine, "a", "river")
    except EngineError as error:
        caught = error
    if caught is not None:
        assert caught.place == str(path)
        assert caught.remedy
        return True
    assert read == [("1", "river"), ("2", "river valley")]
    assert third is not None
    assert third.source == {"text": "river"}
    assert len(response.hits) == 2
    return False


def test_a_missing_segment_is_named(engine: EmbeddedEngine, folder: Path) -> None:
    fill(engine, "a", ROWS)
    [segment] = folder.rglob("*.seg")
    segment.unlink()
    response = search(EmbeddedEngine(folder), "a", "river")
    assert response.hits == ()
    assert str(segment) in str(response.error)


def test_a_newer_format_is_refused(engine: EmbeddedEngine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "FORMAT", sealed.FORMAT + 1)
    fill(engine, "a", ROWS)
    monkeypatch.undo()
    with pytest.raises(EngineError, match="newer idxopt"):
        EmbeddedEngine(folder).list_indices("*")


def test_a_place_that_is_no_engine(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "notes.txt").write_text("x")
    for place in ("file", "full"):
        with pytest.raises(EngineError) as caught:
            EmbeddedEngine(tmp_path / place)
        assert caught.value.place == str(tmp_path / place)
        assert caught.value.remedy
    assert (tmp_path / "full" / "notes.txt").read_text() == "x"


def test_reading_writes_nothing(engine: EmbeddedEngine, folder: Path) -> None:
    assert engine.list_indices("*") == []
    assert engine.aliases("*") == {}
    assert engine.templates() == []
    assert engine.get_index("a") is None
    assert engine.capabilities().cluster_uuid == EmbeddedEngine(folder).capabilities().cluster_uuid
    with pytest.raises(NotFound):
        engine.get_document("a", "1")
    assert not folder.exists()


def test_a_blocked_index_is_not_written(engine: EmbeddedEngine) -> None:
    fill(engine, "a", ROWS)
    engine.update_settings("a", {"index.blocks.write": True})
    state = engine.get_index("a")
    assert state is not None
    for write in (
        lambda: engine.put_document("a", "3", {}),
        lambda: engine.delete_document("a", "1"),
        lambda: engine.load("a", state.uuid, ROWS),
        lambda: engine.overwrite("a", state.uuid, ROWS, []),
    ):
        with pytest.raises(Forbidden, match=r"blocks\.write"):
            write()
    assert len(search(engine, "a", "river").hits) == 2
