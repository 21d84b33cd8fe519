"""Vectors in a deployment: stored with their rows, checked before readers move, never made up (cases H22)."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from idxopt.builds import physical
from idxopt.builds.journal import Journal
from idxopt.builds.state import StateStore
from idxopt.deploy.gates import sample_gate
from idxopt.deploy.intent import Intent
from idxopt.deploy.loading import tables_of
from idxopt.deploy.lowering import compile_plan
from idxopt.deploy.observed import observe
from idxopt.deploy.plan import make_plan
from idxopt.deploy.remaking import Remaking
from idxopt.deploy.status import read_status
from idxopt.engines.port import Engine, LoadRow
from idxopt.errors import BuildError, ConfigError, ModelError
from idxopt.models.ports import Vectors
from idxopt.operators.row import Document
from idxopt.program.canonical import canonical
from idxopt.program.schema import Program
from tests.deploy.embedding import Letters, Spoil, dense_program, failing, models, nearest, overwriting, stored_vectors
from tests.deploy.harness import documents, plan_of, put_live, roll_back, write_documents

MANY = 300
"""Documents: more than one batch of rows."""


def index_of(engine: Engine, wanted: Program, view: str) -> str:
    live = observe(engine, wanted.name).live
    assert live is not None
    return live.views[view].index


def assert_near(stored: Mapping[str, Any], wanted: Mapping[str, Vectors]) -> None:
    """Equal ids, and vectors equal but for the last bit (they are normalised once more)."""
    assert stored.keys() == wanted.keys()
    for id, vector in wanted.items():
        assert np.allclose(stored[id], vector, rtol=0, atol=1e-6), id


def apply(engine: Engine, wanted: Program, data: Path, tmp_path: Path, embedder: Letters, **changes: Any) -> Any:
    with models(embedder, tmp_path / "embeddings", wanted) as opened:
        return put_live(engine, wanted, data, tmp_path, models=opened, **changes)


def test_rows_have_vectors_and_are_found_by_them(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted, embedder = dense_program(name), Letters()
    some = [*documents(), {"_id": "blank", "title": " ", "text": "", "lang": "en"}]
    write_documents(data, some)
    applied = apply(engine, wanted, data, tmp_path, embedder)
    assert applied.rows["content"] == 41
    assert plan_of(engine, wanted).empty
    content = index_of(engine, wanted, "content")
    texts = {item["_id"]: f"{item['title']}\n{item['text']}" for item in some}
    stored = stored_vectors(engine, content)
    assert stored.pop("blank") is None
    assert_near(stored, {id: embedder.vector(text) for id, text in texts.items() if id != "blank"})
    asked = embedder.vector("anything")
    wanted_scores = {id: (1 + float(np.dot(asked, vector))) / 2 for id, vector in stored.items() if vector}
    best = sorted(wanted_scores, key=lambda id: -wanted_scores[id])[:5]
    found = nearest(engine, wanted, "content", content, asked, 5)
    assert [id for id, _ in found] == best
    assert [score for _, score in found] == pytest.approx([wanted_scores[id] for id in best], abs=1e-6)
    sections = stored_vectors(engine, index_of(engine, wanted, "sections"))
    assert len(sections) > 80
    assert sum(vector is None for vector in sections.values()) <= 1


def null(vectors: Vectors, texts: Sequence[str]) -> Vectors:
    made: Any = vectors.astype(object)
    made[[number for number, text in enumerate(texts) if "Page 290" in text]] = None
    return made  # type: ignore[no-any-return]


BAD: dict[str, Spoil] = {
    "nan": overwriting(float("nan"), "Page 290"),
    "infinite": overwriting(float("inf"), "Page 290"),
    "zeros": overwriting(0.0, "Page 290"),
    "null": null,
    "dimension": lambda vectors, texts: vectors[:, 1:] if any("Page 290" in text for text in texts) else vectors,
    "half the list": lambda vectors, texts: vectors[::2] if any("Page 290" in text for text in texts) else vectors,
    "server down": failing(ModelError("the server does not answer", place="models.letters"), "Page 290"),
}


@pytest.mark.parametrize("kind", BAD)
def test_h22_a_bad_answer_stops_the_apply_and_the_next_one_finishes(
    engine: Engine, name: str, data: Path, tmp_path: Path, kind: str
) -> None:
    """Nothing of the bad batch is stored, the old build serves, vectors of good batches are not made twice."""
    wanted = dense_program(name, views={"content": dense_program(name).views["content"].model_dump(exclude_unset=True)})
    first = apply(engine, wanted, data, tmp_path, Letters())
    write_documents(data, documents(MANY))
    embedder = Letters(BAD[kind])
    rebuild = {"rebuild": True}
    with pytest.raises(ModelError) as caught:
        apply(engine, wanted, data, tmp_path, embedder, intent=rebuild)
    assert caught.value.exit_code == 1
    if kind in {"nan", "infinite", "zeros", "null"}:
        assert "doc-290" in caught.value.message
    live = observe(engine, name).live
    assert live is not None
    assert live.build == first.build
    [unfinished] = [index for index in observe(engine, name).indices if index != live.views["content"].index]
    engine.refresh(unfinished)
    stored = stored_vectors(engine, unfinished)
    assert set(stored) <= {f"doc-{number:03d}" for number in range(256)}
    assert None not in stored.values()
    again = Letters()
    second = apply(engine, wanted, data, tmp_path, again, intent=rebuild)
    assert second.previous == first.build
    assert not {text for text in again.seen if "Page 7." in text}
    there = stored_vectors(engine, index_of(engine, wanted, "content"))
    assert_near(there, {item["_id"]: again.vector(f"{item['title']}\n{item['text']}") for item in documents(MANY)})
    assert {id: there[id] for id in stored} == stored
    assert index_of(engine, wanted, "content") == unfinished


def test_a_model_of_another_dimension_is_refused_before_anything_is_written(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    wanted = dense_program(name)
    with pytest.raises(ModelError, match="dimension"):
        apply(engine, wanted, data, tmp_path, Letters(dimension=5))
    with pytest.raises(ConfigError, match="no models"):
        put_live(engine, wanted, data, tmp_path)
    seen = observe(engine, name)
    assert (seen.live, dict(seen.indices)) == (None, {})
    assert not [template for template in seen.templates if template.startswith(name)]


def test_an_engine_without_knn_is_refused_by_the_plan(engine: Engine, name: str) -> None:
    wanted = dense_program(name)
    seen = observe(engine, name)
    intent = Intent(program=canonical(wanted))
    bare = replace(seen, capabilities=replace(seen.capabilities, knn=False))
    with pytest.raises(BuildError, match=r"view content has a dense leg.*k-NN plugin") as caught:
        make_plan(bare, intent, cluster="test")
    assert "opensearch-knn" in (caught.value.remedy or "")
    unknown = replace(seen, capabilities=replace(seen.capabilities, knn=None))
    assert not make_plan(unknown, intent, cluster="test").empty


def test_writes_are_carried_over_with_vectors(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted, embedder = dense_program(name), Letters()
    first = apply(engine, wanted, data, tmp_path, embedder)
    served = index_of(engine, wanted, "content")
    changed = {"title": "shard", "text": "# Page\n\nwritten by an application\n\n## More\n\nbelow", "lang": "en"}
    engine.put_document(served, "doc-001", {**changed, "idxopt": {"doc_id": "doc-001"}}, refresh=True)
    lost = read_status(engine, name, cluster="test").lost_on_write
    if engine.capabilities().engine == "opensearch":
        assert "vector" in lost["content"]
        assert "vector" in lost["sections"]
    second = apply(engine, wanted, data, tmp_path, embedder, intent={"rebuild": True}, carry_writes=True)
    assert second.writes.updated == 1
    content = stored_vectors(engine, index_of(engine, wanted, "content"))
    assert_near({"doc-001": content["doc-001"]}, {"doc-001": embedder.vector("shard\n" + changed["text"])})
    sections = stored_vectors(engine, index_of(engine, wanted, "sections"))
    assert len({id for id in sections if id.startswith("doc-001#")}) == 2
    assert None not in sections.values()
    with models(embedder, tmp_path / "embeddings", wanted) as opened:
        back = roll_back(engine, name, tmp_path, models=opened, discard_writes=True)
    assert back.build == first.build


def test_the_gate_sees_a_vector_that_is_missing_or_spare(engine: Engine, name: str, data: Path, tmp_path: Path) -> None:
    wanted = dense_program(name)
    apply(engine, wanted, data, tmp_path, Letters())
    state = engine.get_index(index_of(engine, wanted, "content"))
    assert state is not None
    [file] = (tmp_path / "cache" / "loads").glob(f"*/{name}/{state.name}.sqlite")
    rows = {row.id: row.source for row in engine.scan(state.name)}
    with Journal(file) as journal:
        assert physical.verify(engine, state.name, journal, vectors=True) == []
        bare = {**rows["doc-003"], "idxopt": {"doc_id": "doc-003"}}
        engine.overwrite(state.name, state.uuid, [LoadRow("doc-003", bare)], [])
        told = " ".join(physical.verify(engine, state.name, journal, vectors=True))
    assert "lacks the vectors of 1 rows: doc-003" in told


def test_a_vector_of_another_text_is_seen_by_the_sample_gate(name: str) -> None:
    from idxopt.deploy.embedding import vectors_agree

    def body(vector: list[float] | None) -> dict[str, Any]:
        return {"idxopt": {} if vector is None else {"vector": vector}}

    assert vectors_agree(body([1.0, 0.0]), body([0.99999, 0.001]))
    assert not vectors_agree(body([1.0, 0.0]), body([0.9, 0.1]))
    assert not vectors_agree(body([1.0, 0.0]), body([2.0, 0.0]))
    assert not vectors_agree(body([1.0, 0.0]), body(None))
    assert not vectors_agree(body([1.0, 0.0]), body([1.0, 0.0, 0.0]))
    assert vectors_agree(body(None), body(None))


def test_the_pipeline_of_a_view_with_vectors_is_compared_too(
    engine: Engine, name: str, data: Path, tmp_path: Path
) -> None:
    if not engine.capabilities().pipelines:
        pytest.skip("this engine has no ingest pipelines")
    content = {
        "steps": [{"op": "enrich", "with": "prime_terms", "into": "terms"}],
        "lexical": {"fields": {"title": {}, "body": {}}},
        "dense": {"model": "letters", "text": ["title", "terms"]},
    }
    wanted, embedder = dense_program(name, views={"content": content}), Letters()
    apply(engine, wanted, data, tmp_path, embedder)
    observed = observe(engine, name)
    assert observed.live is not None
    plan = make_plan(observed, Intent(program=canonical(wanted)), cluster="test")
    view = compile_plan(observed, plan).compiled.views["content"]
    assert view.lost_on_write == ("vector",)
    tables = tables_of(StateStore(engine), observed.live)
    sample = [Document(item["_id"], {k: v for k, v in item.items() if k != "_id"}) for item in documents()[:3]]
    with models(embedder, tmp_path / "embeddings", wanted) as opened:
        remaking = Remaking(wanted, tables, models=opened)
        assert sample_gate(engine, remaking, {"content": view}, sample) == []
        other = copy.deepcopy(view.pipeline)
        assert other is not None
        other["processors"][0]["script"]["params"]["steps"][0]["top"] = 1
        told = sample_gate(engine, remaking, {"content": replace(view, pipeline=other)}, sample)
    assert len(told) == 3
    assert all("the pipeline makes another document" in one for one in told)
