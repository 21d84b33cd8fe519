"""The documents that a search on a sample uses: all that are judged, and the hardest to tell from them."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import zip_longest

from idxopt.errors import UsageError
from idxopt.evaluation.judgments import Qrels, Run
from idxopt.hashing import text_digest
from idxopt.optimizer.corpus import Corpus

DEPTH = 100
"""Ranks of the baseline from which hard negatives come."""


def sampled(corpus: Corpus, qrels: Qrels, rankings: Run, size: int, seed: int) -> Corpus:
    """`size` documents: the judged ones; then what the baseline ranks high, the best rank of every query first; then
    others, drawn by the seed. The whole corpus where it is no larger.

    Raises UsageError where more documents are judged than the sample may hold.
    """
    if size >= len(corpus.documents):
        return corpus
    judged = {doc_id for graded in qrels.values() for doc_id in graded if doc_id in corpus.by_id}
    if len(judged) > size:
        raise UsageError(
            f"{len(judged):,} documents are judged, and a sample of {size:,} cannot hold them",
            place="--sample",
            remedy=f"use at least {2 * len(judged):,}, or leave it out",
        )
    chosen = dict.fromkeys(sorted(judged))
    for doc_id in (*_hard(rankings), *_drawn(corpus, seed)):
        if len(chosen) >= size:
            break
        chosen.setdefault(doc_id)
    return Corpus.of(corpus.by_id[doc_id] for doc_id in chosen)


def _hard(rankings: Run) -> Iterable[str]:
    """The first document of every query, then the second of every query, and so on."""
    lists = [[doc_id for doc_id, _ in rankings[query_id]] for query_id in sorted(rankings)]
    for rank in zip_longest(*lists):
        yield from (doc_id for doc_id in rank if doc_id is not None)


def _drawn(corpus: Corpus, seed: int) -> Iterable[str]:
    return sorted(corpus.by_id, key=lambda doc_id: text_digest(f"{seed}\0{doc_id}"))
