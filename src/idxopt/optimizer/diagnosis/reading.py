"""What is read of a corpus once for all of its diagnoses: facts, document frequencies, repeated lines, tokens.

Tokens are kept by line: a line feed always ends a token of the standard tokenizer, so a field that joins others has
the tokens of their lines.
"""

from __future__ import annotations

import math
import re
import weakref
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from idxopt.hashing import digest
from idxopt.operators.paths import value_at
from idxopt.operators.row import text_of
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.diagnosis.facts import facts_and_repeated, is_repeated, sampled
from idxopt.optimizer.diagnosis.findings import CorpusFacts
from idxopt.program.schema import Source
from idxopt.text.analysis import Analyzer, analyzer, standard_tokens
from idxopt.text.identifiers import lowercase, split_identifiers

MOST_CHARACTERS = 200_000
"""Of one field of one document; what stands behind takes no part in a diagnosis."""
_FREQUENCIES_FROM = 300
"""Documents that document frequencies are counted in: they only weigh the words of a query."""
_MOST_TOKENS, _MOST_SOURCE_TOKENS = 5_000_000, 1_000_000
"""Tokens kept in memory: of lines, and of documents with the places of their terms."""
_LONGEST_PART = 40

_WORD = re.compile(r"[^\W_]+")
_english: Analyzer = analyzer("english")


class LineTokens(dict[str, tuple[str, ...]]):
    """Line -> its tokens as they are written; emptied when it holds five million."""

    def __init__(self) -> None:
        super().__init__()
        self._held = 0

    def __missing__(self, line: str) -> tuple[str, ...]:
        tokens = tuple(standard_tokens(line))
        self._held += len(tokens)
        if self._held > _MOST_TOKENS:
            self.clear()
            self._held = len(tokens)
        self[line] = tokens
        return tokens

    def of(self, text: str) -> Iterator[str]:
        """The tokens of a text."""
        for line in text[:MOST_CHARACTERS].split("\n"):
            yield from self[line]


class Terms(dict[str, tuple[str, ...]]):
    """Token -> what an analyzer makes of it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._analyze = analyzer(name)

    def __missing__(self, token: str) -> tuple[str, ...]:
        terms = self[token] = tuple(self._analyze(token))
        return terms


_english_terms = Terms("english")


@dataclass(frozen=True)
class SourceText:
    """The source fields of one document as tokens, in their order, as written.

    `repeated`: the tokens of its body that stand in lines which many documents repeat.
    """

    fields: Mapping[str, tuple[str, ...]]
    repeated: tuple[str, ...]

    @cached_property
    def places(self) -> dict[str, dict[str, list[int]]]:
        """The places of each English term, by field."""
        found: dict[str, dict[str, list[int]]] = {}
        for name, tokens in self.fields.items():
            of_field = found[name] = {}
            for place, token in enumerate(tokens):
                for term in _english_terms[token]:
                    of_field.setdefault(term, []).append(place)
        return found

    @cached_property
    def in_repeated(self) -> Counter[str]:
        """How often each English term stands in repeated lines of the body."""
        return Counter(term for token in self.repeated for term in _english_terms[token])

    def has_part(self, word: str) -> bool:
        """Whether one of its identifiers has the word as a part."""
        terms = _english(word)
        return len(word) > 1 and bool(terms) and self._parts.issuperset(terms)

    @cached_property
    def _parts(self) -> frozenset[str]:
        parts = (
            part
            for token in {token for tokens in self.fields.values() for token in tokens}
            if (not token.islower() or "_" in token or "." in token) and (split := split_identifiers(token)) != token
            for part in split.split()
        )
        return frozenset(term for part in parts for term in _english(part))

    @cached_property
    def joined(self) -> frozenset[str]:
        """Two and three neighbouring tokens written as one, in lower case."""
        found: set[str] = set()
        for tokens in self.fields.values():
            lower = [token.lower() for token in tokens]
            pairs = list(map("".join, pairwise(lower)))
            found.update(pair for pair in pairs if len(pair) <= _LONGEST_PART)
            found.update(map("".join, zip(pairs, lower[2:], strict=False)))
        return frozenset(found)

    @cached_property
    def tokens(self) -> frozenset[str]:
        """Its tokens in lower case."""
        return frozenset(token.lower() for tokens in self.fields.values() for token in tokens)


@dataclass
class CorpusReading:
    """One corpus as it is read by one `source`. Texts are read when they are asked for, and kept."""

    facts: CorpusFacts
    repeated: frozenset[str]
    documents: int
    frequencies: Counter[str]
    paths: Mapping[str, str]
    lines: LineTokens = field(default_factory=LineTokens)
    terms: dict[str, Terms] = field(default_factory=dict)
    _sources: dict[str, SourceText] = field(default_factory=dict)
    _held: int = 0

    def terms_of(self, analyzer_name: str) -> Terms:
        """The analyzer of that name, a token at a time."""
        return self.terms.setdefault(analyzer_name, Terms(analyzer_name))

    def source(self, corpus: Corpus, doc_id: str) -> SourceText:
        """The source fields of a document."""
        found = self._sources.get(doc_id)
        if found is None:
            document = corpus.by_id[doc_id].source
            texts = {name: text_of(value_at(document, path)) for name, path in self.paths.items()}
            fields = {name: tuple(self.lines.of(text)) for name, text in texts.items()}
            found = SourceText(fields, self._repeated_tokens(texts[self.facts.body]))
            self._held += sum(map(len, fields.values()))
            if self._held > _MOST_SOURCE_TOKENS:
                self._sources.clear()
                self._held = sum(map(len, fields.values()))
            self._sources[doc_id] = found
        return found

    def _repeated_tokens(self, body: str) -> tuple[str, ...]:
        if not self.repeated:
            return ()
        lines = body[:MOST_CHARACTERS].split("\n")
        return tuple(token for line in lines if is_repeated(line, self.repeated) for token in self.lines[line])

    def weights(self, words: Sequence[str]) -> dict[str, float]:
        """The idf of each word (in lower case) over those of all, adding up to 1."""
        raw = {lowercase(word): self._idf(word) for word in words}
        total = sum(raw.values())
        return {word: value / total for word, value in raw.items()} if total else {}

    def _idf(self, word: str) -> float:
        frequency = max((self.frequencies[term] for term in _english(word)), default=self.documents)
        return math.log(1 + (self.documents - frequency + 0.5) / (frequency + 0.5))


_READ: dict[tuple[int, str], CorpusReading] = {}


def read_corpus(corpus: Corpus, source: Source) -> CorpusReading:
    """What is known of a corpus, read at the first call; forgotten with the corpus."""
    key = (id(corpus), digest(source.model_dump(mode="json")))
    if key not in _READ:
        _READ[key] = _read(corpus, source)
        weakref.finalize(corpus, _READ.pop, key, None)
    return _READ[key]


def _read(corpus: Corpus, source: Source) -> CorpusReading:
    facts, repeated = facts_and_repeated(corpus, source)
    sample = sampled(corpus.documents, _FREQUENCIES_FROM)
    frequencies: Counter[str] = Counter()
    for document in sample:
        texts = (lowercase(text_of(value_at(document.source, path))) for path in source.fields.values())
        words = {word for text in texts for word in _WORD.findall(text)}
        frequencies.update({term for word in words for term in _english(word)})
    return CorpusReading(facts, repeated, len(sample), frequencies, dict(source.fields))
