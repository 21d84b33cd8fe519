"""Does the metadata vector find its own document? A look at an encoder and a corpus without any query.

Documents are sampled by seed; each gets the vector of its metadata (title, terms, headings), that of its title, and
those of windows spread over its body. Each metadata vector is then asked against all windows: the share whose own
document comes first says how well a few words stand for a document. It says nothing about queries for a detail.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from idxopt.errors import EvaluationError
from idxopt.evaluation.profile import WINDOW_WORDS
from idxopt.evaluation.representations import OFFLINE, TITLE, Represented, Text, best_first, metadata, windows
from idxopt.models.ports import Embedder, Progress
from idxopt.program.schema import Markup

SAMPLE = 100
WINDOWS_A_DOCUMENT = 4
SEED = 20_240_229


@dataclass(frozen=True, slots=True)
class SelfRetrieval:
    """Over `documents` with `windows` in all: the share of metadata and of title vectors whose own document is first
    (None: no titles), and the mean reciprocal rank of the metadata vectors. Guessing gives 1 / documents.
    """

    documents: int
    windows: int
    metadata_first: float
    title_first: float | None
    reciprocal_rank: float


def self_retrieval(
    texts: Sequence[Text],
    markup: Markup,
    embedder: Embedder,
    *,
    sample: int = SAMPLE,
    seed: int = SEED,
    on_progress: Progress | None = None,
) -> SelfRetrieval:
    """Raises ModelError, and EvaluationError where fewer than two documents have any text."""
    full = [number for number, text in enumerate(texts) if text.body.strip()]
    if len(full) < 2:
        raise EvaluationError("there are not two documents with text to tell apart", remedy="profile more documents")
    chosen = sorted(random.Random(seed).sample(full, min(sample, len(full))))
    ids = [texts[number].id for number in chosen]
    bodies = _spread(windows([texts[number] for number in chosen], markup, size=WINDOW_WORDS))
    rows = embedder.embed(bodies.texts, "passage", on_progress=on_progress).vectors

    def ranks(fields: Sequence[str]) -> list[int]:
        made = metadata(texts, markup, fields, chosen=chosen)
        if not made.texts:
            return []
        vectors = embedder.embed(made.texts, "passage").vectors
        rankings = best_first(vectors, rows, bodies, ids, depth=len(ids))
        return [
            1 + [doc for doc, _ in ranking].index(texts[owner].id)
            for ranking, owner in zip(rankings, made.owners, strict=True)
        ]

    offline, title = ranks(OFFLINE), ranks((TITLE,))
    if not offline:
        raise EvaluationError("no document has any metadata", remedy="map a title, or check the markup")
    return SelfRetrieval(
        documents=len(chosen),
        windows=len(bodies.texts),
        metadata_first=sum(rank == 1 for rank in offline) / len(offline),
        title_first=sum(rank == 1 for rank in title) / len(title) if title else None,
        reciprocal_rank=sum(1 / rank for rank in offline) / len(offline),
    )


def _spread(made: Represented) -> Represented:
    """At most WINDOWS_A_DOCUMENT windows of each document, evenly over it."""
    by_owner: dict[int, list[str]] = {}
    for text, owner in zip(made.texts, made.owners, strict=True):
        by_owner.setdefault(owner, []).append(text)
    pairs = [
        (held[len(held) * number // kept], owner)
        for owner, held in by_owner.items()
        for kept in [min(WINDOWS_A_DOCUMENT, len(held))]
        for number in range(kept)
    ]
    return Represented(tuple(text for text, _ in pairs), tuple(owner for _, owner in pairs))
