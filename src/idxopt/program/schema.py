"""program.json, schema `idxopt/1`: views made of steps, how their rows are searched, and how legs are fused.

The shape is a firm contract (design, contract 1): unknown fields are errors, nothing here can execute. What
later versions need (`analysis`) is accepted by the schema now and refused by the compiler until it is built.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from idxopt.program.steps import FieldName, Model, Step

SCHEMA = "idxopt/1"
NAME_PATTERN = r"^[a-z0-9]+(-[a-z0-9]+)*$"
Name = Annotated[str, Field(pattern=NAME_PATTERN, max_length=64)]
SourcePath = Annotated[str, Field(min_length=1, max_length=256)]
MetadataType = Literal["keyword", "date", "integer", "long", "float", "double", "boolean"]
Markup = Literal["markdown", "html", "rest", "asciidoc", "text"]
Weight = Annotated[float, Field(ge=0, le=1_000)]


class Source(Model):
    """How a source document is read. `fields` maps program fields to dotted paths of the source document."""

    id: SourcePath = "_id"
    fields: Annotated[dict[FieldName, SourcePath], Field(min_length=1, max_length=50)]
    metadata: Annotated[dict[SourcePath, MetadataType], Field(max_length=100)] = {}
    markup: Markup = "text"


class LexicalField(Model):
    """BM25 of one field. Score of a view = sum over fields of weight * BM25."""

    analyzer: str = "english"
    k1: Annotated[float, Field(ge=0, le=1_000)] = 1.2
    b: Annotated[float, Field(ge=0, le=1)] = 0.75
    weight: Weight = 1.0


class Lexical(Model):
    """The BM25 leg of a view."""

    fields: Annotated[dict[FieldName, LexicalField], Field(min_length=1, max_length=20)]


class Hnsw(Model):
    m: Annotated[int, Field(ge=2, le=512)] = 16
    ef_construction: Annotated[int, Field(ge=1, le=10_000)] = 100


class Dense(Model):
    """The kNN leg of a view: the named fields (empty ones left out) are joined by a line feed and embedded.

    A row whose fields are all empty has no vector and is in no dense ranking.
    """

    model: str
    text: Annotated[list[FieldName], Field(min_length=1)]
    hnsw: Hnsw = Hnsw()


class View(Model):
    """Steps, and how the rows are searched. `weight` multiplies the view in the fusion.

    `combine`: the legs of the view become one ranking first, by RRF or as the weighted mean of min-max normalised
    scores (weights: `fusion.weights` of its legs), and this ranking enters the fusion of views. Without it every leg
    enters the fusion by itself.
    """

    steps: Annotated[list[Step], Field(max_length=100)] = []
    lexical: Lexical | None = None
    dense: Dense | None = None
    weight: Weight = 1.0
    combine: Literal["rrf", "weighted"] | None = None


class Fusion(Model):
    """Legs into one ranking by document. `weights` by `view.leg` (`content.lexical`), also for RRF.

    `window`: distinct documents a leg returns. `normalize` belongs to `weighted_sum`.
    """

    method: Literal["rrf", "weighted_sum"] = "rrf"
    k: Annotated[int, Field(ge=1, le=10_000)] = 60
    window: Annotated[int, Field(ge=1, le=10_000)] = 100
    normalize: Literal["none", "min_max"] = "none"
    weights: dict[str, Weight] = {}


class ModelSpec(Model):
    """A model that the program needs; where it runs is configuration (`[models."ID"]` in idxopt.toml).

    The ids `extractive` (generator) and `maxsim:NAME` (reranker over the embedder NAME of `models`) need no
    configuration. `max_tokens` counts special tokens; longer texts are cut there and counted. Prefixes are put before
    texts as the model was trained ("query: ").
    """

    kind: Literal["embedder", "reranker", "generator"]
    id: Annotated[str, Field(min_length=1, max_length=256)]
    revision: Annotated[str, Field(max_length=256)] = ""
    query_prefix: Annotated[str, Field(max_length=1_000)] = ""
    passage_prefix: Annotated[str, Field(max_length=1_000)] = ""
    dimension: Annotated[int, Field(ge=1, le=16_000)] | None = None
    similarity: Literal["cosine", "dot", "l2"] | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None


class Rerank(Model):
    """The second stage (PRIME, hierarchical retrieval): the fused `candidates` are scored again by their sections.

    `unit` section: the sections of `field` of the primary view, at heading `level` (the document's own most frequent
    level where it has none of that); a document's score is its best section. `document`: the whole field, its best
    window. `sections`: how many a result carries. `context`: a field whose sections are handed over in place of those
    scored, section by section (restructured text); it has the same headings.
    """

    model: str
    unit: Literal["section", "document"] = "section"
    field: FieldName = "body"
    level: Annotated[int, Field(ge=1, le=6)] = 2
    candidates: Annotated[int, Field(ge=1, le=1_000)] = 30
    sections: Annotated[int, Field(ge=1, le=100)] = 5
    context: FieldName | None = None


class Program(Model):
    """A whole program.json."""

    schema_: Literal["idxopt/1"] = Field(alias="schema")
    name: Name
    primary: Name = "content"
    source: Source
    analysis: dict[str, Any] = {}
    models: dict[Name, ModelSpec] = {}
    views: Annotated[dict[Name, View], Field(min_length=1, max_length=50)]
    fusion: Fusion = Fusion()
    rerank: Rerank | None = None
