"""Two builds side by side: no alias moves, nothing of the candidate is collected, and its failures reach nobody."""

from __future__ import annotations

import datetime as dt
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from idxopt.builds import names
from idxopt.builds.canary import put_canary, read_canary
from idxopt.builds.lock import Lock
from idxopt.builds.resolver import Resolver
from idxopt.builds.state import StateWriter
from idxopt.deploy import canary as canaries
from idxopt.deploy.canary import stop_canary
from idxopt.deploy.collect import find_garbage
from idxopt.deploy.destroy import destroy
from idxopt.deploy.doctor import examine_live
from idxopt.deploy.observed import observe
from idxopt.deploy.status import read_status
from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.port import Engine
from idxopt.errors import BuildError, GateRefused, LegFailed, LockedError
from idxopt.models.opening import Models
from idxopt.search import Searcher, SearchQuery
from tests.deploy.harness import (
    answers,
    documents,
    options,
    plan_of,
    program,
    put_live,
    roll_back,
    start,
    write_documents,
)
from tests.unit.builds.samples import ManualClock

SESSIONS = [f"session-{number}" for number in range(40)]
LATER = dt.datetime(2100, 1, 1, tzinfo=dt.UTC)


def searcher(engine: Engine, name: str, ttl: float = 0.0) -> Searcher:
    return Searcher(engine, Resolver(engine, name, ttl=ttl))


def builds_by_session(found: Searcher) -> dict[str, tuple[str | None, str]]:
    results = {session: found.search(SearchQuery("shard replica", session_key=session)) for session in SESSIONS}
    return {session: (result.arm, result.build) for session, result in results.items()}


def indices_of(engine: Engine, name: str, build: str) -> set[str]:
    return {view.index for view in observe(engine, name).builds[build].views.values()}


def status_notes(engine: Engine, name: str) -> tuple[str, ...]:
    return read_status(engine, name, cluster="test").notes


def test_queries_are_split_and_no_alias_moves(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    first = put_live(engine, program(name, views=2), data, tmp_path)
    before = observe(engine, name)
    started = start(engine, program(name), data, tmp_path, 0.3)
    after = observe(engine, name)
    assert after.aliases == before.aliases
    assert after.templates == before.templates
    assert after.live == before.live
    assert set(started.rows) == {"sections", "leads"}
    assert plan_of(engine, program(name, views=2)).empty
    assert read_status(engine, name, cluster="test").canary == started.canary

    found = builds_by_session(searcher(engine, name))
    assert set(found.values()) == {("incumbent", first.build), ("candidate", started.canary.candidate)}
    assert found == builds_by_session(searcher(engine, name))
    explicit = searcher(engine, name)
    for session in SESSIONS[:5]:
        for arm, build in (("incumbent", first.build), ("candidate", started.canary.candidate)):
            result = explicit.search(SearchQuery("shard", session_key=session, arm=arm))  # type: ignore[arg-type]
            assert (result.arm, result.build) == (arm, build)
    assert explicit.live().manifest.build == first.build

    built = indices_of(engine, name, started.canary.candidate)
    promoted = put_live(engine, program(name), data, tmp_path)
    assert promoted.rows == {}
    assert observe(engine, name).canary is None
    assert indices_of(engine, name, promoted.build) == built
    assert {arm for arm, _ in builds_by_session(searcher(engine, name)).values()} == {None}
    assert plan_of(engine, program(name)).empty


def test_a_change_of_weights_alone_needs_no_index(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=2), data, tmp_path)
    started = start(engine, program(name, views=2, fusion={"method": "rrf", "k": 10}), data, tmp_path)
    assert started.rows == {}
    assert {arm for arm, _ in builds_by_session(searcher(engine, name)).values()} == {"incumbent", "candidate"}


def test_collected_only_after_the_canary(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    started = start(engine, program(name, views=2), data, tmp_path)
    own = indices_of(engine, name, started.canary.candidate) - indices_of(engine, name, started.canary.incumbent)
    assert own
    running = find_garbage(observe(engine, name), keep=0, grace_s=0.0, now=LATER)
    assert not set(dict(running.indices)) & own
    assert started.canary.candidate not in running.builds

    stop_canary(engine, name, settings=options(tmp_path).lock)
    with pytest.raises(BuildError):
        stop_canary(engine, name, settings=options(tmp_path).lock)
    stopped = observe(engine, name)
    within = find_garbage(stopped, keep=0, grace_s=600.0, now=dt.datetime.now(dt.UTC))
    assert not within.indices
    assert {arm for arm, _ in builds_by_session(searcher(engine, name)).values()} == {None}
    applied = put_live(engine, program(name, views=1), data, tmp_path, intent={"rebuild": True}, keep=0)
    assert own <= set(applied.collected)


def test_a_candidate_that_is_gone_is_passed_over(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    first = put_live(engine, program(name, views=1), data, tmp_path)
    started = start(engine, program(name, views=2), data, tmp_path, 0.99)
    found = searcher(engine, name, ttl=3600.0)
    session = next(one for one, (arm, _) in builds_by_session(found).items() if arm == "candidate")
    index = next(one for one in indices_of(engine, name, started.canary.candidate) if "--titles--" in one)
    state = engine.get_index(index)
    assert state is not None
    engine.delete_index(index, state.uuid)
    result = found.search(SearchQuery("shard", session_key=session))
    assert (result.arm, result.build) == ("incumbent", first.build)
    assert result.hits
    assert result.fallback is not None
    with pytest.raises(LegFailed):
        found.search(SearchQuery("shard", arm="candidate"))


def test_only_the_candidate_refuses_a_filter(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    without = {"fields": {"title": "title", "body": "text"}, "markup": "markdown"}
    start(engine, program(name, views=1, source=without), data, tmp_path, 0.99)
    found = searcher(engine, name)
    german = [
        found.search(SearchQuery("part", filter={"term": {"lang": "de"}}, session_key=one)) for one in SESSIONS[:5]
    ]
    assert all(result.hits for result in german)
    assert any(result.fallback is not None and "lang" in result.fallback for result in german)


def test_readers_learn_of_it_within_five_seconds(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    clock = ManualClock()
    found = Searcher(engine, Resolver(engine, name, clock=clock))
    assert {arm for arm, _ in builds_by_session(found).values()} == {None}
    start(engine, program(name, views=1, fusion={"method": "rrf", "k": 10}), data, tmp_path)
    assert {arm for arm, _ in builds_by_session(found).values()} == {None}
    clock.sleep(5.0)
    assert {arm for arm, _ in builds_by_session(found).values()} == {"incumbent", "candidate"}
    stop_canary(engine, name, settings=options(tmp_path).lock)
    assert {arm for arm, _ in builds_by_session(found).values()} == {"incumbent", "candidate"}
    clock.sleep(5.0)
    assert {arm for arm, _ in builds_by_session(found).values()} == {None}


def test_other_runs_while_it_runs(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    first = put_live(engine, program(name, views=1), data, tmp_path)
    second = put_live(engine, program(name, views=2), data, tmp_path)
    started = start(engine, program(name, views=3), data, tmp_path)
    with pytest.raises(BuildError) as again:
        start(engine, program(name, views=4), data, tmp_path)
    assert "idxopt canary stop" in str(again.value)
    with pytest.raises(GateRefused) as refused:
        put_live(engine, program(name, views=4), data, tmp_path)
    assert "idxopt canary stop" in str(refused.value)
    assert observe(engine, name).canary == started.canary
    back = roll_back(engine, name, tmp_path)
    assert (back.build, back.previous) == (first.build, second.build)
    assert any("has ended" in warning for warning in back.warnings)
    assert read_canary(engine, name) is None
    start(engine, program(name, views=3), data, tmp_path)
    destroy(engine, name, settings=options(tmp_path).lock)
    assert read_canary(engine, name) is None


def test_a_record_of_another_live_build_is_out_of_force(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    started = start(engine, program(name, views=2), data, tmp_path)
    put_live(engine, program(name, views=2), data, tmp_path)
    put_canary(engine, started.canary, over=None)  # as a run leaves it that was killed right after its switch
    assert {arm for arm, _ in builds_by_session(searcher(engine, name)).values()} == {None}
    with pytest.raises(BuildError):
        searcher(engine, name).search(SearchQuery("shard", arm="candidate"))
    other = start(engine, program(name, views=3), data, tmp_path)
    assert observe(engine, name).canary == other.canary


def test_superseded_before_the_record(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    started = start(engine, program(name, views=2), data, tmp_path)
    stop_canary(engine, name, settings=options(tmp_path).lock)
    with Lock(engine, name, "canary start", settings=options(tmp_path).lock) as lock:
        engine.update_aliases([lock.fence_removal()])  # what a run does first that takes the lock over
        with pytest.raises(LockedError):
            canaries._record(engine, started.canary, lock)
    assert read_canary(engine, name) is None


def test_the_same_program_over_newer_documents(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    made = documents()
    made[3]["text"] += "\nquagga\n"
    write_documents(data, made)
    started = start(engine, program(name, views=1), data, tmp_path, intent={"rebuild": True})
    found = searcher(engine, name)
    assert found.search(SearchQuery("quagga", arm="candidate")).hits[0].doc_id == "doc-003"
    assert not found.search(SearchQuery("quagga", arm="incumbent")).hits
    stop_canary(engine, name, settings=options(tmp_path).lock)
    made[4]["text"] += "\nokapi\n"
    write_documents(data, made)
    put_live(engine, program(name, views=1), data, tmp_path, intent={"rebuild": True})  # reads them again
    assert found.search(SearchQuery("okapi")).hits[0].doc_id == "doc-004"
    assert started.canary.candidate


def test_promoted_with_rebuild_its_index_is_used(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    start(engine, program(name, views=1), data, tmp_path, intent={"rebuild": True})
    assert put_live(engine, program(name, views=1), data, tmp_path, intent={"rebuild": True}).rows == {}


def test_a_damaged_record_stops_writes_that_would_collide_and_no_others(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    first = put_live(engine, program(name, views=1), data, tmp_path)
    second = put_live(engine, program(name, views=2), data, tmp_path)
    started = start(engine, program(name, views=3), data, tmp_path)
    own = indices_of(engine, name, started.canary.candidate)
    damaged = {"kind": "canary", "name": name, "build": "?", "canary": {"share": "half"}}
    engine.put_document(names.BUILDS_INDEX, f"canary:{name}", damaged, create=False, refresh=True)

    def untouched() -> bool:
        found = engine.get_document(names.BUILDS_INDEX, f"canary:{name}")
        return found is not None and found.source == damaged and own <= set(observe(engine, name).indices)

    stop, why = f"idxopt canary stop {name}", "name: Field required"
    same, other = plan_of(engine, program(name, views=2)), plan_of(engine, program(name, views=4))
    assert same.empty
    assert any(note.startswith("!") and stop in note and why in note for note in same.notes)
    assert any("apply is refused" in note and stop in note for note in other.notes)
    assert [note.startswith("the record") and why in note for note in status_notes(engine, name) if stop in note] == [
        True
    ]
    (check,) = (
        one
        for one in examine_live(engine, lambda program: Models(program.models, {}, cache=None, secret=str))
        if one.what == f"{name}: canary"
    )
    assert check.verdict == "warning"
    assert stop in check.remedy
    assert why in check.detail
    for views in (3, 4):  # the candidate's program too: nobody can know that it is
        with pytest.raises(GateRefused, match=stop):
            put_live(engine, program(name, views=views), data, tmp_path)
    with pytest.raises(BuildError, match=stop):
        start(engine, program(name, views=4), data, tmp_path)
    assert {arm for arm, _ in builds_by_session(searcher(engine, name)).values()} == {None}
    assert untouched()

    titles = next(one for one in engine.templates() if one.name.startswith(f"{name}--"))
    engine.delete_template(titles.name)
    put_live(engine, program(name, views=2), data, tmp_path, keep=0)  # a repair
    back = roll_back(engine, name, tmp_path, keep=0)
    assert (back.build, back.previous) == (first.build, second.build)
    assert untouched()

    assert stop_canary(engine, name, settings=options(tmp_path).lock) is None
    assert put_live(engine, program(name, views=3), data, tmp_path).rows == {}


def test_a_damaged_record_stays_also_while_nothing_is_live(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    StateWriter(engine).ensure()
    damaged = {"kind": "canary", "name": name, "build": "?"}
    engine.put_document(names.BUILDS_INDEX, f"canary:{name}", damaged, create=True, refresh=True)
    stop, why = f"idxopt canary stop {name}", "it lacks 'canary'"
    assert any(
        "apply is refused" in note and stop in note and why in note for note in plan_of(engine, program(name)).notes
    )
    assert any(stop in note and why in note for note in status_notes(engine, name))
    with pytest.raises(GateRefused, match=stop):
        put_live(engine, program(name), data, tmp_path)
    found = engine.get_document(names.BUILDS_INDEX, f"canary:{name}")
    assert found is not None
    assert found.source == damaged
    assert stop_canary(engine, name, settings=options(tmp_path).lock) is None
    put_live(engine, program(name), data, tmp_path)


@pytest.mark.timeout(900)
def test_killed_on_the_way_and_started_again(tmp_path: Path) -> None:
    name, data, folder = "handbook", tmp_path / "documents.jsonl", tmp_path / "local"
    write_documents(data, documents())
    put_live(EmbeddedEngine(folder), program(name, views=2), data, tmp_path)
    before = answers(EmbeddedEngine(folder), name)
    task = {"name": name, "data": str(data), "cache": str(tmp_path), "folder": str(folder), "share": 0.5}
    for point in (5, 25, 60, 90):
        done = subprocess.run(
            [sys.executable, "-m", "tests.deploy.process", json.dumps({**task, "kill_at": point})],
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        engine = EmbeddedEngine(folder)
        if observe(engine, name).canary is None:
            assert answers(engine, name) == before
        engine.close()
    engine = EmbeddedEngine(folder)
    if observe(engine, name).canary is None:
        start(engine, program(name), data, tmp_path)
    assert {arm for arm, _ in builds_by_session(searcher(engine, name)).values()} == {"incumbent", "candidate"}
    assert plan_of(engine, program(name, views=2)).empty
