"""Known-item queries: texts of a document that somebody who looks for it might type, and where they stand in it.

Titles, headings and first sentences are such texts. The document holds a copy of them, so the evaluation needs it
without: `cuts` are the places of the text in the document, every title, heading and sentence that says the same
(equal content terms). The words alone, inside other sentences, stay: they are what the document is found by.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from idxopt.evaluation.synthetic.wording import MOST_WORDS, cleaned, content_terms, content_words
from idxopt.operators.paths import value_at
from idxopt.operators.row import Document
from idxopt.program.schema import Markup, Source
from idxopt.text.sentences import sentence_spans
from idxopt.text.structure import parse, plain_text

Kind = Literal["title", "heading", "sentence", "question"]
KNOWN_ITEMS: tuple[Kind, ...] = ("title", "heading", "sentence")
TITLE = "title"
"""The field whose whole text is a title."""


@dataclass(frozen=True, slots=True)
class Cut:
    """Code points `start` to `end` of one field of a document."""

    field: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that may become a query for the document that it is from."""

    document: str
    kind: Kind
    text: str
    terms: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Piece:
    kind: Kind
    cut: Cut
    text: str


def texts_of(document: Document, source: Source) -> dict[str, str]:
    """The document's fields that are one text, by name; lists and numbers give no query and are never changed."""
    found = ((name, value_at(document.source, path)) for name, path in source.fields.items())
    return {name: value for name, value in found if isinstance(value, str)}


def candidates(document: Document, source: Source) -> list[Candidate]:
    """The document's known items of every kind and length; the same text may be there twice."""
    found = []
    for piece in _known(texts_of(document, source), source.markup):
        text = _query_of(piece)
        terms = content_terms(text)
        if terms:
            found.append(Candidate(document.id, piece.kind, text, terms))
    return found


def of_kinds(found: Iterable[Candidate], kinds: Sequence[Kind]) -> list[Candidate]:
    """Those of some kinds, a text once: as title before heading before sentence.

    A heading that says what the title says is a title: where titles are not wanted, no title is ever removed.
    """
    every = sorted(found, key=lambda one: KNOWN_ITEMS.index(one.kind))
    titles = {one.terms for one in every if one.kind == "title"}
    wanted = [one for one in every if one.kind in kinds and ("title" in kinds or one.terms not in titles)]
    return list({one.terms: one for one in reversed(wanted)}.values())[::-1]


def cuts(document: Document, source: Source, candidate: Candidate) -> tuple[Cut, ...]:
    """Where the text of a candidate stands in its document; nothing for a question, which is no copy."""
    if candidate.kind == "question":
        return ()
    texts = texts_of(document, source)
    found = dict.fromkeys(
        piece.cut
        for piece in (*_known(texts, source.markup), *_sentences(texts, source.markup))
        if content_terms(_query_of(piece)) == candidate.terms
    )
    return tuple(found)


def without(document: Document, source: Source, removed: Iterable[Cut]) -> Document:
    """The document without those places: same id, same keys; a field may become an empty text."""
    by_field: dict[str, list[Cut]] = defaultdict(list)
    for cut in removed:
        by_field[cut.field].append(cut)
    changed: Mapping[str, Any] = document.source
    for name, places in by_field.items():
        path = source.fields[name]
        changed = _replaced(changed, path, _without(value_at(changed, path), places))
    return Document(document.id, changed)


def _query_of(piece: _Piece) -> str:
    """A title or heading as it is; of a sentence its first content words."""
    text = cleaned(piece.text)
    return " ".join(content_words(text)[:MOST_WORDS]) if piece.kind == "sentence" else text


def _known(texts: Mapping[str, str], markup: Markup) -> Iterator[_Piece]:
    """The title, all headings, and the first sentence of each text."""
    for field, text in texts.items():
        if field == TITLE:
            yield _Piece("title", Cut(field, 0, len(text)), text)
            continue
        parsed = parse(text, markup)
        for heading in parsed.headings:
            yield _Piece("heading", Cut(field, heading.start, heading.end), heading.text)
        first = next((block for block in parsed.blocks if block.kind == "paragraph"), None)
        if first is not None:
            yield next(_in_block(field, text, first.start, first.end, markup))


def _sentences(texts: Mapping[str, str], markup: Markup) -> Iterator[_Piece]:
    for field, text in texts.items():
        if field != TITLE:
            for block in parse(text, markup).blocks:
                if block.kind == "paragraph":
                    yield from _in_block(field, text, block.start, block.end, markup)


def _in_block(field: str, text: str, start: int, end: int, markup: Markup) -> Iterator[_Piece]:
    for first, last in sentence_spans(text[start:end]):
        raw = text[start + first : start + last]
        yield _Piece("sentence", Cut(field, start + first, start + last), plain_text(raw, markup))


def _without(text: str, places: Sequence[Cut]) -> str:
    kept: list[str] = []
    at = 0
    for cut in sorted(places, key=lambda cut: cut.start):
        kept.append(text[at : max(at, cut.start)])
        at = max(at, cut.end)
    return "".join([*kept, text[at:]])


def _replaced(source: Mapping[str, Any], path: str, value: str) -> dict[str, Any]:
    """A copy with another text at `path`, found as `value_at` finds it."""
    if path in source:
        return {**source, path: value}
    head, dot, rest = path.partition(".")
    while dot:
        inner = source.get(head)
        if isinstance(inner, Mapping) and value_at(inner, rest) is not None:
            return {**source, head: _replaced(inner, rest, value)}
        following, dot, rest = rest.partition(".")
        head = f"{head}.{following}"
    raise KeyError(path)
