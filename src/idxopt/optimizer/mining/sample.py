"""Texts of a corpus to mine: all of them, or documents at even distances where there is too much to read in seconds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from idxopt.operators.paths import value_at
from idxopt.operators.row import text_of
from idxopt.optimizer.corpus import Corpus
from idxopt.program.schema import Source

MAX_CHARACTERS = 12_000_000
"""Code points that are read of a corpus."""
MAX_PROBED = 200
"""Documents whose lengths say how many to leave out."""


def texts(corpus: Corpus, source: Source, fields: Sequence[str] | None = None) -> Iterator[str]:
    """The texts of documents, the fields (None: all of the program) joined by line feeds. The same on every call."""
    names = list(source.fields) if fields is None else [name for name in fields if name in source.fields]
    paths = [source.fields[name] for name in names]
    documents = corpus.documents
    probed = documents[:: max(1, len(documents) // MAX_PROBED)]
    characters = sum(len(_text(document.source, paths)) for document in probed)
    mean = characters / max(1, len(probed))
    step = max(1, -(-int(mean * len(documents)) // MAX_CHARACTERS))
    left = 2 * MAX_CHARACTERS
    for document in documents[::step]:
        text = _text(document.source, paths)
        if len(text) > left:
            return
        left -= len(text)
        yield text


def _text(source: Mapping[str, Any], paths: Sequence[str]) -> str:
    return "\n".join(text_of(value_at(source, path)) for path in paths)
