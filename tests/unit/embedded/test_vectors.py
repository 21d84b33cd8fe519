"""Vectors on disk, exact kNN in bounded memory, and HNSW graphs."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.engines.embedded import EmbeddedEngine, graphs, vectors
from idxopt.engines.embedded.values import BadValue
from idxopt.engines.embedded.vectors import VectorType, as_vector
from idxopt.engines.port import LoadRow, SearchRequest, SearchResponse
from idxopt.errors import EngineError

D = 16
TIES = [{"_score": "desc"}, {"doc_id": {"order": "asc", "missing": "_last"}}]


def body(space: str = "cosinesimil", dimension: int = D) -> dict[str, Any]:
    vector = {"type": "knn_vector", "dimension": dimension, "space_type": space}
    return {
        "mappings": {
            "dynamic": False,
            "properties": {"doc_id": {"type": "keyword"}, "tag": {"type": "keyword"}, "v": vector},
        }
    }


def points(count: int, seed: int = 0) -> Any:
    """Clustered points, as texts are."""
    rng = np.random.default_rng(seed)
    centres = rng.standard_normal((20, D))
    return (centres[rng.integers(20, size=count)] + 0.3 * rng.standard_normal((count, D))).astype(np.float32)


def row(number: int, vector: Any) -> LoadRow:
    tag = "rare" if number % 100 == 0 else "often" if number % 2 else "other"
    return LoadRow(f"{number:05}", {"doc_id": f"{number:05}", "tag": tag, "v": vector.tolist()})


def load(engine: EmbeddedEngine, rows: list[LoadRow], name: str = "i", space: str = "cosinesimil") -> str:
    state = engine.get_index(name) or engine.create_index(name, body(space))
    report = engine.load(name, state.uuid, rows)
    assert report.created == len(rows)
    return state.uuid


def ask(engine: EmbeddedEngine, query: Any, k: int, tag: str | None = None, name: str = "i") -> SearchResponse:
    clause: dict[str, Any] = {"vector": [float(value) for value in query], "k": k}
    if tag is not None:
        clause["filter"] = {"term": {"tag": tag}}
    search = {"query": {"knn": {"v": clause}}, "size": k, "sort": TIES, "_source": False}
    [response] = engine.search([SearchRequest(name, search)])
    assert response.error is None, response.error
    return response


def graph_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"*{graphs.SUFFIX}"))


def test_segments_and_merges_change_no_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "BLOCK_BYTES", 4 * D * 7)
    every = points(400)
    once, often = EmbeddedEngine(folder / "once"), EmbeddedEngine(folder / "often")
    load(once, [row(n, v) for n, v in enumerate(every)])
    once.refresh("i")
    for start in range(0, 400, 25):
        uuid = load(often, [row(n, every[n]) for n in range(start, start + 25)])
        often.refresh("i")
    often.overwrite("i", uuid, [row(n, every[n]) for n in (3, 390)], [])
    often.refresh("i")
    for query in points(10, seed=5):
        assert ask(often, query, 50).hits == ask(once, query, 50).hits
    assert {d.id: d.source for d in often.scan("i")} == {d.id: d.source for d in once.scan("i")}
    reopened = EmbeddedEngine(folder / "often")
    assert ask(reopened, every[0], 5).hits == ask(once, every[0], 5).hits


def test_waiting_and_written_documents_keep_their_vectors(engine: EmbeddedEngine) -> None:
    every = points(40)
    for n in range(40):  # more than MAX_SMALL waiting segments, so that they are merged before the refresh
        load(engine, [row(n, every[n])])
    engine.put_document("i", "00007", row(7, every[8]).body)
    assert engine.get_documents("i", ["00007", "00009"])["00007"].source["v"] == every[8].tolist()
    engine.refresh("i")
    assert [hit.id for hit in ask(engine, every[8], 2).hits] == ["00007", "00008"]
    assert engine.get_documents("i", ["00009"])["00009"].source["v"] == every[9].tolist()


def test_a_damaged_vector_is_told(folder: Path) -> None:
    engine = EmbeddedEngine(folder)
    every = points(50)
    load(engine, [row(n, v) for n, v in enumerate(every)])
    engine.refresh("i")
    [segment] = folder.rglob("*.seg")
    content = bytearray(segment.read_bytes())
    place = content.index(every[20].tobytes())
    content[place] ^= 1
    segment.write_bytes(content)
    damaged = EmbeddedEngine(folder)
    [response] = damaged.search([SearchRequest("i", {"query": {"knn": {"v": {"vector": [1.0] * D, "k": 3}}}})])
    assert "damaged" in str(response.error)
    with pytest.raises(EngineError, match="damaged"):
        list(damaged.scan("i"))


def test_memory_of_a_search_is_bounded(folder: Path) -> None:
    engine = EmbeddedEngine(folder)
    rng = np.random.default_rng(0)
    state = engine.create_index("i", body(dimension=512))
    rows = (LoadRow(f"{n}", {"doc_id": f"{n}", "v": rng.standard_normal(512).tolist()}) for n in range(12_000))
    engine.load("i", state.uuid, rows)
    engine.refresh("i")
    query = [1.0] + [0.0] * 511
    search = SearchRequest("i", {"query": {"knn": {"v": {"vector": query, "k": 10}}}, "_source": False})
    engine.search([search])
    tracemalloc.start()
    engine.search([search])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * vectors.BLOCK_BYTES < 12_000 * 512 * 4


@pytest.mark.parametrize("space", ["cosinesimil", "innerproduct", "l2"])
def test_graphs_answer_nearly_as_exact_search(folder: Path, space: str) -> None:
    pytest.importorskip("usearch")
    every = points(3_000) * np.float32(100.0)
    exact, large = EmbeddedEngine(folder / "exact"), EmbeddedEngine(folder / "large", graph_rows=1_000)
    for engine in (exact, large):
        load(engine, [row(n, v) for n, v in enumerate(every)], space=space)
        engine.refresh("i")
    assert graph_files(folder / "exact") == []
    assert len(graph_files(folder / "large")) == 1
    found = 0
    for query in points(50, seed=9) * np.float32(100.0):
        wanted, got = ask(exact, query, 30).hits, ask(large, query, 30).hits
        scores = {hit.id: hit.score for hit in wanted}
        assert all(hit.score == scores[hit.id] for hit in got if hit.id in scores)
        found += sum(hit.id in scores for hit in got)
        assert len(got) == 30
        assert ask(large, query, 30, "rare").hits == ask(exact, query, 30, "rare").hits
        often = ask(large, query, 30, "often").hits
        assert len(often) == 30
        assert all(int(hit.id) % 2 for hit in often)
    assert found / (50 * 30) >= 0.99


def test_graphs_are_the_same_each_time_and_go_with_their_segments(folder: Path) -> None:
    pytest.importorskip("usearch")
    every = points(1_500)
    contents = []
    for name in ("one", "two"):
        engine = EmbeddedEngine(folder / name, graph_rows=500)
        uuid = load(engine, [row(n, v) for n, v in enumerate(every)])
        engine.refresh("i")
        [file] = graph_files(folder / name)
        contents.append(file.read_bytes())
    assert contents[0] == contents[1]
    engine.overwrite("i", uuid, [], ["00003"])
    engine.refresh("i")
    [other] = graph_files(folder / "two")
    assert other != file
    assert other.with_name(f"{other.name.partition('.')[0]}.seg").exists()
    assert ask(engine, every[3], 1).hits[0].id != "00003"
    other.unlink()  # only slower
    assert len(ask(EmbeddedEngine(folder / "two", graph_rows=500), every[3], 40).hits) == 40


def test_a_damaged_graph_is_told(folder: Path) -> None:
    pytest.importorskip("usearch")
    engine = EmbeddedEngine(folder, graph_rows=500)
    load(engine, [row(n, v) for n, v in enumerate(points(600))])
    engine.refresh("i")
    [file] = graph_files(folder)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    [response] = EmbeddedEngine(folder).search(
        [SearchRequest("i", {"query": {"knn": {"v": {"vector": [1.0] * D, "k": 3}}}})]
    )
    assert "damaged" in str(response.error)


NUMBERS = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.integers())


@given(st.lists(NUMBERS, min_size=2, max_size=4))
def test_only_finite_vectors_of_the_dimension_are_taken(values: list[float]) -> None:
    kind = VectorType(3, "cosinesimil")
    with np.errstate(over="ignore"):
        try:
            single = np.array([float(value) for value in values]).astype(np.float32)
        except OverflowError:
            single = np.array([np.inf], dtype=np.float32)
    if len(values) == 3 and np.isfinite(single).all() and single.any():
        assert as_vector(values, kind).tobytes() == single.tobytes()
    else:
        with pytest.raises(BadValue):
            as_vector(values, kind)


@pytest.mark.parametrize("value", [None, "1,2,3", [True, 0.5, 1.0], [[1.0, 2.0, 3.0]], ["1", "2", "3"], {"a": 1.0}, 3])
def test_what_is_no_vector_is_refused(value: Any) -> None:
    with pytest.raises(BadValue, match="list of numbers"):
        as_vector(value, VectorType(3, "l2"))


@pytest.mark.parametrize(
    "document",
    [
        {"o.v": [1.0, 2.0]},
        {"o": [{"v": [1.0, 2.0]}]},
        {"o": {"v": [1.0, 2.0]}, "o.v": [1.0, 2.0]},
    ],
)
def test_a_vector_stands_in_plain_objects(engine: EmbeddedEngine, document: dict[str, Any]) -> None:
    vector = {"type": "knn_vector", "dimension": 2, "space_type": "l2"}
    state = engine.create_index(
        "i", {"mappings": {"dynamic": False, "properties": {"o": {"properties": {"v": vector}}}}}
    )
    report = engine.load("i", state.uuid, [LoadRow("1", document)])
    assert [failure.id for failure in report.failed] == ["1"]
