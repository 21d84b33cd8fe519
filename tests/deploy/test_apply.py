"""Plan, apply, rollback, destroy: what a search engineer relies on."""

from __future__ import annotations

from pathlib import Path

import pytest

from idxopt.builds.state import StateStore
from idxopt.deploy.destroy import destroy
from idxopt.deploy.observed import observe
from idxopt.deploy.status import read_status
from idxopt.deploy.steps import BuildIndex, Switch
from idxopt.engines.port import Engine
from idxopt.errors import BuildError, GateRefused
from idxopt.program.canonical import canonical
from idxopt.program.validate import program_from
from idxopt.sources.opening import open_source
from tests.deploy.harness import answers, documents, options, plan_of, program, put_live, roll_back, write_documents


def test_first_apply_serves_and_second_plan_is_empty(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted = program(name)
    applied = put_live(engine, wanted, data, tmp_path, message="first")
    assert set(applied.rows) == set(wanted.views)
    assert applied.rows["content"] == 40
    assert applied.rows["sections"] > 40
    found = answers(engine, name)
    assert all(found)
    assert found[0][0][2]
    assert plan_of(engine, wanted).empty
    history = StateStore(engine).history(name)
    assert [(event.what, event.build, event.message) for event in history] == [("apply", applied.build, "first")]


def test_weights_move_no_index(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name), data, tmp_path)
    before = {index: state.uuid for index, state in observe(engine, name).indices.items()}
    heavier = program(name, fusion={"weights": {"titles.lexical": 3.0}})
    plan = plan_of(engine, heavier)
    assert [type(step) for step in plan.steps] == [Switch]
    assert [change.path for change in plan.program_changes] == ["fusion"]
    old = answers(engine, name)
    put_live(engine, heavier, data, tmp_path)
    assert {index: state.uuid for index, state in observe(engine, name).indices.items()} == before
    assert answers(engine, name) != old
    assert plan_of(engine, heavier).empty


def test_only_changed_views_are_rebuilt(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name), data, tmp_path)
    changed = canonical(program(name))
    changed["views"]["leads"]["steps"][0]["words"] = 20
    new = program_from(changed, "test")
    plan = plan_of(engine, new)
    assert [step.view for step in plan.steps if isinstance(step, BuildIndex)] == ["leads"]
    assert [change.path for change in plan.program_changes] == ["views.leads.steps[0].words"]
    applied = put_live(engine, new, data, tmp_path)
    assert set(applied.rows) == {"leads"}


def test_rollback_restores_identical_results(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    first = put_live(engine, program(name), data, tmp_path)
    before = answers(engine, name)
    write_documents(data, documents(30))
    second = put_live(engine, program(name), data, tmp_path, intent={"rebuild": True})
    assert answers(engine, name) != before
    back = roll_back(engine, name, tmp_path)
    assert (back.build, back.previous) == (first.build, second.build)
    assert answers(engine, name) == before
    forth = roll_back(engine, name, tmp_path)
    assert forth.build == second.build


def test_old_builds_are_collected_after_grace(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted = program(name, views=1)
    first = put_live(engine, wanted, data, tmp_path)
    put_live(engine, wanted, data, tmp_path, intent={"rebuild": True})
    kept = put_live(engine, wanted, data, tmp_path, intent={"rebuild": True}, grace_s=600.0)
    assert kept.collected == ()
    assert len(observe(engine, name).indices) == 3
    last = put_live(engine, wanted, data, tmp_path, intent={"rebuild": True})
    assert len(last.collected) == 2
    assert len(observe(engine, name).indices) == 2
    assert first.build not in observe(engine, name).builds


def test_refused_gate_leaves_the_old_build(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name), data, tmp_path)
    before = answers(engine, name)
    bad = documents()
    bad[3]["text"] = 7
    bad[4].pop("_id")
    write_documents(data, bad)
    with pytest.raises(GateRefused) as refused:
        put_live(engine, program(name), data, tmp_path, intent={"rebuild": True})
    assert "1 document" in str(refused.value)
    assert answers(engine, name) == before


def test_status_tells_drift_and_lag(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted = program(name)
    put_live(engine, wanted, data, tmp_path)
    source = open_source(str(data), wanted)
    status = read_status(engine, name, cluster="test", source=source)
    assert status.live is not None
    assert not status.drifted
    assert not status.lag
    write_documents(data, documents(41))
    status = read_status(engine, name, cluster="test", source=source)
    assert status.lag
    assert not status.drifted
    assert {view.view: view.rows for view in status.views}["content"] == 40


def test_destroy_removes_ours_only(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name), data, tmp_path)
    foreign = f"{name}--notes"
    engine.create_index(
        foreign,
        {
            "settings": {"index": {"number_of_shards": 1, "number_of_replicas": 0}},
            "mappings": {"dynamic": False, "properties": {}},
        },
    )
    gone = destroy(engine, name, settings=options(tmp_path).lock)
    assert gone.foreign == (foreign,)
    observed = observe(engine, name)
    assert set(observed.indices) == {foreign}
    assert not observed.aliases
    assert not observed.builds
    assert not [template for template in observed.templates if template.startswith(f"{name}--")]
    with pytest.raises(BuildError):
        destroy(engine, name, settings=options(tmp_path).lock)
    state = engine.get_index(foreign)
    assert state is not None
    engine.delete_index(foreign, state.uuid)
