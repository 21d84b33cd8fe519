"""The part of a collection that an experiment uses: drawn by chance, judged documents kept, stated with a digest."""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from idxopt.errors import EvaluationError
from idxopt.evaluation.judgments import JudgedQueries
from idxopt.evaluation.profile import has_markdown_heading
from idxopt.experiments.kept import writing
from idxopt.hashing import digest
from idxopt.operators.paths import value_at
from idxopt.operators.row import Document, text_of
from idxopt.program.schema import Markup, Source

SEED = 20_240_229
_MARKDOWN_SHARE = 0.1
_UNSAFE = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Limits:
    """Most queries, documents and characters of the bodies; None: all. Judged documents are kept beyond them."""

    queries: int | None = 100
    documents: int | None = 1_000
    characters: int | None = 1_500_000
    seed: int = SEED


EVERYTHING = Limits(None, None, None)


@dataclass(frozen=True)
class Sample:
    """What was drawn. `of_documents`, `of_queries`: how many there were; `absent`: judged documents that the collection
    does not hold (their judgments are kept and cannot be found).
    """

    name: str
    place: str
    source: Source
    documents: tuple[Document, ...]
    judged: JudgedQueries
    of_documents: int
    of_queries: int
    absent: int
    limits: Limits

    @property
    def texts(self) -> dict[str, str]:
        """The bodies by document id."""
        return {document.id: self.field(document, "body") for document in self.documents}

    def field(self, document: Document, name: str) -> str:
        """The text of a program field; empty where the source has no such field."""
        path = self.source.fields.get(name)
        return text_of(value_at(document.source, path)) if path is not None else ""

    @cached_property
    def digest(self) -> str:
        """sha256 over documents, queries and judgments."""
        return digest(
            {
                "source": self.source.model_dump(mode="json"),
                "documents": [[document.id, orjson.dumps(document.source).decode()] for document in self.documents],
                "queries": [[query.id, query.text] for query in self.judged.queries],
                "qrels": {query: dict(graded) for query, graded in self.judged.qrels.items()},
            }
        )

    @property
    def statement(self) -> str:
        """One sentence for reports."""
        characters = sum(len(text) for text in self.texts.values())
        kept = len({doc for graded in self.judged.qrels.values() for doc in graded})
        note = "" if self.judged.synthetic_note is None else f"; {self.judged.synthetic_note}"
        absent = f", {self.absent} judged ones are not in the collection" if self.absent else ""
        return (
            f"{len(self.judged.queries)} of {self.of_queries} judged queries and {len(self.documents)} of "
            f"{self.of_documents} documents ({characters / 1e6:.2f} million characters; {kept} judged{absent}), seed "
            f"{self.limits.seed}, read as {self.source.markup}, sample {self.digest[:12]}{note}"
        )


def draw(
    name: str, place: str, source: Source, documents: Sequence[Document], judged: JudgedQueries, limits: Limits
) -> Sample:
    """A sample: queries first, then every document judged for them, then others while they fit. Order is by id.

    Raises EvaluationError where no judged document is in the collection.
    """
    chance = random.Random(limits.seed)
    queries = sorted(judged.queries, key=lambda query: query.id)
    if limits.queries is not None and len(queries) > limits.queries:
        queries = sorted(chance.sample(queries, limits.queries), key=lambda query: query.id)
    qrels = {query.id: judged.qrels[query.id] for query in queries}
    by_id = {document.id: document for document in documents}
    wanted = {doc for graded in qrels.values() for doc in graded}
    kept = wanted & by_id.keys()
    if not kept:
        raise EvaluationError(
            "none of the judged documents is in the collection",
            place=place,
            remedy="check that judgments and documents use the same ids",
        )
    others = sorted(by_id.keys() - kept)
    chance.shuffle(others)
    sizes = {id_: _size(document, source) for id_, document in by_id.items()}
    used = sum(sizes[id_] for id_ in kept)
    for id_ in others:
        if limits.documents is not None and len(kept) >= limits.documents:
            break
        if limits.characters is not None and used + sizes[id_] > limits.characters:
            continue
        kept.add(id_)
        used += sizes[id_]
    return Sample(
        name=name,
        place=place,
        source=source,
        documents=tuple(by_id[id_] for id_ in sorted(kept)),
        judged=JudgedQueries(tuple(queries), qrels, synthetic=judged.synthetic),
        of_documents=len(by_id),
        of_queries=len(judged.queries),
        absent=len(wanted - by_id.keys()),
        limits=limits,
    )


def _size(document: Document, source: Source) -> int:
    return len(text_of(value_at(document.source, source.fields["body"])))


def guessed_markup(bodies: Sequence[str]) -> Markup:
    """Markdown where a tenth of the documents has a line that is a Markdown heading, else plain text."""
    marked = sum(map(has_markdown_heading, bodies))
    return "markdown" if bodies and marked >= _MARKDOWN_SHARE * len(bodies) else "text"


def write_corpus(sample: Sample, folder: Path) -> None:
    """The documents as a BEIR folder, which every command reads. Raises SourceError."""
    file = folder / "corpus.jsonl"
    lines = b"".join(orjson.dumps(_plain(document, sample.source)) + b"\n" for document in sample.documents)
    with writing(file):
        folder.mkdir(parents=True, exist_ok=True)
        if not file.is_file() or file.read_bytes() != lines:
            file.write_bytes(lines)


def _plain(document: Document, source: Source) -> Mapping[str, Any]:
    return document.source if source.id in document.source else {**document.source, source.id: document.id}


def slug(name: str) -> str:
    """A name as part of a program's name."""
    return _UNSAFE.sub("-", name.lower()).strip("-")[:32].strip("-") or "collection"
