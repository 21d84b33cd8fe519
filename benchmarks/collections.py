"""The shared collections: a BEIR folder each, beside the repository."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import orjson

from idxopt.errors import SourceError
from idxopt.evaluation.datasets import load_dataset_folder
from idxopt.evaluation.judgments import JudgedQueries

FOLDER = Path(__file__).resolve().parents[2] / "shared" / "datasets"
NAMES = ("scifact", "cranfield", "awsdocs_small", "medquad_pages", "covidqa_docs", "chroma_chunking")
_MARKDOWN = frozenset({"awsdocs_small", "medquad_pages"})


@dataclass(frozen=True, slots=True)
class Collection:
    """One collection: `place` is what a command would be given as its source."""

    name: str
    folder: Path

    @property
    def place(self) -> str:
        return str(self.folder)

    @property
    def markup(self) -> Literal["markdown", "text"]:
        """What its texts are written in."""
        return "markdown" if self.name in _MARKDOWN else "text"

    def judged(self, most: int | None = None) -> JudgedQueries:
        """The test queries that have judgments, or the first `most` of them."""
        every = load_dataset_folder(self.folder)
        queries = every.queries[:most]
        return replace(every, queries=queries, qrels={query.id: every.qrels[query.id] for query in queries})

    def documents(self) -> Iterator[dict[str, Any]]:
        """The documents as they stand in the corpus."""
        with gzip.open(self.folder / "corpus.jsonl.gz") as lines:
            for line in lines:
                yield orjson.loads(line)


def collection(name: str) -> Collection:
    """Raises SourceError where the collection is not there."""
    folder = FOLDER / name
    if not folder.is_dir():
        raise SourceError(
            "the collection is not there",
            place=f"../shared/datasets/{name}",
            remedy="put the shared collections beside the repository",
        )
    return Collection(name, folder)
