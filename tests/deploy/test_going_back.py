"""Going back and forth between builds: the data, templates, tables and records that each build stands for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from idxopt.builds.state import StateStore
from idxopt.deploy.observed import observe
from idxopt.deploy.rollback import rollback_plan
from idxopt.deploy.status import read_status
from idxopt.deploy.steps import BuildIndex
from idxopt.engines.port import Engine
from idxopt.errors import BuildError
from idxopt.program.canonical import canonical
from idxopt.program.schema import Program
from idxopt.program.validate import program_from
from tests.deploy.harness import answers, documents, plan_of, program, put_live, roll_back, write_documents


def with_lead(name: str, words: int) -> Program:
    changed = canonical(program(name))
    changed["views"]["leads"]["steps"][0]["words"] = words
    changed["views"]["leads"]["lexical"]["fields"]["lead"]["k1"] = 0.5 + words / 100
    return program_from(changed, "test")


def with_terms(name: str, top: int) -> Program:
    """A program that needs corpus tables."""
    changed = canonical(program(name, views=2))
    terms = {"op": "enrich", "with": "prime_terms", "into": "terms", "top": top}
    changed["views"]["titles"]["steps"] = [terms]
    changed["views"]["titles"]["lexical"]["fields"]["terms"] = {"analyzer": "english"}
    return program_from(changed, "test")


def built(plan: Any) -> list[str]:
    return [step.view for step in plan.steps if isinstance(step, BuildIndex)]


def test_rebuild_after_a_rollback_reads_the_source_again(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted = program(name, views=1)
    put_live(engine, wanted, data, tmp_path)
    put_live(engine, wanted, data, tmp_path, intent={"rebuild": True})
    roll_back(engine, name, tmp_path)
    write_documents(data, documents(45))
    applied = put_live(engine, wanted, data, tmp_path, intent={"rebuild": True})
    assert applied.rows == {"content": 45}
    assert plan_of(engine, wanted).empty


def test_after_a_rollback_the_earlier_program_has_an_empty_plan(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    put_live(engine, with_lead(name, 12), data, tmp_path)
    put_live(engine, with_lead(name, 20), data, tmp_path)
    roll_back(engine, name, tmp_path)
    plan = plan_of(engine, with_lead(name, 12))
    assert plan.empty, plan.changes
    assert not read_status(engine, name, cluster="test").drifted


def test_an_earlier_program_applied_again_says_how_old_its_rows_are(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    first = put_live(engine, with_lead(name, 12), data, tmp_path)
    write_documents(data, documents(30))
    changed = canonical(program(name))
    changed["views"]["content"]["steps"] = []
    put_live(engine, program_from(changed, "test"), data, tmp_path, keep=5)
    plan = plan_of(engine, with_lead(name, 12))
    assert any(first.build in note and "--rebuild" in note for note in plan.notes), plan.notes
    again = put_live(engine, with_lead(name, 12), data, tmp_path, keep=5)
    manifests = {manifest.build: manifest for manifest in StateStore(engine).manifests(name)}
    assert manifests[again.build].source == manifests[first.build].source


def test_reused_rows_keep_the_tables_they_were_made_with(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=2), data, tmp_path)
    second = put_live(engine, with_terms(name, 5), data, tmp_path, keep=5)
    put_live(engine, program(name, views=2), data, tmp_path, keep=5)
    third = put_live(engine, with_terms(name, 5), data, tmp_path, keep=5)
    assert not third.rows
    manifests = {manifest.build: manifest for manifest in StateStore(engine).manifests(name)}
    assert manifests[second.build].tables is not None
    assert manifests[third.build].tables == manifests[second.build].tables


def test_tables_of_a_kept_build_are_not_mixed_with_new_ones(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    put_live(engine, with_terms(name, 5), data, tmp_path, keep=5)
    put_live(engine, program(name, views=2), data, tmp_path, keep=5)
    write_documents(data, documents(45))
    more = canonical(with_terms(name, 5))
    lines = {"op": "discard", "span": {"repeated_lines": {"min_docs": 20}}}
    more["views"]["content"]["steps"] = [lines, *more["views"]["content"]["steps"]]
    applied = put_live(engine, program_from(more, "test"), data, tmp_path, keep=5)
    assert applied.rows == {"content": 45, "titles": 45}


def test_a_deleted_primary_index_can_be_rebuilt_twice(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted = program(name, views=2)
    put_live(engine, wanted, data, tmp_path)
    live = observe(engine, name).live
    assert live is not None
    place = live.views["content"]
    engine.delete_index(place.index, place.uuid)
    put_live(engine, wanted, data, tmp_path)
    assert plan_of(engine, wanted).empty
    assert read_status(engine, name, cluster="test").notes == ()
    assert put_live(engine, wanted, data, tmp_path, intent={"rebuild": True}).rows["content"] == 40


def test_no_rollback_to_a_part_of_a_build(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    put_live(engine, program(name, views=1), data, tmp_path)
    before = answers(engine, name)
    put_live(engine, program(name, views=3), data, tmp_path, intent={"only": ("titles",)})
    live = observe(engine, name).live
    part = next(build for build in observe(engine, name).builds if live is None or build != live.build)
    with pytest.raises(BuildError):
        rollback_plan(observe(engine, name), to=part, cluster="test")
    assert part not in read_status(engine, name, cluster="test").kept
    assert answers(engine, name) == before


def test_parts_built_one_by_one_share_their_tables(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted = with_terms(name, 5)
    put_live(engine, wanted, data, tmp_path, intent={"only": ("titles",)}, keep=5)
    write_documents(data, documents(45))
    put_live(engine, wanted, data, tmp_path, intent={"only": ("content",)}, keep=5, grace_s=600)
    builds = observe(engine, name)
    assert builds.live is not None
    assert builds.live.tables is not None
    part = next(build for build in builds.builds.values() if build.build != builds.live.build)
    assert builds.live.tables == part.tables
