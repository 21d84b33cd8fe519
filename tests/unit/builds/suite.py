"""What builds promise on every engine: subclassed for the embedded engine and for real nodes, each with its
`engine`.
"""

import datetime as dt
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from idxopt.builds import names, physical
from idxopt.builds.garbage import references, tables_in_use
from idxopt.builds.journal import Journal, LoadedFrom
from idxopt.builds.lock import Lock, LockSettings
from idxopt.builds.lockrecord import LockRecord, read_lock, unlock
from idxopt.builds.manifest import Manifest, SourceSnapshot, TablesRecord, ViewBuild, build_id, sealed
from idxopt.builds.resolver import Resolver, marked_builds
from idxopt.builds.state import CHUNK_BYTES, Event, StateStore, StateWriter
from idxopt.engines.port import AliasAction, Engine, IndexState
from idxopt.errors import BuildError, Conflict, LockedError, Unreachable
from idxopt.hashing import text_digest
from idxopt.operators.row import StoredRow

BODY: dict[str, Any] = {
    "settings": {
        "index": {
            "number_of_shards": 1,
            "number_of_replicas": 0,
            "hidden": True,
            "refresh_interval": "-1",
            "similarity": {"bm25-0_9-0_4": {"type": "BM25", "k1": 0.9, "b": 0.4}},
        }
    },
    "mappings": {
        "dynamic": False,
        "properties": {
            "title": {"type": "text", "analyzer": "standard", "similarity": "bm25-0_9-0_4"},
            "year": {"type": "integer"},
            "ok": {"type": "boolean"},
            "lang": {"type": "keyword", "ignore_above": 10922},
            "meta": {"properties": {"day": {"type": "date"}}},
            "idxopt": {
                "dynamic": "strict",
                "properties": {"doc_id": {"type": "keyword"}, "path": {"type": "object", "enabled": False}},
            },
        },
    },
}
PROGRAM = {
    "schema": "idxopt/1",
    "name": "x",
    "source": {"fields": {"title": "title"}},
    "views": {"content": {"lexical": {"fields": {"title": {"analyzer": "standard"}}}}},
}


def fresh_name() -> str:
    return f"t{uuid.uuid4().hex[:12]}"


def body_of(index: str, name: str) -> dict[str, Any]:
    mark = {"owner": "idxopt", "index": index, "name": name, "view_hash": "0" * 64, "view": {"name": "content"}}
    return {**BODY, "mappings": {**BODY["mappings"], "_meta": {"idxopt": mark}}}


def rows(count: int, start: int = 0) -> Iterator[StoredRow]:
    for n in range(start, start + count):
        doc_id = f"doc-{n}"
        yield StoredRow(
            doc_id, doc_id, {"title": f"Title {n} ☕", "year": n, "score": n / 3, "idxopt": {"doc_id": doc_id}}
        )


def manifest_of(name: str, views: Mapping[str, IndexState | str], **changes: Any) -> Manifest:
    built = {
        view: ViewBuild(
            index=state if isinstance(state, str) else state.name,
            view_hash="0" * 64,
            uuid="-" if isinstance(state, str) else state.uuid,
            rows=1,
        )
        for view, state in views.items()
    }
    values: dict[str, Any] = {
        "build": "",
        "name": name,
        "program": PROGRAM,
        "program_hash": "1" * 64,
        "primary": "content",
        "views": built,
        "generations": {},
        "source": SourceSnapshot(kind="file", place="docs.jsonl", marks={}, documents=1, digest="2" * 64),
        "created": "2026-01-01T00:00:00.000Z",
        "by": "somebody@here",
        "idxopt": "0",
        "engine": "embedded 1",
    }
    return sealed(Manifest(**{**values, **changes}))


class ManualClock:
    """Time moves only when somebody sleeps; whoever waits for an event waits until it is set (its heart does not
    beat).
    """

    def __init__(self, on_sleep: Callable[[], None] = lambda: None) -> None:
        self.time = 1_000.0
        self.on_sleep = on_sleep

    def now(self) -> dt.datetime:
        return dt.datetime.fromtimestamp(self.time, dt.UTC)

    def monotonic(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        self.time += seconds
        self.on_sleep()

    def wait(self, event: threading.Event, seconds: float) -> bool:
        return event.wait()


class LosesReplies:
    """An engine whose calls of one kind are carried out, but whose reply never comes, `times` times."""

    def __init__(self, engine: Engine, method: str, times: int = 1) -> None:
        self._engine = engine
        self._method = method
        self._left = times

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._engine, name)
        if name != self._method or self._left == 0:
            return real

        def call(*args: Any, **options: Any) -> Any:
            result = real(*args, **options)
            if self._left == 0:
                return result
            self._left -= 1
            raise Unreachable("the connection was dropped", place="test")

        return call


class StateSuite:
    """Manifests, tables, history."""

    def test_a_manifest_comes_back_as_it_was(self, engine: Engine) -> None:
        name = fresh_name()
        store = StateWriter(engine)
        first = manifest_of(name, {"content": f"{name}--content--0"})
        second = manifest_of(
            name, {"content": f"{name}--content--1"}, created="2026-01-02T00:00:00.000Z", metrics={"nDCG@10": 0.5}
        )
        store.put_manifest(second)
        store.put_manifest(first)
        store.put_manifest(first)
        assert StateStore(engine).manifests(name) == [first, second]
        assert StateStore(engine).manifest(name, first.build) == first
        assert StateStore(engine).manifest(name, "00000000") is None
        assert name in StateStore(engine).names()
        store.delete_manifest(name, first.build)
        store.delete_manifest(name, first.build)
        assert StateStore(engine).manifests(name) == [second]

    def test_a_build_id_never_means_two_builds(self, engine: Engine) -> None:
        name = fresh_name()
        store = StateWriter(engine)
        first = manifest_of(name, {})
        store.put_manifest(first)
        with pytest.raises(BuildError, match="another build is recorded"):
            store.put_manifest(first.model_copy(update={"message": "other"}))
        assert store.manifest(name, first.build) == first

    def test_a_manifest_of_a_newer_version_is_refused(self, engine: Engine) -> None:
        name = fresh_name()
        StateWriter(engine).ensure()
        source = {"kind": "manifest", "name": name, "build": "1", "manifest": {"schema": "idxopt-build/2"}}
        engine.put_document(names.BUILDS_INDEX, f"manifest:{name}:1", source, refresh=True)
        with pytest.raises(BuildError, match="cannot be read") as caught:
            StateStore(engine).manifest(name, "1")
        assert "newer idxopt" in (caught.value.remedy or "")
        engine.delete_document(names.BUILDS_INDEX, f"manifest:{name}:1")

    def test_tables_of_any_size_are_stored_in_chunks(self, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("idxopt.builds.state.CHUNK_BYTES", 1000)
        assert CHUNK_BYTES > 1000
        tables = {"df": {text_digest(str(n)): n for n in range(300)}, "repeated": ["ä", "\u2028"]}
        digest = fresh_name()
        store = StateWriter(engine)
        assert not store.has_tables(digest)
        store.put_tables(digest, tables)
        assert store.has_tables(digest)
        assert StateStore(engine).tables(digest) == tables
        engine.delete_document(names.BUILDS_INDEX, f"tables:{digest}:3")
        with pytest.raises(BuildError, match="missing or damaged"):
            store.tables(digest)
        store.put_tables(digest, tables)
        store.delete_tables(digest)
        with pytest.raises(BuildError, match="missing or damaged") as caught:
            store.tables(digest)
        assert "--rebuild" in (caught.value.remedy or "")

    def test_history_is_kept_in_order(self, engine: Engine) -> None:
        name = fresh_name()
        store = StateWriter(engine)
        events = [
            Event(name=name, what=what, at=f"2026-01-0{n}", who="me", details={"n": n})
            for n, what in [(2, "rollback"), (1, "apply")]
        ]
        for event in events:
            store.append(event)
        assert StateStore(engine).history(name) == events[::-1]
        assert StateStore(engine).history(fresh_name()) == []

    def test_state_indices_are_hidden_and_ours(self, engine: Engine) -> None:
        StateWriter(engine).ensure()
        StateWriter(engine).ensure()
        for index in (names.BUILDS_INDEX, names.STATE_INDEX):
            state = engine.get_index(index)
            assert state is not None
            assert names.owned(state)
            assert state.settings["index.hidden"] == "true"

    def test_references_count_builds(self, engine: Engine) -> None:
        one = manifest_of("n", {"a": "i1", "b": "i2"}, tables=TablesRecord(digest="d", documents=1, created="-"))
        two = manifest_of("n", {"a": "i1", "b": "i3"})
        assert references([one, two]) == {"i1": {one.build, two.build}, "i2": {one.build}, "i3": {two.build}}
        assert tables_in_use([one, two]) == {"d"}
        assert build_id(one) == one.build != two.build
        assert len(one.build) == 8


class LockSuite:
    """Contract 7."""

    fast = LockSettings(heartbeat_s=0.1, ttl_s=2.0)

    def test_the_second_one_is_refused_as_soon_as_the_first_moves(self, engine: Engine) -> None:
        name = fresh_name()
        with Lock(engine, name, "apply", settings=self.fast, who="first@here") as held:
            started = time.monotonic()
            with pytest.raises(LockedError) as caught:
                Lock(engine, name, "apply", settings=self.fast).acquire()
            assert time.monotonic() - started < 1.5
            assert caught.value.exit_code == 3
            for part in ("first@here", "apply", held.id):
                assert part in caught.value.message
            assert f"idxopt unlock {held.id}" in (caught.value.remedy or "")
            held.check()
            held.confirm()
            assert held.alias in engine.aliases(held.alias)
        assert read_lock(engine, name) is None
        assert not engine.aliases(f"{names.lock_alias(name, '')}*")
        with Lock(engine, name, "apply", settings=self.fast):
            pass

    def test_names_do_not_lock_each_other(self, engine: Engine) -> None:
        name = fresh_name()
        with Lock(engine, f"{name}-x", "apply", settings=self.fast) as longer:
            with Lock(engine, name, "apply", settings=self.fast):
                pass
            longer.confirm()
            assert longer.alias in engine.aliases(longer.alias)

    def test_a_timeout_waits_for_the_release(self, engine: Engine) -> None:
        name = fresh_name()
        first = Lock(engine, name, "apply", settings=self.fast)
        first.acquire()
        timer = threading.Timer(0.6, first.release)
        timer.start()
        with Lock(engine, name, "apply", settings=LockSettings(0.1, 2.0, timeout_s=30)) as second:
            second.confirm()
        timer.join()

    def test_a_dead_holder_is_taken_over_after_a_countdown_and_cannot_commit(self, engine: Engine) -> None:
        name = fresh_name()
        paused = ManualClock()
        stopped = Lock(engine, name, "apply", who="stopped@there", clock=paused)
        stopped.acquire()
        seen: list[tuple[str, float]] = []

        def on_wait(record: LockRecord, left: float) -> None:
            seen.append((record.who, left))

        clock = ManualClock()
        with Lock(engine, name, "rollback", clock=clock, on_wait=on_wait, who="next@here") as taken:
            assert clock.time - 1_000 >= 60
            assert {who for who, _ in seen} == {"stopped@there"}
            assert [left for _, left in seen] == sorted((left for _, left in seen), reverse=True)
            assert engine.aliases(f"{names.lock_alias(name, '')}*").keys() == {taken.alias}
            # SIGCONT: whatever the stopped one believes, its commit fails as a whole.
            alias = f"{name}--probe"
            with pytest.raises(Conflict):
                engine.update_aliases([AliasAction("add", names.STATE_INDEX, alias), stopped.fence_removal()])
            assert not engine.aliases(alias)
            with pytest.raises(LockedError, match="next@here took it over for `rollback`"):
                stopped.confirm()
            with pytest.raises(LockedError, match="lost"):
                stopped.check()
            stopped.release()
            taken.confirm()
            assert taken.alias in engine.aliases(taken.alias)

    def test_a_holder_that_woke_up_notices_in_check(self, engine: Engine) -> None:
        name = fresh_name()
        paused = ManualClock()
        stopped = Lock(engine, name, "apply", clock=paused)
        stopped.acquire()
        stopped.check()
        with Lock(engine, name, "apply", clock=ManualClock()):
            stopped.check()
            paused.time += 61
            with pytest.raises(LockedError):
                stopped.check()
        stopped.release()

    def test_a_slow_holder_that_nobody_superseded_goes_on(self, engine: Engine) -> None:
        paused = ManualClock()
        with Lock(engine, fresh_name(), "apply", clock=paused) as slow:
            paused.time += 600
            slow.check()
            slow.confirm()

    def test_a_waiter_that_sees_life_gives_up_or_waits_on(self, engine: Engine) -> None:
        name = fresh_name()
        holder = Lock(engine, name, "apply", clock=ManualClock())
        holder.acquire()
        clock = ManualClock(on_sleep=holder.confirm)  # every look finds a new heartbeat
        with pytest.raises(LockedError):
            Lock(engine, name, "apply", clock=clock).acquire()
        assert clock.time - 1_000 <= 1
        with pytest.raises(LockedError):
            Lock(engine, name, "apply", clock=clock, settings=LockSettings(timeout_s=20)).acquire()
        assert 20 <= clock.time - 1_000 <= 23
        holder.confirm()
        holder.release()

    @pytest.mark.parametrize("method", ["put_document", "update_aliases", "delete_document"])
    def test_lost_replies_do_not_lose_the_lock(self, engine: Engine, method: str) -> None:
        name = fresh_name()
        flaky: Any = LosesReplies(engine, method)
        with Lock(flaky, name, "apply", clock=ManualClock()) as held:
            held.confirm()
            assert held.alias in engine.aliases(held.alias)
        assert read_lock(engine, name) is None
        assert not engine.aliases(held.alias)

    def test_a_heartbeat_whose_reply_was_lost_is_still_ours(self, engine: Engine) -> None:
        flaky: Any = LosesReplies(engine, "put_document", times=0)
        with Lock(flaky, fresh_name(), "apply", clock=ManualClock()) as held:
            flaky._left = 1
            with suppress(Unreachable):
                held.confirm()
            held.confirm()

    def test_the_fence_falls_with_the_commit_and_may_be_raised_again(self, engine: Engine) -> None:
        with Lock(engine, fresh_name(), "apply", settings=self.fast) as held:
            engine.update_aliases([held.fence_removal()])
            with pytest.raises(Conflict):
                engine.update_aliases([held.fence_removal()])
            held.raise_fence_again()
            engine.update_aliases([held.fence_removal()])
            held.confirm()

    def test_unlock_wants_the_id_and_a_silent_holder(self, engine: Engine) -> None:
        name = fresh_name()
        with pytest.raises(BuildError, match="is not locked"):
            unlock(engine, name, "00000000")
        clock = ManualClock()
        holder = Lock(engine, name, "apply", clock=clock, who="me@here")
        holder.acquire()
        with pytest.raises(LockedError, match=holder.id):
            unlock(engine, name, "00000000", clock=clock)
        clock.time += 9
        with pytest.raises(LockedError, match="alive: its last heartbeat was 9 s ago"):
            unlock(engine, name, holder.id, clock=clock)
        clock.time += 2
        assert unlock(engine, name, holder.id, clock=clock).who == "me@here"
        with pytest.raises(Conflict):
            engine.update_aliases([holder.fence_removal()])
        with pytest.raises(LockedError, match="removed"):
            holder.confirm()
        holder.release()

    def test_unlock_by_force(self, engine: Engine) -> None:
        name = fresh_name()
        holder = Lock(engine, name, "apply", settings=self.fast)
        holder.acquire()
        for _ in range(20):  # the heart beats: one of the tries falls between two beats
            with suppress(LockedError):
                unlock(engine, name, holder.id, force=True)
                break
        assert read_lock(engine, name) is None
        holder.release()

    def test_many_at_once_hold_it_one_after_the_other(self, engine: Engine) -> None:
        name = fresh_name()
        inside: list[int] = []
        most: list[int] = []

        def work(number: int) -> None:
            with Lock(engine, name, f"apply {number}", settings=LockSettings(0.1, 30.0, timeout_s=60)):
                inside.append(number)
                most.append(len(inside))
                time.sleep(0.05)
                inside.remove(number)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert most == [1, 1, 1, 1]


class PhysicalSuite:
    """One index: created as compiled, loaded, proved."""

    def made(self, engine: Engine) -> IndexState:
        name = fresh_name()
        index = f"{name}--content--00000000"
        return physical.create(engine, index, body_of(index, name))

    def about(self, state: IndexState, snapshot: str = "s1") -> LoadedFrom:
        return LoadedFrom(state.name, state.uuid, snapshot)

    def test_what_was_loaded_is_proved(self, engine: Engine, tmp_path: Path) -> None:
        state = self.made(engine)
        seen: list[int] = []
        with Journal(tmp_path / "j" / "a.sqlite") as journal:
            report = physical.load(engine, state, rows(3_000), journal, self.about(state), on_progress=seen.append)
            assert (report.created, report.existed, report.failed) == (3_000, 0, ())
            assert journal.complete
            assert physical.verify(engine, state.name, journal) == []
        with Journal(tmp_path / "j" / "a.sqlite") as again:
            assert again.complete
            assert physical.can_resume(again, self.about(state))
            assert not physical.can_resume(again, self.about(state, "s2"))
            assert physical.verify(engine, state.name, again) == []
        assert names.owned(state)
        engine.delete_index(state.name, state.uuid)

    def test_a_name_is_never_taken_from_somebody(self, engine: Engine) -> None:
        state = self.made(engine)
        with pytest.raises(BuildError, match="exists already"):
            physical.create(engine, state.name, body_of(state.name, "x"))
        foreign = f"{fresh_name()}--content--0"
        theirs = engine.create_index(foreign, BODY)
        with pytest.raises(BuildError, match="did not make"):
            physical.create(engine, foreign, body_of(foreign, "x"))
        assert engine.get_index(foreign) == theirs
        for one in (state, theirs):
            engine.delete_index(one.name, one.uuid)

    def test_an_interrupted_load_is_finished_by_sending_again(self, engine: Engine, tmp_path: Path) -> None:
        state = self.made(engine)

        def interrupted() -> Iterator[StoredRow]:
            yield from rows(1_500)
            raise KeyboardInterrupt

        with Journal(tmp_path / "a.sqlite") as journal, pytest.raises(KeyboardInterrupt):
            physical.load(engine, state, interrupted(), journal, self.about(state))
        with Journal(tmp_path / "a.sqlite") as journal:
            assert not journal.complete
            assert physical.can_resume(journal, self.about(state))
            with pytest.raises(BuildError, match="did not finish"):
                physical.verify(engine, state.name, journal)
            report = physical.load(engine, state, rows(2_000), journal, self.about(state))
            assert report.failed == ()
            assert report.created + report.existed == 2_000
            assert physical.verify(engine, state.name, journal) == []
        engine.delete_index(state.name, state.uuid)

    def test_whatever_differs_is_named(self, engine: Engine, tmp_path: Path) -> None:
        state = self.made(engine)
        with Journal(tmp_path / "a.sqlite") as journal:
            physical.load(engine, state, rows(20), journal, self.about(state))
            assert physical.verify(engine, state.name, journal) == []
            engine.delete_document(state.name, "doc-3")
            (changed,) = rows(1, start=7)
            engine.put_document(state.name, "doc-7", {**changed.body, "title": "other"})
            engine.put_document(state.name, "intruder", {"idxopt": {"doc_id": "intruder"}})
            text = "\n".join(physical.verify(engine, state.name, journal))
        assert "lacks 1 of 20 rows: doc-3" in text
        assert "1 rows that were not computed: intruder" in text
        assert "1 rows with other contents: doc-7" in text
        engine.delete_index(state.name, state.uuid)

    def test_a_row_lost_and_another_row_twice_are_not_equal(self, engine: Engine, tmp_path: Path) -> None:
        state = self.made(engine)
        with Journal(tmp_path / "a.sqlite") as journal:
            physical.load(engine, state, [*rows(5), *rows(1)], journal, self.about(state))
            problems = physical.verify(engine, state.name, journal)
        assert "row ids were computed more than once: doc-0" in "\n".join(problems)
        engine.delete_index(state.name, state.uuid)

    def test_a_row_that_the_engine_refuses_leaves_the_load_incomplete(self, engine: Engine, tmp_path: Path) -> None:
        state = self.made(engine)
        bad = StoredRow("bad", "bad", {"year": "not a year", "idxopt": {"doc_id": "bad"}})
        with Journal(tmp_path / "a.sqlite") as journal:
            report = physical.load(engine, state, [*rows(3), bad], journal, self.about(state))
            assert [failure.id for failure in report.failed] == ["bad"]
            assert report.created == 3
            assert not journal.complete
            assert "lacks 1 of 4 rows: bad" in "\n".join(physical.verify(engine, state.name, journal))
        engine.delete_index(state.name, state.uuid)


class ResolverSuite:
    """The live build and its marks."""

    def deployed(self, engine: Engine, name: str, hash8: str = "00000000") -> tuple[Manifest, IndexState]:
        index = f"{name}--content--{hash8}"
        state = physical.create(engine, index, body_of(index, name))
        manifest = manifest_of(name, {"content": state})
        StateWriter(engine).put_manifest(manifest)
        engine.update_aliases(
            [
                AliasAction("add", index, name, {"is_write_index": True}),
                AliasAction("add", index, names.marker_alias(name, manifest.build), {"is_hidden": True}),
            ]
        )
        return manifest, state

    def test_before_the_first_apply_nothing_is_live(self, engine: Engine) -> None:
        assert Resolver(engine, fresh_name()).live() is None

    def test_the_live_build_is_ready_to_search(self, engine: Engine) -> None:
        name = fresh_name()
        manifest, state = self.deployed(engine, name)
        live = Resolver(engine, name).live()
        assert live is not None
        assert live.manifest == manifest
        assert live.indices == {"content": state.name}
        assert [(leg.key, leg.index) for leg in live.legs] == [("content.lexical", state.name)]
        assert live.program.name == "x"
        assert live.damage == ()
        assert marked_builds(engine, name) == {manifest.build: {state.name}}

    def test_a_switch_is_seen_after_five_seconds_or_at_once_when_told(self, engine: Engine) -> None:
        name = fresh_name()
        first, state = self.deployed(engine, name)
        clock = ManualClock()
        resolver = Resolver(engine, name, clock=clock)
        assert resolver.live() is resolver.live()
        second = manifest_of(name, {"content": state}, message="weights")
        StateWriter(engine).put_manifest(second)
        engine.update_aliases(
            [
                AliasAction("remove", state.name, names.marker_alias(name, first.build)),
                AliasAction("add", state.name, names.marker_alias(name, second.build), {"is_hidden": True}),
            ]
        )

        def build() -> str:
            live = resolver.live()
            assert live is not None
            return live.manifest.build

        clock.time += 4.9
        assert build() == first.build
        clock.time += 0.1
        assert build() == second.build
        resolver.invalidate()
        assert build() == second.build

    def test_contradicting_marks_are_errors(self, engine: Engine) -> None:
        name = fresh_name()
        manifest, state = self.deployed(engine, name)
        stray = AliasAction("add", state.name, names.marker_alias(name, "ffffffff"), {"is_hidden": True})
        engine.update_aliases([stray])
        with pytest.raises(BuildError, match="several builds are marked as live"):
            Resolver(engine, name).live()
        engine.update_aliases([AliasAction("remove", state.name, names.marker_alias(name, manifest.build))])
        with pytest.raises(BuildError, match="live build ffffffff has no manifest") as caught:
            Resolver(engine, name).live()
        assert caught.value.remedy

    def test_damaged_aliases_are_told_and_searches_go_on(self, engine: Engine) -> None:
        name = fresh_name()
        manifest, state = self.deployed(engine, name)
        other = physical.create(engine, f"{name}--content--11111111", body_of(f"{name}--content--11111111", name))
        engine.update_aliases([AliasAction("remove", state.name, name), AliasAction("add", other.name, name)])
        live = Resolver(engine, name).live()
        assert live is not None
        assert live.manifest == manifest
        assert live.damage == (f"the alias {name} is on {other.name}, which is not of the live build",)
        engine.update_aliases([AliasAction("remove", other.name, name)])
        live = Resolver(engine, name).live()
        assert live is not None
        assert live.damage == (f"the alias {name} is missing",)
