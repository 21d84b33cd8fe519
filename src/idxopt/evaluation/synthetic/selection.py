"""From candidates to queries: which are dropped, and why. The order of documents is drawn by a seed.

A candidate is dropped as the first of these that holds:
- `length`: fewer than 3 or more than 12 content words
- `personal`: looks like an e-mail address or a long number
- `pointing`: a question that speaks of "the text" or "this document", which nobody who searches has before them
- `ambiguous`: another document has a title, heading or first sentence with the same content terms
- `near-duplicate`: Jaccard similarity of content terms with a query chosen before is .8 or more
- `emptied`: without the text the document has fewer than 3 content terms
- `unfindable`: none of its content terms is in the document without the text
- `trivial`: BM25 over all texts of a document (the document's own without the text) ranks the document first with a
  score at least 1.5 times that of the second, and every content term of the query is in it
"""

from __future__ import annotations

import random
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from idxopt.evaluation.synthetic.known_items import Candidate, Cut, cuts, texts_of, without
from idxopt.evaluation.synthetic.lexical import LexicalIndex
from idxopt.evaluation.synthetic.wording import LEAST_WORDS, MOST_WORDS, content_words, is_personal, jaccard
from idxopt.models.ports import Progress
from idxopt.operators.row import Document
from idxopt.program.schema import Source

T = TypeVar("T")

SEED = 20_240_229
SIMILAR = 0.8
TRIVIAL_LEAD = 1.5
_LEAST_LEFT = 3
_POINTING = re.compile(r"\b(?:the|this) (?:article|author|document|page|paper|passage|section|text)s?\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Settings:
    """`queries`: how many are wanted; `per_document`: at most so many of one document."""

    queries: int = 200
    per_document: int = 1
    seed: int = SEED


@dataclass(frozen=True, slots=True)
class Chosen:
    """A query, the document it is from, and what must be removed from that document."""

    candidate: Candidate
    cuts: tuple[Cut, ...]


@dataclass
class Selection:
    """The queries in the order they were drawn. `dropped` by reason; `looked_at`: candidates that were judged."""

    chosen: list[Chosen] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    looked_at: int = 0


def select(
    documents: Mapping[str, Document],
    source: Source,
    found: Mapping[str, Sequence[Candidate]],
    held: Mapping[frozenset[str], int],
    index: LexicalIndex,
    settings: Settings,
    on_progress: Progress | None = None,
) -> Selection:
    """Draws queries until there are enough or no document is left. `found`: candidates by document id; `held`:
    how many documents have a text of those terms.
    """
    selection = Selection()
    similar = _Similar()
    order = sorted(found)
    random.Random(settings.seed).shuffle(order)
    for id_ in order:
        taken: list[Chosen] = []
        for candidate in _mixed(found[id_], random.Random(f"{settings.seed} {id_}")):
            if len(taken) == settings.per_document or len(selection.chosen) == settings.queries:
                break
            selection.looked_at += 1
            reason = _unfit(candidate, held, similar)
            if reason is None:
                places = cuts(documents[id_], source, candidate)
                before = [cut for one in taken for cut in one.cuts]
                reason = _untelling(candidate, without(documents[id_], source, [*before, *places]), source, index)
            if reason is not None:
                selection.dropped[reason] += 1
                continue
            similar.add(candidate.terms)
            taken.append(Chosen(candidate, places))
            selection.chosen.append(taken[-1])
            if on_progress is not None:
                on_progress(len(selection.chosen), settings.queries)
    return selection


def documents_by_terms(found: Iterable[Iterable[Candidate]]) -> Counter[frozenset[str]]:
    """How many documents have a text of these content terms. `found`: candidates, a document after the other."""
    return Counter(terms for of_one in found for terms in {candidate.terms for candidate in of_one})


def joined(document: Document, source: Source) -> str:
    """All texts of a document."""
    return "\n".join(texts_of(document, source).values())


def _unfit(candidate: Candidate, held: Mapping[frozenset[str], int], similar: _Similar) -> str | None:
    if not LEAST_WORDS <= len(content_words(candidate.text)) <= MOST_WORDS:
        return "length"
    if is_personal(candidate.text):
        return "personal"
    if candidate.kind == "question" and _POINTING.search(candidate.text):
        return "pointing"
    if held[candidate.terms] > 1:
        return "ambiguous"
    return "near-duplicate" if similar.to(candidate.terms) else None


def _untelling(candidate: Candidate, changed: Document, source: Source, index: LexicalIndex) -> str | None:
    standing = index.standing(candidate.text, candidate.document, joined(changed, source))
    if len(standing.terms) < _LEAST_LEFT:
        return "emptied"
    if not candidate.terms & standing.terms:
        return "unfindable"
    trivial = standing.rank == 1 and standing.lead >= TRIVIAL_LEAD and candidate.terms <= standing.terms
    return "trivial" if trivial else None


class _Similar:
    """Term sets of the chosen queries, by term."""

    def __init__(self) -> None:
        self._by_term: dict[str, list[frozenset[str]]] = defaultdict(list)

    def add(self, terms: frozenset[str]) -> None:
        for term in terms:
            self._by_term[term].append(terms)

    def to(self, terms: frozenset[str]) -> bool:
        """Whether a chosen query is about the same."""
        return any(jaccard(terms, other) >= SIMILAR for term in terms for other in self._by_term.get(term, ()))


def _mixed(candidates: Sequence[Candidate], chance: random.Random) -> Iterator[Candidate]:
    """By kinds in turn, so that many headings do not leave titles out; the order inside a kind is drawn."""
    by_kind: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        by_kind[candidate.kind].append(candidate)
    lists = list(by_kind.values())
    chance.shuffle(lists)
    for one in lists:
        chance.shuffle(one)
    return _in_turn(lists)


def _in_turn(lists: Sequence[Sequence[T]]) -> Iterator[T]:
    for place in range(max(map(len, lists), default=0)):
        for one in lists:
            if place < len(one):
                yield one[place]
