"""The two ways from a source document to a stored one, and what they are compared on.

Equal means equal as parsed JSON: same keys, strings by code point, numbers as doubles.
"""

import gzip
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import CompiledView, Target
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.hashing import content_digest
from idxopt.operators.interpreter import Interpreter
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
    {"op": "reorganize", "to": "join", "field": ["title", "body", "extra"], "into": "all"},
    {"op": "reorganize", "to": "join", "field": ["extra", "title"], "into": "short"},
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
    {"op": "reorganize", "to": "join", "field": ["title", "body", "opening", "extra"], "into": "all"},
    {"op": "reorganize", "to": "join", "field": ["all", "title"], "into": "again"},
    {"op": "normalize", "field": ["body", "opening", "all"], "scheme": "lowercase"},
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
