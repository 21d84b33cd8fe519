"""A plan tells what it saw of the data: documents that cannot be indexed, and a source that has moved on."""

from __future__ import annotations

from pathlib import Path

import pytest

from idxopt.deploy.estimate import with_estimate
from idxopt.deploy.observed import observe
from idxopt.deploy.status import data_lag
from idxopt.engines.embedded import EmbeddedEngine
from idxopt.errors import GateRefused, SourceError
from idxopt.sources.opening import open_source
from tests.deploy.harness import documents, plan_of, program, put_live, write_documents


@pytest.fixture
def engine(tmp_path: Path) -> EmbeddedEngine:
    return EmbeddedEngine(tmp_path / "local")


def test_bad_documents_in_the_sample_are_told(engine: EmbeddedEngine, data: Path) -> None:
    made = documents()
    for document in made[:3]:
        document.pop("_id")
    write_documents(data, made)
    wanted = program()
    plan = with_estimate(plan_of(engine, wanted), wanted, open_source(str(data), wanted))
    assert plan.estimate is not None
    assert plan.estimate.sampled == 37
    assert any("3 of the first 40 documents" in note for note in plan.notes)


def test_a_source_without_a_usable_document_is_an_error(engine: EmbeddedEngine, data: Path, tmp_path: Path) -> None:
    made = documents()
    for document in made:
        document.pop("_id")
    write_documents(data, made)
    wanted = program()
    with pytest.raises(SourceError):
        with_estimate(plan_of(engine, wanted), wanted, open_source(str(data), wanted))
    with pytest.raises(GateRefused) as refused:
        put_live(engine, wanted, data, tmp_path)
    assert "none is left: 40 documents" in refused.value.message
    assert "rejects.jsonl" in str(refused.value.remedy)
    assert "--allow-rejected" not in str(refused.value)


def test_lag_does_not_depend_on_how_the_path_is_written(engine: EmbeddedEngine, tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "one.md").write_text("# One\n\nabout shards\n")
    wanted = program(source={"id": "path", "fields": {"title": "title", "body": "text"}, "markup": "markdown"})
    put_live(engine, wanted, folder, tmp_path)
    live = observe(engine, wanted.name).live
    again = open_source(f"{folder}/", wanted)
    assert data_lag(live, again) == ()
    (folder / "two.md").write_text("# Two\n\nabout replicas\n")
    (lag,) = data_lag(live, again)
    assert "has changed" in lag.what
    assert "--rebuild" in lag.what
