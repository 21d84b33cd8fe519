"""Several processes and threads at one folder: nobody is lost, nobody sees half a change."""

import multiprocessing
import threading
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.embedded.locks import exclusive
from idxopt.engines.port import AliasAction, SearchRequest
from idxopt.errors import Conflict, Overloaded
from tests.unit.embedded.shelf import BODY, fill, rows, search

SPAWN = multiprocessing.get_context("spawn")


def _count_up(folder: Path, times: int) -> None:
    engine = EmbeddedEngine(folder)
    done = 0
    while done < times:
        found = engine.get_document("a", "counter")
        assert found is not None
        try:
            engine.put_document("a", "counter", {"number": found.source["number"] + 1}, expect=found.version)
        except Conflict:
            continue
        done += 1
        if done % 5 == 0:
            engine.refresh("a")


def test_compare_and_swap_loses_no_step(engine: EmbeddedEngine, folder: Path) -> None:
    fill(engine, "a", [])
    engine.put_document("a", "counter", {"number": 0})
    processes = [SPAWN.Process(target=_count_up, args=(folder, 20)) for _ in range(2)]
    threads = [threading.Thread(target=_count_up, args=(folder, 20)) for _ in range(2)]
    workers: list[BaseProcess | threading.Thread] = [*processes, *threads]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(120)
    assert [process.exitcode for process in processes] == [0, 0]
    found = engine.get_document("a", "counter")
    assert found is not None
    assert found.source == {"number": 80}


def _load(folder: Path, uuid: str, numbers: range) -> None:
    report = EmbeddedEngine(folder).load("a", uuid, rows(*((f"d{n}", {"text": "river"}) for n in numbers)))
    assert report.created + report.existed == len(numbers)


def test_two_loads_of_the_same_rows_store_each_once(engine: EmbeddedEngine, folder: Path) -> None:
    state = engine.create_index("a", BODY)
    processes = [SPAWN.Process(target=_load, args=(folder, state.uuid, range(n, n + 300))) for n in (0, 100)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0]
    engine.refresh("a")
    assert sorted(row.id for row in engine.scan("a")) == sorted(f"d{n}" for n in range(400))
    assert engine.stats("a").checkpoints == {0: 399}


def _rebuild(folder: Path, builds: int) -> None:
    """Builds, switches, deletes the one before; build n has n + 1 documents, all about rivers."""
    engine = EmbeddedEngine(folder)
    for number in range(1, builds + 1):
        fill(engine, f"site--{number}", rows(*((f"{number}-{n}", {"text": "river"}) for n in range(number + 1))))
        old = engine.get_index(f"site--{number - 1}")
        assert old is not None
        engine.update_aliases([AliasAction("remove", old.name, "site"), AliasAction("add", f"site--{number}", "site")])
        engine.delete_index(old.name, old.uuid)


def test_readers_see_whole_builds_only(engine: EmbeddedEngine, folder: Path) -> None:
    builds = 25
    fill(engine, "site--0", rows(("0-0", {"text": "river"})))
    engine.update_aliases([AliasAction("add", "site--0", "site")])
    process = SPAWN.Process(target=_rebuild, args=(folder, builds))
    process.start()
    seen: set[int] = set()
    while builds not in seen:
        assert process.is_alive() or process.exitcode == 0
        [index] = engine.aliases("site")["site"]
        response = search(engine, index, "river")
        if response.gone:
            continue
        assert response.error is None, response.error
        numbers = {hit.id.partition("-")[0] for hit in response.hits}
        assert numbers == {index.removeprefix("site--")}
        assert len(response.hits) == int(index.removeprefix("site--")) + 1
        seen.add(int(index.removeprefix("site--")))
    process.join(60)
    assert process.exitcode == 0
    assert len(seen) > 3


def test_a_scan_goes_on_over_a_refresh_and_a_deletion(engine: EmbeddedEngine) -> None:
    fill(engine, "a", rows(*((f"d{n}", {"text": "river"}) for n in range(50))))
    scan = engine.scan("a")
    first = [next(scan).id for _ in range(10)]
    for n in range(50):
        engine.delete_document("a", f"d{n}")
    engine.refresh("a")
    state = engine.get_index("a")
    assert state is not None
    engine.delete_index("a", state.uuid)
    assert [*first, *(row.id for row in scan)] == [f"d{n}" for n in range(50)]
    [response] = engine.search([SearchRequest("a", {})])
    assert response.gone


def test_a_lock_that_is_held_too_long_is_reported(tmp_path: Path) -> None:
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with exclusive(tmp_path / "lock"):
            held.set()
            release.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert held.wait(30)
    with pytest.raises(Overloaded, match="another process"), exclusive(tmp_path / "lock", seconds=0.05):
        pass
    release.set()
    holder.join()
    with exclusive(tmp_path / "lock", seconds=5):
        pass
