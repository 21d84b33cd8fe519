"""What a sweep deletes, and what it leaves: as a decision, and through the command line on an embedded engine."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.port import AliasAction, IndexState
from idxopt.errors import ExitCode, Forbidden
from idxopt.optimizer.trials.marks import Mark
from idxopt.optimizer.trials.sweep import Found, carry_out, decide, plan_sweep
from tests.e2e.runner import run

NOW = dt.datetime.now(dt.UTC)
BODY = {"settings": {"index": {"hidden": True}}}


def mark(study: str, number: int, hours: float) -> Mark:
    return Mark(study, f"{number:08x}" * 8, "cd" * 32, NOW, NOW + dt.timedelta(hours=hours))


OVER, RUNNING, OTHER = mark("s1", 1, -1), mark("s1", 2, 5), mark("s2", 3, 5)


def state(of: Mark) -> IndexState:
    return IndexState(of.index, "uuid", {}, {"_meta": of.meta()}, {})


@pytest.mark.parametrize(
    ("options", "deleted"),
    [
        ({}, [OVER]),
        ({"study": "s1"}, [OVER, RUNNING]),
        ({"study": "s2"}, [OTHER]),
        ({"study": "s3"}, []),
        ({"every": True}, [OVER, RUNNING, OTHER]),
    ],
    ids=["those whose time is over", "one study", "another study", "no study", "all"],
)
def test_who_goes(options, deleted):
    clone = replace(state(OVER), name=".idxopt-trial-s1-99999999")
    bare = IndexState(".idxopt-trial-s1-88888888", "uuid", {}, {}, {})
    used = replace(state(mark("s1", 4, -1)), aliases={"theirs": {}})
    made = decide([state(OVER), state(RUNNING), state(OTHER), clone, bare, used], NOW, **options)
    assert [one.index for one in made.delete] == [one.index for one in deleted]
    reasons = {one.index: one.reason for one in made.left}
    assert len(reasons) == 6 - len(deleted)
    assert "no mark" in reasons[clone.name]
    assert "no mark" in reasons[bare.name]
    assert "alias theirs" in reasons[used.name]


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EmbeddedEngine]:
    """The engine of the current folder's configuration, with three trials, one copy, and an index of somebody."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "idxopt.toml").write_text('default = "here"\n[clusters.here]\nengine = "embedded"\nfolder = "index"\n')
    opened = EmbeddedEngine(tmp_path / "index")
    for one in (OVER, RUNNING, OTHER):
        opened.create_index(one.index, {**BODY, "mappings": {"dynamic": False, "_meta": one.meta()}})
    opened.create_index(".idxopt-trial-s1-99999999", {**BODY, "mappings": {"dynamic": False, "_meta": OVER.meta()}})
    opened.create_index("theirs", {**BODY, "mappings": {"dynamic": False, "_meta": OVER.meta()}})
    yield opened
    opened.close()


def listed(engine: EmbeddedEngine) -> set[str]:
    return {state.name for state in engine.list_indices("*")}


def test_without_options_only_those_whose_time_is_over(engine):
    before = listed(engine)
    ran = run("sweep")
    assert ran.code == ExitCode.OK, ran.err
    assert before - listed(engine) == {OVER.index}
    assert f"deleted {OVER.index}" in ran.out
    assert f"left    {RUNNING.index}: study s1 may still use it" in ran.out
    assert "left    .idxopt-trial-s1-99999999: it carries no mark" in ran.out
    assert "theirs" not in ran.out


def test_a_study_asks_first(engine):
    before = listed(engine)
    refused = run("sweep", "--study", "s1")
    assert refused.code == ExitCode.USAGE
    assert "add --yes" in refused.err
    assert run("sweep", "--study", "s1", typed="no\n").code == ExitCode.ERROR
    assert listed(engine) == before
    ran = run("sweep", "--study", "s1", typed="yes\n")
    assert ran.code == ExitCode.OK, ran.err
    assert f"- {RUNNING.index}" in ran.err, "what will go is shown before it is asked"
    assert before - listed(engine) == {OVER.index, RUNNING.index}


def test_all_in_a_script(engine):
    before = listed(engine)
    told = run("sweep", "--all", "--yes", "--json").document
    assert [one["index"] for one in told["deleted"]] == sorted(one.index for one in (OVER, RUNNING, OTHER))
    assert [one["index"] for one in told["left"]] == [".idxopt-trial-s1-99999999"]
    assert before - listed(engine) == {OVER.index, RUNNING.index, OTHER.index}
    again = run("sweep", "--all", "--json").document
    assert again["deleted"] == []
    assert run("sweep", "--study", "s1", "--all").code == ExitCode.USAGE
    assert run("sweep", "--study", "*").code == ExitCode.USAGE


def test_nothing_there(engine):
    for state in engine.list_indices("*"):
        engine.delete_index(state.name, state.uuid)
    assert "there are no trial indices" in run("sweep").out


def test_what_was_made_anew_since_it_was_looked_at_stays(engine):
    plan = plan_sweep(engine, NOW, every=True)
    old = engine.get_index(OVER.index)
    assert old is not None
    engine.delete_index(OVER.index, old.uuid)
    engine.create_index(OVER.index, {**BODY, "mappings": {"dynamic": False, "_meta": OVER.meta()}})
    done = carry_out(engine, plan)
    assert OVER.index in listed(engine)
    assert [one.index for one in done.delete] == [RUNNING.index, OTHER.index]
    assert any(one.index == OVER.index and "anew" in one.reason for one in done.left)


def test_an_alias_keeps_a_trial(engine):
    engine.update_aliases([AliasAction("add", OVER.index, "used")])
    assert Found(OVER.index, "", "s1", OVER.expires) not in plan_sweep(engine, NOW, every=True).delete
    run("sweep", "--all", "--yes")
    assert OVER.index in listed(engine)


class _Denying(EmbeddedEngine):
    """The user may delete all but one."""

    def delete_index(self, name: str, uuid: str) -> None:
        if name == OVER.index:
            raise Forbidden("you may not delete it", place=name)
        super().delete_index(name, uuid)


def test_one_that_may_not_be_deleted_keeps_no_other(tmp_path, engine):
    denying = _Denying(tmp_path / "index")
    done = carry_out(denying, plan_sweep(denying, NOW, every=True))
    denying.close()
    assert [one.index for one in done.delete] == [RUNNING.index, OTHER.index]
    assert [(one.index, one.reason) for one in done.failed] == [(OVER.index, "you may not delete it")]
    assert {OVER.index, RUNNING.index, OTHER.index} & listed(engine) == {OVER.index}


def test_a_failure_is_the_exit_code(engine, monkeypatch):
    monkeypatch.setattr(EmbeddedEngine, "delete_index", _Denying.delete_index)
    ran = run("sweep")
    assert ran.code == ExitCode.ERROR
    assert f"failed  {OVER.index}: you may not delete it" in ran.out
