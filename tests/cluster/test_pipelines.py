"""Contract 2: an ingest pipeline gives the documents that the interpreter gives, on a real node.

Equal means equal as parsed JSON: same keys, strings by code point, numbers as doubles.
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from opensearchpy import OpenSearch

from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import CompiledView, Target
from idxopt.compiler.pipelines import TEXT_LIMIT, script_steps
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import LoadRow
from idxopt.hashing import content_digest
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.registry import FORMS, form_name
from idxopt.operators.row import Document
from idxopt.operators.tables import build_tables
from idxopt.program.schema import Program
from idxopt.program.validate import program_from

TARGET = Target(engine="opensearch", bm25_factor=True, pipelines=True)
BATCH_BYTES = 2_000_000
PHRASES = ["the", "them", "Amazon", "\n\n", "日本", "😀", "e\u0301"]

# Each kind of step on a copy of the body of its own, so that one pass compares them all separately.
ON_COPIES: dict[str, dict[str, Any]] = {
    "lower": {"op": "normalize", "scheme": "lowercase"},
    "white": {"op": "normalize", "scheme": "whitespace"},
    "split": {"op": "normalize", "scheme": "split_identifiers"},
    "kept": {"op": "normalize", "scheme": "split_identifiers", "keep_original": True},
    "phrases": {"op": "discard", "span": {"phrases": PHRASES}},
}
ADDED: list[dict[str, Any]] = [
    {"op": "enrich", "with": "lead", "into": "sentences", "sentences": 3},
    {"op": "enrich", "with": "lead", "into": "words", "words": 25},
    {"op": "enrich", "with": "prime_terms", "into": "terms"},
    {"op": "enrich", "with": "prime_terms", "into": "literal", "stopwords": "none", "top": 20, "alpha": 0.9},
    {"op": "enrich", "with": "prime_terms", "into": "bounded", "top": 20, "max_idf_terms": 50},
    {"op": "enrich", "with": "heading_tree", "into": "tree"},
    {"op": "enrich", "with": "heading_tree", "into": "deep", "depth": 3},
    {"op": "reorganize", "to": "promote", "field": "title", "into": "name"},
    {"op": "reorganize", "to": "rename", "field": "title", "into": "heading"},
    {"op": "discard", "span": {"fields": ["extra"]}},
]


def all_steps() -> list[dict[str, Any]]:
    """Every step that runs in both places, once."""
    copies = [
        step
        for name, spec in ON_COPIES.items()
        for step in ({"op": "reorganize", "to": "promote", "field": "body", "into": name}, {**spec, "field": name})
    ]
    return [*ADDED[:-2], *copies, *ADDED[-2:]]


# Steps that build on each other, in place.
CHAIN: list[dict[str, Any]] = [
    {"op": "discard", "span": {"phrases": PHRASES}},
    {"op": "normalize", "field": ["title", "body"], "scheme": "split_identifiers", "keep_original": True},
    {"op": "normalize", "scheme": "whitespace"},
    {"op": "enrich", "with": "lead", "into": "opening", "sentences": 2},
    {"op": "normalize", "field": ["body", "opening"], "scheme": "lowercase"},
    {"op": "reorganize", "to": "rename", "field": "title", "into": "name"},
    {"op": "discard", "span": {"fields": ["extra"]}},
]


def program(steps: Sequence[dict[str, Any]], markup: str = "markdown") -> Program:
    value = {
        "schema": "idxopt/1",
        "name": "pipes",
        "source": {"markup": markup, "fields": {"title": "title", "body": "text", "extra": "meta.extra"}},
        "views": {"content": {"steps": list(steps)}, "search": {"lexical": {"fields": {"body": {}}}}},
    }
    return program_from(value, "test")


class Both:
    """The two ways from a source document to a stored one."""

    def __init__(
        self,
        engine: OpenSearchEngine,
        steps: Sequence[dict[str, Any]],
        corpus: Iterable[Document] = (),
        markup: str = "markdown",
    ) -> None:
        made = program(steps, markup)
        tables = build_tables(made, corpus)
        self.engine = engine
        self.compiled: CompiledView = lower(made, TARGET, {}, tables).views["content"]
        self.interpreter = Interpreter(made, "content", tables)
        assert self.compiled.lost_on_write == ()

    def client(self, document: Document) -> Any:
        (row,) = self.interpreter.stored(document)
        return row.body

    def server(self, sources: Sequence[tuple[str, Any]]) -> list[Any]:
        assert self.compiled.pipeline is not None
        documents = [{"_id": id, "_source": source} for id, source in sources]
        return list(self.engine.simulate_pipeline(self.compiled.pipeline, documents))

    def check(self, documents: Sequence[Document]) -> None:
        """Once and twice through the pipeline equal the interpreter."""
        expected = [self.client(document) for document in documents]
        once = self.server([(document.id, document.source) for document in documents])
        assert_equal(documents, once, expected)
        twice = self.server([(document.id, body) for document, body in zip(documents, once, strict=True)])
        assert_equal(documents, twice, expected)


def assert_equal(documents: Sequence[Document], found: Sequence[Any], expected: Sequence[Any]) -> None:
    for document, one, other in zip(documents, found, expected, strict=True):
        if content_digest(one) != content_digest(other):
            differing = {
                key: (one["idxopt"].get(key), other["idxopt"].get(key))
                for key in {*one["idxopt"], *other["idxopt"]}
                if one["idxopt"].get(key) != other["idxopt"].get(key)
            }
            pytest.fail(f"{document.id}: server and client differ: {str(differing)[:2000]}")


@pytest.fixture(scope="module", params=["opensearch_url", "opensearch3_url"], ids=["2.19", "3.5"])
def engine(request: pytest.FixtureRequest) -> Iterator[OpenSearchEngine]:
    made = OpenSearchEngine.connect(str(request.getfixturevalue(request.param)))
    yield made
    made.close()


@pytest.fixture(scope="module")
def some(shared: Path) -> list[Document]:
    """Documents whose terms are in the tables: a part of the collections, so that others have unknown terms."""
    return [*islice(collection(shared, "awsdocs_small"), 300), *islice(collection(shared, "medquad_pages"), 300)]


@pytest.fixture(scope="module")
def separate(engine: OpenSearchEngine, some: list[Document]) -> Both:
    return Both(engine, all_steps(), some)


@pytest.fixture(scope="module")
def plain(engine: OpenSearchEngine, some: list[Document]) -> Both:
    """The same where the markup is plain text."""
    return Both(engine, all_steps(), some, "text")


@pytest.fixture(scope="module")
def chained(engine: OpenSearchEngine) -> Both:
    return Both(engine, CHAIN)


def collection(shared: Path, name: str) -> Iterator[Document]:
    with gzip.open(shared / "datasets" / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            source = json.loads(line)
            yield Document(source.pop("_id"), source)


def batches(documents: Iterator[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.source.get("text", ""))
        if size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


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


PIECES = [
    *"aZ09_. \n\t.!?…。！？｡\"')]}»’”›」』】）#`-",
    *("getUserName", "HTTPServer2", "max_size", "os.path.join", "URLs", "IDs", "v1.2", "EC2Instance", "x.Y", "___"),
    *(
        "the",
        "them",
        "Amazon",
        "日本",
        "日本語",
        "한국어",
        "ไทย",
        "الله",
        "e\u0301",
        "a\u0308\u0323",
        "😀",
        "👩‍👩‍👧",
        "🇩🇪",
    ),
    *("İ", "I", "ı", "İSTANBUL", "ß", "ẞ", "Σ", "ΟΔΟΣ", "ǅ", "Ω", "K", "Å", "Ა", "Ⴀ", "\U00010400", "\U0001e900"),
    *("\u1c89", "\u2c2f", "\ua7c0", "\ua7dc", "\U00010570", "\U00010595", "\U00010d50", "\U00016ea0", "\ua7cb"),
    *("\u200b", "\u200c", "\u200d", "\ufeff", "\u00ad", "\u2060", "\u180e", "\x1c", "\x1f", "\x85", "\xa0", "\u1680"),
    *("\u2003", "\u2028", "\u2029", "\u202f", "\u3000", "\u0000", "\x0b", "\x0c", "\r\n", "\r", "\n\n", " \n \n "),
]
texts = st.lists(st.one_of(st.sampled_from(PIECES), st.characters(exclude_categories=["Cs"])), max_size=30).map("".join)
numbers = st.integers(-(2**53), 2**53)
values = st.one_of(
    texts,
    st.none(),
    st.booleans(),
    numbers,
    st.lists(st.one_of(texts, st.none(), numbers, st.booleans()), max_size=4),
    st.lists(st.lists(texts, max_size=2), max_size=2),
    st.dictionaries(st.sampled_from(["x", "y"]), texts, max_size=2),
)
sources = st.fixed_dictionaries(
    {},
    optional={
        "title": values,
        "text": values,
        "meta": st.one_of(
            st.none(),
            texts,
            st.fixed_dictionaries({}, optional={"extra": values, "other": texts}),
            st.lists(st.fixed_dictionaries({}, optional={"extra": values}), max_size=2),
        ),
        "meta.extra": values,
        "other": st.floats(allow_nan=False, allow_infinity=False, width=32),
    },
)


def documents(sources: Sequence[Any]) -> list[Document]:
    return [Document(f"d{number}", source) for number, source in enumerate(sources)]


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


@pytest.mark.parametrize("value", [1.5, ["a", 2.5], 1e5])
def test_a_number_that_java_writes_in_another_way_is_left_to_the_next_build(chained: Both, value: Any) -> None:
    (body,) = chained.server([("a", {"text": value, "title": "aB"})])
    assert body == {"text": value, "title": "aB", "idxopt": {"doc_id": "a", "name": "aB a B", "incomplete": True}}


def test_a_copied_value_keeps_its_kind(separate: Both) -> None:
    for value in (1.5, 1e5, [1, 2.5], {"a": [1]}, True):
        (body,) = separate.server([("a", {"title": value})])
        assert content_digest(body) == content_digest(separate.client(Document("a", {"title": value})))
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
        assert set(own) == {"body", "name", "opening"}

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
