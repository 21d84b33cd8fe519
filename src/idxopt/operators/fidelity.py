"""What a rewritten section kept of its original, and whether it may stand in for it (PRIME's fidelity audit, Table 6).

Gated (thresholds of ours; the paper only reports): a number lost from a sentence with a kept term, more than 2% of the
rewritten section's spans absent from the source, numbers or acronyms kept below .9, and a contradiction where an
entailment model was asked. Reported only: named entities kept, sentences kept verbatim.

Definitions, by rules where the paper uses spaCy, so that no model is needed:

- numbers: digits with decimal parts, thousands separators removed, values compared (`91.0` is `91`); numbers of ordered
  list items are none. Distinct ones are counted.
- acronyms: words of two or more capitals and digits that begin with a capital, also joined by hyphens, without a
  plural `s`. Distinct.
- entities: runs of capitalised words, as `enrich entities` finds them. Kept: the run stands in the rewritten text.
- terms of a sentence: its acronyms, identifiers and words capitalised within it; its words of six letters and more
  where it has none of these. A number is lost from a sentence when a term of the sentence is kept and the number is
  not.
- spans of a rewritten text: its numbers, acronyms and entities. Absent: a number, or a
  word of the others, is not in the source.
- verbatim: the share of the source's sentences that stand in the rewritten text but for white space.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Protocol

from idxopt.operators.enrich.entities import entities
from idxopt.text.identifiers import lowercase
from idxopt.text.sentences import sentence_spans
from idxopt.text.stop_words import STOP_WORDS

NUMBERS_KEPT = 0.9
ACRONYMS_KEPT = 0.9
ABSENT_SPANS = 0.02

_ALL = 1_000_000
_LONG = 6
_NUMBER = re.compile(r"(?<![\w.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?!\d)|\d+(?:\.\d+)*")
_ITEM = re.compile(r"^[ \t]*\d{1,3}[.)][ \t]+", re.MULTILINE)
_ACRONYM = re.compile(r"(?<![\w-])([A-Z][A-Z0-9]+(?:-[A-Z][A-Z0-9]+)*)s?(?!\w)")
_IDENTIFIER = re.compile(r"\b\w*(?:[a-z][A-Z]|_|\d[A-Za-z]|[A-Za-z]\d)\w*\b")
_WORD = re.compile(r"[^\W_]+")
_CAPITALISED = re.compile(r"(?<=[\w,;:] )[A-Z][a-z]\w+")


class Entailment(Protocol):
    """An entailment model (the paper: roberta-large-mnli)."""

    def contradicts(self, premise: str, hypothesis: str) -> bool:
        """Whether it labels the hypothesis a contradiction of the premise. Raises ModelError."""
        ...


@dataclass(frozen=True, slots=True)
class Count:
    """`kept` of `all`."""

    kept: int = 0
    all: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.kept + other.kept, self.all + other.all)

    @property
    def share(self) -> float | None:
        """None where there was nothing to keep."""
        return self.kept / self.all if self.all else None


@dataclass(frozen=True, slots=True)
class Fidelity:
    """What a rewritten section kept. `absent.kept` counts its spans that are not in the source.

    `lost`: numbers lost from sentences with a kept term.
    """

    numbers: Count
    acronyms: Count
    entities: Count
    verbatim: Count
    absent: Count
    lost: tuple[str, ...] = ()
    contradicts: bool | None = None

    def of_the_original(self) -> Fidelity:
        """The same for the section as it was: what is stored where the rewritten one is refused."""
        counts = (self.numbers, self.acronyms, self.entities, self.verbatim)
        numbers, acronyms, entities_, verbatim = (Count(count.all, count.all) for count in counts)
        spans = numbers.all + acronyms.all + entities_.all
        judged = None if self.contradicts is None else False
        return Fidelity(numbers, acronyms, entities_, verbatim, Count(0, spans), (), judged)

    def refusals(self) -> tuple[str, ...]:
        """Why the original must be kept; empty: the rewritten section passes."""
        reasons = []
        if self.lost:
            reasons.append("number lost")
        if (self.absent.share or 0.0) > ABSENT_SPANS:
            reasons.append("spans absent from the source")
        if self.contradicts:
            reasons.append("contradiction")
        if self.numbers.share is not None and self.numbers.share < NUMBERS_KEPT:
            reasons.append("numbers kept")
        if self.acronyms.share is not None and self.acronyms.share < ACRONYMS_KEPT:
            reasons.append("acronyms kept")
        return tuple(reasons)


def fidelity(source: str, rewritten: str, *, contradicts: bool | None = None) -> Fidelity:
    """Compares the prose of a section with what was made of it. Plain text or light markup, both alike."""
    before, after = _Signals.of(source), _Signals.of(rewritten)
    folded = _folded(rewritten)
    sentences = _sentences(source)
    said = [sentence for sentence in map(_folded, sentences) if sentence]
    return Fidelity(
        numbers=_kept(before.numbers, after.numbers),
        acronyms=_kept(before.acronyms, after.acronyms),
        entities=Count(sum(_folded(name) in folded for name in before.entities), len(before.entities)),
        verbatim=Count(sum(sentence in folded for sentence in said), len(said)),
        absent=_absent(before, after, source),
        lost=tuple(sorted(_lost(sentences, after, folded))),
        contradicts=contradicts,
    )


@dataclass(frozen=True, slots=True)
class _Signals:
    numbers: frozenset[str]
    acronyms: frozenset[str]
    entities: tuple[str, ...]

    @classmethod
    def of(cls, text: str) -> _Signals:
        return cls(numbers_in(text), acronyms_in(text), tuple(entities(text, _ALL)))


def numbers_in(text: str) -> frozenset[str]:
    """The distinct numbers of a text, each as its value in plain digits."""
    return frozenset(_value(match[0]) for match in _NUMBER.finditer(_ITEM.sub("", text)))


def acronyms_in(text: str) -> frozenset[str]:
    """The distinct acronyms of a text, without a plural `s`."""
    return frozenset(match[1] for match in _ACRONYM.finditer(text))


def _value(number: str) -> str:
    plain = number.replace(",", "")
    if plain.count(".") > 1 or not plain.isascii():
        return plain  # a version or another notation: compared as it is written
    return f"{Decimal(plain).normalize():f}"


def _kept(before: frozenset[str], after: frozenset[str]) -> Count:
    return Count(len(before & after), len(before))


def _absent(before: _Signals, after: _Signals, source: str) -> Count:
    words = _words(source) | _words(" ".join(before.acronyms))
    named = {*after.acronyms, *after.entities}
    unknown = [name for name in named.difference(before.acronyms, before.entities) if not _words(name) <= words]
    return Count(len(after.numbers - before.numbers) + len(unknown), len(after.numbers) + len(named))


def _lost(sentences: Iterable[str], after: _Signals, folded: str) -> Iterable[str]:
    kept_words = _words(folded)
    for sentence in sentences:
        missing = numbers_in(sentence) - after.numbers
        if missing and any(_words(term) <= kept_words for term in _terms(sentence)):
            yield from missing


def _terms(sentence: str) -> frozenset[str]:
    named = {*acronyms_in(sentence), *_IDENTIFIER.findall(sentence), *_CAPITALISED.findall(sentence)}
    named = {name for name in named if not name.isdigit() and name.lower() not in STOP_WORDS}
    if named:
        return frozenset(named)
    return frozenset(
        word for word in _words(sentence) if len(word) >= _LONG and word not in STOP_WORDS and word.isalpha()
    )


def _sentences(text: str) -> list[str]:
    return [text[start:end] for start, end in sentence_spans(text)]


def _words(text: str) -> frozenset[str]:
    """Runs of letters and digits, in lower case: `GettingStarted.md` has two, however it is joined elsewhere."""
    return frozenset(_WORD.findall(lowercase(text)))


def _folded(text: str) -> str:
    """Lower case, runs of white space as one space."""
    return " ".join(lowercase(text).split())
