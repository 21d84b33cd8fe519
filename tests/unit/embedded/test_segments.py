"""Whatever the history of an index, it answers as one that was loaded afresh with the documents that are left."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from idxopt.engines.embedded import EmbeddedEngine, index_store, loading, merging
from idxopt.engines.port import LoadRow, SearchRequest
from tests.unit.embedded.shelf import fill, rows, search

WORDS = ["river", "rivers", "valley", "über", "wave", "x", "the", "\U0001f30a"]
TEXT = st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join)
DOCUMENT = st.fixed_dictionaries(
    {},
    optional={
        "title": TEXT,
        "text": TEXT | st.lists(TEXT, max_size=2),
        "tag": st.lists(st.sampled_from(["a", "b", "ä"]), max_size=3),
        "number": st.integers(-5, 5) | st.none(),
    },
)
IDS = st.sampled_from([f"d{n}" for n in range(12)] + ["ä", "\U0001f30a", "z" * 500])
STEP = (
    st.tuples(st.just("put"), IDS, DOCUMENT)
    | st.tuples(st.just("load"), st.dictionaries(IDS, DOCUMENT, max_size=6), st.none())
    | st.tuples(st.just("delete"), IDS, st.none())
    | st.tuples(st.just("refresh"), st.none(), st.none())
)
FILTERS: list[dict[str, Any]] = [
    {"exists": {"field": "title"}},
    {"exists": {"field": "tag"}},
    {"term": {"tag": "ä"}},
    {"range": {"tag": {"gt": "a"}}},
    {"range": {"number": {"gte": 0}}},
    {"term": {"text": "river"}},
    {"ids": {"values": ["d1", "d2", "ä"]}},
]


def _answers(engine: EmbeddedEngine, index: str) -> list[Any]:
    answers: list[Any] = [engine.stats(index).documents, sorted((row.id, row.source) for row in engine.scan(index))]
    for filter in (None, *FILTERS):
        response = search(engine, index, "river valley über wave", filter)
        answers.append((response.error, response.total, response.hits))
        [constant] = engine.search(
            [
                SearchRequest(
                    index, {"query": (filter and {"bool": {"filter": [filter]}}) or {"match_all": {}}, "size": 100}
                )
            ]
        )
        answers.append(sorted(hit.id for hit in constant.hits))
    answers.append(engine.document_frequencies(index, "text", " ".join(WORDS)))
    return answers


@settings(max_examples=40)
@given(steps=st.lists(STEP, max_size=25))
def test_any_history_answers_as_a_fresh_index(steps: list[Any], tmp_path_factory: pytest.TempPathFactory) -> None:
    engine = EmbeddedEngine(tmp_path_factory.mktemp("history"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_store, "MAX_SEGMENTS", 2)
        patch.setattr(index_store, "MAX_SMALL", 3)
        patch.setattr(merging, "BLOCK_POSTINGS", 3)
        patch.setattr(loading, "BATCH_ROWS", 2)
        fill(engine, "a", [])
        state = engine.get_index("a")
        assert state is not None
        model: dict[str, dict[str, Any]] = {}
        for kind, what, document in steps:
            if kind == "put":
                model[what] = {**document, "doc_id": what}
                engine.put_document("a", what, model[what])
            elif kind == "load":
                loaded = rows(*what.items())
                assert engine.load("a", state.uuid, loaded).created == len(what.keys() - model.keys())
                model = {**{row.id: dict(row.body) for row in loaded}, **model}
            elif kind == "delete":
                model.pop(what, None)
                engine.delete_document("a", what)
            else:
                engine.refresh("a")
            assert {id: found.source for id, found in engine.get_documents("a", list(model)).items()} == model
        engine.refresh("a")
    fill(engine, "b", [LoadRow(id, body) for id, body in model.items()])
    assert _answers(engine, "a") == _answers(engine, "b")
    reopened = EmbeddedEngine(engine._file.folder)
    assert _answers(reopened, "a") == _answers(engine, "b")


def test_many_loads_end_in_few_segments(engine: EmbeddedEngine, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "BATCH_ROWS", 3)
    fill(engine, "a", rows(*((f"d{n:03d}", {"text": "river " * (n % 5)}) for n in range(100))))
    assert len(list(folder.glob("indices/*/*.seg"))) <= index_store.MAX_SEGMENTS
    assert [row.id for row in engine.scan("a")] == [f"d{n:03d}" for n in range(100)]


def test_k1_b_and_weights_need_no_new_files(engine: EmbeddedEngine) -> None:
    fill(engine, "a", rows(("1", {"title": "river", "text": "valley"}), ("2", {"title": "valley valley"})))

    def order(*fields: str) -> list[str]:
        match = {"multi_match": {"query": "valley", "type": "most_fields", "fields": list(fields)}}
        [response] = engine.search([SearchRequest("a", {"query": match})])
        return [hit.id for hit in response.hits]

    assert order("title^9", "text") == ["2", "1"]
    assert order("title", "text^9") == ["1", "2"]
