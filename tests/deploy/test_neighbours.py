"""What belongs to another name, to somebody else, or to nobody any more is neither damaged nor in the way."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest

from idxopt.builds import names
from idxopt.builds.state import StateStore, StateWriter
from idxopt.deploy.destroy import destroy
from idxopt.deploy.loading import tables_of
from idxopt.deploy.observed import observe
from idxopt.deploy.status import read_status
from idxopt.deploy.writes import switch_baseline
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import AliasAction, Engine
from idxopt.errors import BuildError
from tests.deploy.harness import options, plan_of, program, put_live
from tests.deploy.test_going_back import with_terms


def test_the_same_program_under_another_name_loses_nothing(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    other = f"t{secrets.token_hex(4)}"
    put_live(engine, with_terms(name, 5), data, tmp_path)
    put_live(engine, with_terms(other, 5), data, tmp_path)
    destroy(engine, other, settings=options(tmp_path).lock)
    live = observe(engine, name).live
    assert live is not None
    assert tables_of(StateStore(engine), live).documents == 40
    assert len(switch_baseline(engine, live).ledger) == 40


def test_collecting_leaves_the_tables_of_another_name(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    other = f"t{secrets.token_hex(4)}"
    put_live(engine, with_terms(name, 5), data, tmp_path)
    put_live(engine, with_terms(other, 5), data, tmp_path)
    put_live(engine, program(other, views=1), data, tmp_path, keep=0)
    live = observe(engine, name).live
    assert live is not None
    assert tables_of(StateStore(engine), live).documents == 40
    assert len(switch_baseline(engine, live).ledger) == 40


def test_destroy_leaves_no_tables(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, with_terms(name, 5), data, tmp_path)
    live = observe(engine, name).live
    assert live is not None
    destroy(engine, name, settings=options(tmp_path).lock)
    with pytest.raises(BuildError):
        tables_of(StateStore(engine), live)


def test_destroy_is_the_remedy_for_a_lost_manifest(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted = program(name, views=2)
    lost = put_live(engine, wanted, data, tmp_path)
    StateWriter(engine).delete_manifest(name, lost.build)
    with pytest.raises(BuildError) as refused:
        plan_of(engine, wanted)
    assert "destroy" in str(refused.value)
    destroy(engine, name, settings=options(tmp_path).lock)
    assert put_live(engine, wanted, data, tmp_path).rows["content"] == 40
    assert plan_of(engine, wanted).empty


def test_status_tells_of_a_public_alias_on_a_foreign_index(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    foreign = foreign_index(engine, f"x{name}")
    put_live(engine, program(name, views=1), data, tmp_path)
    engine.update_aliases([AliasAction("add", foreign, name)])
    try:
        status = read_status(engine, name, cluster="test")
        assert status.live is not None
        assert any(foreign in note for note in status.notes)
    finally:
        drop(engine, foreign)


def test_a_second_marker_is_put_away_and_readers_go_on(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    from tests.deploy.harness import answers

    wanted = program(name, views=1)
    put_live(engine, wanted, data, tmp_path)
    before = answers(engine, name)
    live = observe(engine, name).live
    assert live is not None
    stray = names.marker_alias(name, "00c0ffee")
    engine.update_aliases([AliasAction("add", live.views["content"].index, stray, {"is_hidden": True})])
    assert answers(engine, name) == before
    plan = plan_of(engine, wanted)
    assert [change.subject for change in plan.changes] == [f"{stray} -> {live.views['content'].index}"]
    put_live(engine, wanted, data, tmp_path)
    assert plan_of(engine, wanted).empty


def test_a_switch_takes_away_no_alias_that_the_plan_does_not_show(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    wanted = program(name, views=1)
    put_live(engine, wanted, data, tmp_path)
    foreign = foreign_index(engine, f"x{name}")
    engine.update_aliases([AliasAction("add", foreign, f"{name}--archive")])
    try:
        for plan in (plan_of(engine, wanted), plan_of(engine, wanted, rebuild=True)):
            assert f"{name}--archive -> {foreign}" in [change.subject for change in plan.changes]
        put_live(engine, wanted, data, tmp_path, intent={"rebuild": True})
        assert plan_of(engine, wanted).empty
    finally:
        drop(engine, foreign)


def test_destroy_leaves_the_aliases_of_foreign_indices(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    foreign = foreign_index(engine, f"x{name}")
    engine.update_aliases([AliasAction("add", foreign, f"{name}--archive")])
    try:
        destroy(engine, name, settings=options(tmp_path).lock)
        state = engine.get_index(foreign)
        assert state is not None
        assert set(state.aliases) == {f"{name}--archive"}
    finally:
        drop(engine, foreign)


def foreign_index(engine: Engine, name: str) -> str:
    engine.create_index(
        name,
        {
            "settings": {"index": {"number_of_shards": 1, "number_of_replicas": 0}},
            "mappings": {"dynamic": False, "properties": {}},
        },
    )
    return name


def drop(engine: Engine, index: str) -> None:
    state = engine.get_index(index)
    if state is not None:
        engine.delete_index(index, state.uuid)


FOREIGN_PIPELINES = [
    {"description": "Somebody's own", "processors": []},
    {"processors": [{"set": {"field": "x", "value": 1}}]},
    {"description": '{"owner": "somebody"}', "processors": []},
]


@pytest.mark.parametrize("body", FOREIGN_PIPELINES)
def test_a_foreign_pipeline_that_has_the_name_is_refused_and_left_alone(
    opensearch_url: str, name: str, data: Path, tmp_path: Path, body: dict[str, Any]
) -> None:
    with OpenSearchEngine.connect(opensearch_url) as node:
        wanted = program(name, views=1)
        (build,) = plan_of(node, wanted).builds
        node.put_pipeline(build.index, body)
        for _ in range(2):
            with pytest.raises(BuildError, match="pipeline of that name exists and is not ours") as refused:
                put_live(node, wanted, data, tmp_path)
            assert refused.value.place == build.index
            assert refused.value.remedy
        assert node.get_pipeline(build.index) == body
        node.delete_pipeline(build.index)
        put_live(node, wanted, data, tmp_path)
        assert node.get_pipeline(build.index) != body
        node.put_pipeline(build.index, body)
        with pytest.raises(BuildError, match="not ours"):
            plan_of(node, wanted)
        node.delete_pipeline(build.index)
        put_live(node, wanted, data, tmp_path)
        assert plan_of(node, wanted).empty
