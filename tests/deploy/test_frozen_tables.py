"""Corpus tables across applies: frozen, reused, and extended by what a changed program needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from idxopt.builds.state import StateStore
from idxopt.deploy.observed import observe
from idxopt.engines.port import Engine
from idxopt.operators.tables import Tables, tables_needed
from idxopt.program.canonical import canonical
from idxopt.program.schema import Program
from idxopt.program.validate import program_from
from tests.deploy.harness import documents, plan_of, program, put_live, write_documents


def with_steps(name: str, *steps: dict[str, Any]) -> Program:
    value = canonical(program(name, views=1))
    value["views"]["content"]["steps"].extend(steps)
    return program_from(value, "test")


def live_tables(engine: Engine, name: str) -> Tables:
    live = observe(engine, name).live
    assert live is not None
    assert live.tables is not None
    return Tables.from_json(StateStore(engine).tables(live.tables.digest))


def test_frozen_tables_stay_and_what_a_changed_program_needs_comes_beside_them(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    terms = {"op": "enrich", "with": "prime_terms", "into": "terms"}
    words = {"op": "enrich", "with": "keywords", "field": "title", "into": "words"}
    put_live(engine, with_steps(name, terms), data, tmp_path)
    first = live_tables(engine, name)
    assert first.documents == 40
    write_documents(data, documents(30))
    more = with_steps(name, terms, words)
    put_live(engine, more, data, tmp_path)
    second = live_tables(engine, name)
    assert second.frequencies["prime", "body"] == first.frequencies["prime", "body"]
    assert second.frequencies["words", "title"].documents == 30
    assert not second.missing(tables_needed(more))
    assert plan_of(engine, more).empty
    put_live(engine, with_steps(name, terms), data, tmp_path)
    assert live_tables(engine, name).digest == second.digest
