"""What one document has of one query, as a program's legs see it: matches by field, length, nearness, boilerplate."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from idxopt.errors import IdxoptError
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import text_of
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.diagnosis.findings import Ranked
from idxopt.optimizer.diagnosis.reading import MOST_CHARACTERS, CorpusReading, SourceText, Terms
from idxopt.optimizer.diagnosis.rules import Seen
from idxopt.optimizer.diagnosis.slices import content_words
from idxopt.program.schema import Program, View
from idxopt.text.identifiers import lowercase

WINDOW_WORDS = 100
_SHORTEST_JOINED = 5
_SIGNS = re.compile(r"[._-]+")


@dataclass(frozen=True, slots=True)
class SearchedRow:
    """One row: the terms of its searched fields with the analyzers that made them, and its tokens over all of them."""

    fields: Mapping[str, tuple[Terms, frozenset[str]]]
    words: int


@dataclass(frozen=True, slots=True)
class _SearchedView:
    interpreter: Interpreter
    fields: Mapping[str, str]
    """Analyzer by field."""


class SearchedDocuments:
    """The documents of a corpus as a program's views search them; each is interpreted once.

    A view whose rows cannot be made here (they need a model) takes no part.
    """

    def __init__(self, corpus: Corpus, program: Program, reading: CorpusReading, models: StepModels = NO_MODELS):
        self._corpus = corpus
        self._reading = reading
        self._views = list(_searched_views(corpus, program, models))
        self._rows: dict[str, list[SearchedRow]] = {}

    def rows(self, doc_id: str) -> Sequence[SearchedRow]:
        """The rows of a document in all views."""
        if doc_id not in self._rows:
            self._rows[doc_id] = [row for view in self._views for row in self._rows_in(view, doc_id)]
        return self._rows[doc_id]

    def _rows_in(self, view: _SearchedView, doc_id: str) -> list[SearchedRow]:
        try:
            rows = view.interpreter.rows(self._corpus.by_id[doc_id])
        except IdxoptError:
            return []
        return [
            self._searched({name: text_of(row.fields.get(name)) for name in view.fields}, view.fields) for row in rows
        ]

    def _searched(self, texts: Mapping[str, str], analyzers: Mapping[str, str]) -> SearchedRow:
        found: dict[str, tuple[Terms, frozenset[str]]] = {}
        words = 0
        for name, text in texts.items():
            if analyzers[name] == "keyword":
                tokens: Sequence[str] = [text[:MOST_CHARACTERS]] if text else []
            else:
                tokens = list(self._reading.lines.of(text))
            terms = self._reading.terms_of(analyzers[name])
            found[name] = terms, frozenset(term for token in set(tokens) for term in terms[token])
            words += len(tokens)
        return SearchedRow(found, words)


def _searched_views(corpus: Corpus, program: Program, models: StepModels) -> Iterable[_SearchedView]:
    for name, view in program.views.items():
        fields = _fields(view)
        try:
            interpreter = Interpreter(program, name, corpus.tables(program), models=models)
        except IdxoptError:
            continue
        if fields:
            yield _SearchedView(interpreter, fields)


def _fields(view: View) -> dict[str, str]:
    if view.lexical is not None:
        return {name: searched.analyzer for name, searched in view.lexical.fields.items() if searched.weight}
    return {} if view.dense is None else dict.fromkeys(view.dense.text, "english")


@dataclass(frozen=True, slots=True)
class AskedWords:
    """The content words of a query as written, their weights (by word in lower case, adding up to 1), and the word that
    an English term stands for.
    """

    words: tuple[str, ...]
    weights: Mapping[str, float]
    terms: Mapping[str, str]

    def share(self, words: Iterable[str]) -> float:
        """The weight of some words together. Exactly rounded: a set of words has another order in every process."""
        return math.fsum(self.weights.get(word, 0.0) for word in words)


def asked_words(text: str, reading: CorpusReading) -> AskedWords:
    """The content words of a query."""
    words = tuple(content_words(text))
    terms = reading.terms_of("english")
    return AskedWords(words, reading.weights(words), {term: lowercase(word) for word in words for term in terms[word]})


class Examiner:
    """Looks at documents for queries, under one program."""

    def __init__(self, documents: SearchedDocuments, corpus: Corpus, reading: CorpusReading) -> None:
        self._documents = documents
        self._corpus = corpus
        self._reading = reading

    def examine(self, asked: AskedWords, doc_id: str, rank: int | None, grade: int | None) -> tuple[Ranked, Seen]:
        """What a document has of a query."""
        source = self._reading.source(self._corpus, doc_id)
        rows = [(row, _words_by_field(asked, row)) for row in self._documents.rows(doc_id)]
        matched = _united(asked, [words for _, words in rows])
        held = frozenset(word for words in matched.values() for word in words)
        missing = tuple(word for word in map(lowercase, asked.words) if word not in held)
        places = {name: _occurrences(asked, of_field) for name, of_field in source.places.items()}
        in_source = {name: _in_order(asked, (word for _, word in found)) for name, found in places.items()}
        forms = tuple(other_forms(asked.words, frozenset(missing), source)) if missing else ()
        best = _length_of_best(asked, rows)
        ranked = Ranked(
            doc_id,
            rank,
            grade,
            sum(map(len, source.fields.values())),
            matched,
            missing,
            in_source={name: words for name, words in in_source.items() if words},
            row_words=best,
            other_forms=forms,
        )
        seen = Seen(
            covered=asked.share(held),
            words=best,
            near=max((nearest_share(found, asked.weights) for found in places.values()), default=0.0),
            boilerplate=_boilerplate(asked, source, places[self._reading.facts.body]),
            judged=grade is not None,
            fields={name: asked.share(words) for name, words in {**in_source, **matched}.items()},
            forms=forms,
            held=held,
        )
        return ranked, seen


def _occurrences(asked: AskedWords, places: Mapping[str, Sequence[int]]) -> list[tuple[int, str]]:
    """(place, word) of each occurrence of a word of the query in a field, by place."""
    return sorted((place, word) for term, word in asked.terms.items() for place in places.get(term, ()))


def _boilerplate(asked: AskedWords, source: SourceText, found: Sequence[tuple[int, str]]) -> float:
    """The share of matches in the body, by weight, that stand in lines which many documents repeat."""
    total = sum(asked.weights[word] for _, word in found)
    repeated = sum(asked.weights[word] * source.in_repeated[term] for term, word in asked.terms.items())
    return repeated / total if total else 0.0


def _words_by_field(asked: AskedWords, row: SearchedRow) -> dict[str, frozenset[str]]:
    return {
        name: frozenset(lowercase(word) for word in asked.words if terms[word] and own.issuperset(terms[word]))
        for name, (terms, own) in row.fields.items()
    }


def _united(asked: AskedWords, rows: Sequence[Mapping[str, frozenset[str]]]) -> dict[str, tuple[str, ...]]:
    """The words of the query by field, over all rows; fields that have none are left out."""
    names = dict.fromkeys(name for row in rows for name in row)
    found = {name: _in_order(asked, frozenset().union(*(row.get(name, frozenset()) for row in rows))) for name in names}
    return {name: words for name, words in found.items() if words}


def _length_of_best(asked: AskedWords, rows: Sequence[tuple[SearchedRow, Mapping[str, frozenset[str]]]]) -> int:
    """The length of the row that has most of the query, the shortest of equal ones."""
    ranked = [(-asked.share(frozenset().union(*fields.values())), row.words) for row, fields in rows]
    return min(ranked)[1] if ranked else 0


def nearest_share(found: Sequence[tuple[int, str]], weights: Mapping[str, float], window: int = WINDOW_WORDS) -> float:
    """The largest weight of distinct words within `window` tokens; `found`: their occurrences, by place."""
    counts: dict[str, int] = {}
    best = held = 0.0
    first = 0
    for place, word in found:
        if not counts.get(word):
            held += weights[word]
        counts[word] = counts.get(word, 0) + 1
        while found[first][0] <= place - window:
            left = found[first][1]
            counts[left] -= 1
            if not counts[left]:
                held -= weights[left]
            first += 1
        best = max(best, held)
    return best


def other_forms(words: Sequence[str], missing: frozenset[str], source: SourceText) -> Iterable[str]:
    """The missing words (in lower case) that a text has in another form.

    Within an identifier (`item` in `getItem`), joined with the word beside it (`dynamo db` as `dynamodb`), in parts
    that stand side by side (`getItem` as `get item`, `email` as `e-mail`).
    """
    lower = list(map(lowercase, words))
    for number, word in enumerate(lower):
        if word in missing and (
            source.has_part(word)
            or any(pair in source.tokens for pair in _pairs(lower, number))
            or _is_joined(_SIGNS.sub("", word), source)
        ):
            yield word


def _is_joined(word: str, source: SourceText) -> bool:
    return len(word) >= _SHORTEST_JOINED and word in source.joined


def _pairs(words: Sequence[str], number: int) -> list[str]:
    """The word joined with its neighbours in the query."""
    joined = ["".join(words[start : start + 2]) for start in (number - 1, number) if 0 <= start < len(words) - 1]
    return [pair for pair in joined if len(pair) >= _SHORTEST_JOINED]


def _in_order(asked: AskedWords, words: Iterable[str]) -> tuple[str, ...]:
    there = set(words)
    return tuple(word for word in map(lowercase, asked.words) if word in there)
