"""Contract 2: an ingest pipeline gives the documents that the interpreter gives, on a real node."""

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from opensearchpy import OpenSearch

from idxopt.compiler.pipelines import TEXT_LIMIT, script_steps
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import LoadRow
from idxopt.hashing import content_digest
from idxopt.operators.registry import FORMS, form_name
from idxopt.operators.row import Document
from tests.cluster.pipelines.both import (
    Both,
    all_steps,
    assert_equal,
    batches,
    collection,
    documents,
    program,
    sources,
)


def test_every_form_that_runs_in_both_places_is_compared_here() -> None:
    made = program(all_steps()).views["content"].steps
    assert {form_name(step) for step in made} == {name for name, form in FORMS.items() if form.place == "both"}
    assert all(script_steps(step) for step in made)


@pytest.mark.parametrize("engine", ["opensearch_url"], ids=["2.19"], indirect=True)
@pytest.mark.parametrize("name", ["awsdocs_small", "medquad_pages"])
def test_every_document_of_a_collection_is_equal(separate: Both, shared: Path, name: str) -> None:
    for batch in batches(collection(shared, name)):
        separate.check(batch)


@pytest.mark.parametrize("name", ["awsdocs_small", "medquad_pages"])
def test_steps_that_build_on_each_other_are_equal(chained: Both, shared: Path, name: str) -> None:
    chained.check(list(islice(collection(shared, name), 500)))


@given(st.lists(sources, min_size=1, max_size=8))
@example([{"text": "İstanbul IĞDIR ΟΔΟΣ Σ straße ẞ"}])
@example([{}, {"text": ""}, {"text": None}, {"text": []}, {"text": [None, "", []]}, {"text": {}}])
@example([{"text": " \u200b\ufeff \u3000x\u2028\u2029y\x85 \x1c "}, {"text": "a\n\nb\n \nc. d"}])
@example([{"text": ["getUserName", 7, True, None, ["aB", ["cD"]]]}, {"text": -0}, {"text": False}])
def test_hostile_texts_are_equal(separate: Both, chained: Both, sources: list[Any]) -> None:
    separate.check(documents(sources))
    chained.check(documents(sources))


def test_a_text_beyond_the_limit_is_stored_as_incomplete_and_one_below_it_is_equal(
    engine: OpenSearchEngine, separate: Both, chained: Both
) -> None:
    near = "getUserName is the\n\nURLs 日本. " * (TEXT_LIMIT // 30)
    long = "aB. " * 300_000
    assert len(near) <= TEXT_LIMIT < len(long) == 1_200_000
    separate.check([Document("near", {"title": "short", "text": near})])
    for both in (separate, chained):
        (body,) = both.server([("long", {"title": "aB", "text": long})])
        expected = both.client(Document("long", {"title": "aB", "text": long}))
        assert body["text"] == long
        assert body["idxopt"].pop("incomplete") is True
        assert body["idxopt"].items() <= expected["idxopt"].items()
        assert body["idxopt"]["doc_id"] == "long"
        assert {"name", "heading"} & body["idxopt"].keys(), "what does not depend on the long text is derived"
        assert not {"terms", "tree", "tree_sections"} & body["idxopt"].keys()


@pytest.mark.parametrize("value", [1.5, ["a", 2.5], 1e5])
def test_a_number_that_java_writes_in_another_way_is_left_to_the_next_build(chained: Both, value: Any) -> None:
    (body,) = chained.server([("a", {"text": value, "title": "aB"})])
    assert body == {"text": value, "title": "aB", "idxopt": {"doc_id": "a", "name": "aB a B", "incomplete": True}}


def test_a_copied_value_keeps_its_kind(engine: OpenSearchEngine) -> None:
    copied = Both(engine, [{"op": "reorganize", "to": "promote", "field": "title", "into": "name"}])
    for value in (1.5, 1e5, [1, 2.5], {"a": [1]}, True):
        (body,) = copied.server([("a", {"title": value})])
        assert content_digest(body) == content_digest(copied.client(Document("a", {"title": value})))
        assert content_digest(body["idxopt"]["name"]) == content_digest(value)


def test_a_document_over_which_the_script_fails_is_stored_as_incomplete(chained: Both) -> None:
    items = [1] * 1_100_000
    (body,) = chained.server([("a", {"text": items, "title": "x", "idxopt": {"old": 1}})])
    assert body["idxopt"] == {"incomplete": True, "doc_id": "a"}
    assert body["text"] == items


class TestStored:
    """The same through real indices: `default_pipeline`, automatic ids, updates, copies, reading back (H4)."""

    NAMES = ("pipes-one", "pipes-two")

    @pytest.fixture
    def client(self, engine: OpenSearchEngine, request: pytest.FixtureRequest) -> Iterator[OpenSearch]:
        parameter = request.node.callspec.params["engine"]
        with OpenSearch(str(request.getfixturevalue(parameter)), timeout=60) as made:
            yield made

    @pytest.fixture
    def index(self, engine: OpenSearchEngine, chained: Both) -> Iterator[str]:
        """Two empty indices of the view, both with its pipeline; the name of the first."""
        view = chained.compiled
        assert view.pipeline is not None
        assert view.pipeline_name is not None
        engine.put_pipeline(view.pipeline_name, view.pipeline)
        made = [engine.create_index(name, view.index_body) for name in self.NAMES]
        for state in made:
            engine.update_settings(state.name, view.served_settings)
        yield self.NAMES[0]
        for state in made:
            engine.delete_index(state.name, state.uuid)
        engine.delete_pipeline(view.pipeline_name)

    def test_the_engine_returns_the_pipeline_as_it_was_put(
        self, engine: OpenSearchEngine, chained: Both, index: str
    ) -> None:
        assert chained.compiled.pipeline_name is not None
        assert engine.get_pipeline(chained.compiled.pipeline_name) == chained.compiled.pipeline

    def test_written_and_loaded_documents_are_equal_and_pass_again_unchanged(
        self, engine: OpenSearchEngine, client: OpenSearch, chained: Both, shared: Path, index: str
    ) -> None:
        some = list(islice(collection(shared, "awsdocs_small"), 100))
        expected = [chained.client(document) for document in some]
        actions = [line for document in some[:50] for line in ({"index": {"_id": document.id}}, document.source)]
        assert client.bulk(body=actions, index=index)["errors"] is False
        state = engine.get_index(index)
        assert state is not None
        report = engine.load(index, state.uuid, (LoadRow(row.id, chained.client(row)) for row in some[50:]))
        assert report.created == 50
        engine.refresh(index)
        stored = {found.id: found.source for found in engine.scan(index)}
        assert_equal(some, [stored[document.id] for document in some], expected)
        chained.check([Document(document.id, stored[document.id]) for document in some])
        copied = client.reindex(
            body={"source": {"index": index}, "dest": {"index": self.NAMES[1]}}, params={"refresh": "true"}
        )
        assert copied["created"] == 100
        again = {found.id: found.source for found in engine.scan(self.NAMES[1])}
        assert_equal(some, [again[document.id] for document in some], expected)

    def test_an_update_is_derived_anew_and_an_automatic_id_leaves_no_document_id(
        self, client: OpenSearch, chained: Both, index: str
    ) -> None:
        client.index(index=index, id="a", body={"title": "getUser", "text": "Old os.path."})
        client.update(index=index, id="a", body={"doc": {"text": "New maxSize."}})
        source = client.get(index=index, id="a")["_source"]
        expected = chained.client(Document("a", {"title": "getUser", "text": "New maxSize."}))
        assert content_digest(source) == content_digest(expected)
        unnamed = client.index(index=index, body={"title": "getUser", "text": "Old os.path."})["_id"]
        own = client.get(index=index, id=unnamed)["_source"]["idxopt"]
        assert set(own) == {"body", "name", "opening", "all", "again"}

    def test_a_document_beyond_the_limits_is_found_as_incomplete(
        self, engine: OpenSearchEngine, client: OpenSearch, index: str
    ) -> None:
        client.index(index=index, id="long", body={"text": "aB. " * 300_000, "title": "long"})
        client.index(index=index, id="failing", body={"text": [1] * 1_100_000, "title": "long"})
        client.index(index=index, id="short", body={"text": "aB. ", "title": "short"})
        engine.refresh(index)
        found = {document.id: document for document in engine.scan(index, query={"term": {"idxopt.incomplete": True}})}
        assert sorted(found) == ["failing", "long"]
        assert len(found["long"].source["text"]) == 1_200_000
        assert len(found["failing"].source["text"]) == 1_100_000
