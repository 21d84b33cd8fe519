"""Models of words that need no weights, and programs that search with them."""

from __future__ import annotations

import re
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from idxopt.builds.resolver import Resolver
from idxopt.engines.port import Engine
from idxopt.errors import ConfigError, ModelError
from idxopt.models.opening import Models
from idxopt.models.ports import Embedded, ModelIdentity, Progress, TextKind, Tokenizer, Vectors
from idxopt.program.schema import Program
from idxopt.program.validate import program_from
from idxopt.search import Searcher
from tests.deploy.harness import put_live

DIMENSION = 64
_WORD = re.compile(r"\w+")


class Words:
    """A bag of words: each word has a place and a sign by its checksum, so that texts that share words are near.

    `broken`: a ModelError to raise, or what to do to the vectors of queries.
    """

    max_tokens = None

    def __init__(self, broken: Any = None, dimension: int = DIMENSION) -> None:
        self.broken = broken
        self.dimension = dimension
        self.queries: list[str] = []

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("embedder", "test/words", details={"dimension": self.dimension})

    def embed(self, texts: Sequence[str], kind: TextKind, *, on_progress: Progress | None = None) -> Embedded:
        vectors = np.stack([self.vector(text) for text in texts])
        if kind == "query":
            self.queries += texts
            if isinstance(self.broken, ModelError):
                raise self.broken
            if self.broken is not None:
                return Embedded(self.broken(vectors))
        return Embedded(vectors)

    def vector(self, text: str) -> Vectors:
        vector = np.full(self.dimension, 0.001, dtype=np.float32)
        for word in _WORD.findall(text.lower()):
            code = zlib.crc32(word.encode())
            vector[code % self.dimension] += 1.0 if code & 1024 else -1.0
        return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


class Overlap:
    """A reranker: the share of the query's words that the text has, less the text's length. `broken`: as above."""

    def __init__(self, max_tokens: int | None = None, broken: Any = None) -> None:
        self.max_tokens = max_tokens
        self.broken = broken
        self.texts: list[str] = []

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("reranker", "test/overlap")

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        self.texts += texts
        if isinstance(self.broken, ModelError):
            raise self.broken
        wanted = set(_WORD.findall(query.lower()))
        scores = [len(wanted & set(found := _WORD.findall(text.lower()))) - len(found) / 1e4 for text in texts]
        return scores if self.broken is None else self.broken(scores)


class Given:
    """Models as an application may give them, with nothing around them."""

    def __init__(self, embedder: Any = None, reranker: Any = None) -> None:
        self._embedder = embedder
        self._reranker = reranker

    def embedder(self, name: str) -> Any:
        assert name == "words"
        return self._embedder

    def reranker(self, name: str) -> Any:
        assert name == "overlap"
        return self._reranker

    def tokenizer(self, name: str) -> Tokenizer:
        raise ConfigError(f"the tokenizer of {name} is not known")


DENSE: dict[str, Any] = {"model": "words", "text": ["title", "body"]}
LEXICAL: dict[str, Any] = {"fields": {"title": {"analyzer": "english"}, "body": {"analyzer": "english"}}}
MODELS: dict[str, Any] = {
    "words": {"kind": "embedder", "id": "test/words", "dimension": DIMENSION, "similarity": "cosine"},
    "overlap": {"kind": "reranker", "id": "test/overlap"},
}


def program(name: str, views: Mapping[str, Any], **changes: Any) -> Program:
    value = {
        "schema": "idxopt/1",
        "name": name,
        "source": {"fields": {"title": "title", "body": "text"}, "metadata": {"lang": "keyword"}, "markup": "markdown"},
        "models": MODELS,
        "views": views,
    }
    return program_from({**value, **changes}, "test")


def live(engine: Engine, wanted: Program, data: Path, tmp_path: Path) -> None:
    given = {"words": Words()}
    with Models(wanted.models, {}, cache=None, secret=lambda reference: reference, given=given) as models:
        put_live(engine, wanted, data, tmp_path, models=models)


def searcher(engine: Engine, name: str, embedder: Any = None, reranker: Any = None, **options: Any) -> Searcher:
    given = Given(embedder or Words(), reranker or Overlap())
    return Searcher(engine, Resolver(engine, name, ttl=0.0), models=given, **options)


def pages(count: int = 12) -> list[dict[str, Any]]:
    """Documents with three sections; `animal{n}` stands in the last one only, `plant{n}` in the first."""
    return [
        {
            "_id": f"p{n:02}",
            "title": f"page {n}",
            "lang": "de" if n % 3 == 0 else "en",
            "text": f"# Page {n}\n\nAbout plant{n} and a common word.\n\n## Care\n\nWater the plant{n} well.\n\n"
            f"## Visitors\n\nThe animal{n} comes at night.\n",
        }
        for n in range(count)
    ]


BOTH: dict[str, Any] = {"content": {"lexical": LEXICAL, "dense": DENSE}}
RERANK: dict[str, Any] = {"model": "overlap", "candidates": 5, "sections": 3}
