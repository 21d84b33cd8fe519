"""A corpus before anything is indexed: how long, how structured, how well titled, how dense its documents are.

No query and no judgment is read. Words are PRIME's tokens (`operators.streams`), sections those of
`enrich heading_tree`. `regimes.py` says what the figures mean for the choice of a representation.

Headings are called false where they look like code or a formula, or are whole sentences; sections are called one-line
where less than a line of text (12 words) stands under them: both cut an argument apart rather than name its parts. A
title is called an id where it is a file name or a path, or has digits and no word in lower case. Names of functions and
acronyms are neither.
"""

from __future__ import annotations

import heapq
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from idxopt.errors import EvaluationError
from idxopt.evaluation.density import CorpusDensity, Density, Reference, density_of
from idxopt.evaluation.representations import Text
from idxopt.operators.enrich.heading_tree import tree_sections
from idxopt.operators.interpreter import source_fields
from idxopt.operators.markup import parsed_markup
from idxopt.operators.outline import split_level
from idxopt.operators.row import Document, text_of
from idxopt.operators.streams import STOP_WORDS, prime_terms_of, prime_tokens
from idxopt.program.schema import Markup, Program
from idxopt.text.structure import PRIME_LEVEL

WINDOW_WORDS = 190
"""Words of English prose in an encoder's window of 256 tokens."""
ONE_LINE_WORDS = 12
_SENTENCE_WORDS = 15
_SUBJECT_TERMS = 5
_REPEATED_IN = 3

_FILE_NAME = re.compile(r"\S+\.(?:adoc|csv|docx?|html?|json|md|pdf|rst|txt|xml)|\S*/\S*/\S*|\S*\\\S*", re.IGNORECASE)
_LOWER_WORD = re.compile(r"[^\W\d_A-Z]{3,}")
_STATEMENT = re.compile(r"[{};=$\\|]")
_MARKDOWN_HEADING = re.compile(r"^#{1,6} \S", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Titles:
    """`share`: documents with a title. Of those: `distinct` titles, `words` in the mean, `in_body`: share of the
    title's words (no stop words) that stand in the body, `id_like`, and `named`: share of those words among the five
    terms of the body with the highest TF-IDF. Where that is high, a document is an entry about the thing it is named
    after.
    """

    share: float
    distinct: float
    words: float
    in_body: float
    id_like: float
    named: float = 0.0

    @property
    def quality(self) -> float:
        """0 to 1: the share of documents that their title tells from the others in words."""
        return self.share * self.distinct * (1 - self.id_like)


@dataclass(frozen=True, slots=True)
class Headings:
    """`coverage`: documents with a heading that names a section. `sections` a document (those without headings count
    1); `median_sections` of covered documents. `fallback`: covered documents without a level-2 heading.
    Of all section headings: `one_line`, `false`, `repeated` (the same text in three documents or more).
    `tree_words`: words of the heading tree of covered documents.
    """

    coverage: float
    sections: float
    median_sections: float
    fallback: float
    one_line: float
    false: float
    repeated: float
    tree_words: float


@dataclass(frozen=True, slots=True)
class Lengths:
    """Words of the bodies; `beyond_window`: documents longer than an encoder's window."""

    mean: float
    p10: float
    median: float
    p90: float
    beyond_window: float

    @property
    def windows(self) -> float:
        """Windows of an average document."""
        return max(1.0, self.mean / WINDOW_WORDS)


@dataclass(frozen=True, slots=True)
class Profile:
    """Everything that was measured over `documents` (`empty` of them have no body)."""

    documents: int
    empty: int
    markup: Markup
    titles: Titles
    headings: Headings
    lengths: Lengths
    density: CorpusDensity
    unread_markdown: float
    """Share of documents of a corpus without markup whose lines look like Markdown headings."""


@dataclass(slots=True)
class _Found:
    """One document's share of the profile."""

    words: int
    title_words: list[str]
    title: str
    in_body: float
    named: float
    tree_words: int
    sections: int
    headings: list[str]
    level_2: bool
    one_line: int
    density: Density | None
    markdown: bool


def texts_of(program: Program, documents: Iterable[Document], *, body: str = "body") -> Iterator[Text]:
    """The texts that a profile reads: the fields `title` and `body` of a program (`body` may name another)."""
    for document in documents:
        fields = source_fields(program, document)
        yield Text(document.id, text_of(fields.get("title")), text_of(fields.get(body)))


def profile(texts: Sequence[Text], markup: Markup) -> Profile:
    """Measures a corpus. Raises EvaluationError where no document has any text."""
    full = [text for text in texts if text.body.strip()]
    if not full:
        raise EvaluationError(
            f"none of the {len(texts)} documents has any text", remedy="check which field holds the text"
        )
    reference = Reference.of((text.body for text in full), markup)
    found = [_found(text, markup, reference) for text in full]
    densities = [one.density for one in found if one.density is not None]
    return Profile(
        documents=len(texts),
        empty=len(texts) - len(full),
        markup=markup,
        titles=_titles(found),
        headings=_headings(found),
        lengths=_lengths([one.words for one in found]),
        density=CorpusDensity(_mean_density(densities), len(densities), len(found) - len(densities)),
        unread_markdown=_mean(one.markdown for one in found),
    )


def _found(text: Text, markup: Markup, reference: Reference) -> _Found:
    tokens = prime_terms_of(text.body, markup)
    title_words = prime_tokens(text.title)
    named = {word for word in title_words if word not in STOP_WORDS}
    in_tree = _section_headings(text, markup)
    sections = tree_sections(text.body, markup, PRIME_LEVEL)
    of_section = [
        len(prime_tokens(text.body[section.body_start : section.end])) for section in sections if section.path
    ]
    return _Found(
        words=len(tokens),
        title_words=title_words,
        title=" ".join(text.title.split()),
        in_body=len(named & set(tokens)) / len(named) if named else 0.0,
        named=len(named & _subject(tokens, reference)) / len(named) if named else 0.0,
        tree_words=sum(len(prime_tokens(" ".join(section.path))) for section in sections),
        sections=max(1, len(sections)),
        headings=in_tree,
        level_2=any(heading.level == PRIME_LEVEL for heading in parsed_markup(text.body, markup).headings),
        one_line=sum(words < ONE_LINE_WORDS for words in of_section) if in_tree else 0,
        density=density_of(tokens, reference),
        markdown=markup == "text" and has_markdown_heading(text.body),
    )


def has_markdown_heading(text: str) -> bool:
    """Whether a line looks like a Markdown heading."""
    return _MARKDOWN_HEADING.search(text) is not None


def _subject(tokens: Sequence[str], reference: Reference) -> set[str]:
    """The terms that a body is most about."""
    counts = Counter(token for token in tokens if token not in STOP_WORDS)
    best = heapq.nsmallest(_SUBJECT_TERMS, counts, key=lambda term: (-counts[term] * reference.idf(term), term))
    return set(best)


def _section_headings(text: Text, markup: Markup) -> list[str]:
    """The headings of the document's sections; its own title, once and alone, is none."""
    headings = parsed_markup(text.body, markup).headings
    level = split_level(headings, PRIME_LEVEL)
    found = [heading.text for heading in headings if heading.level == level]
    alone = len(found) == 1 and prime_tokens(found[0]) == prime_tokens(text.title)
    return [] if alone else found


def is_false_heading(heading: str) -> bool:
    """Whether a heading looks like a statement or a formula, or is a whole sentence."""
    words = heading.split()
    if not any(map(str.isalpha, heading)) or _STATEMENT.search(heading):
        return True
    return len(words) > _SENTENCE_WORDS or (len(words) > 5 and heading.endswith((".", ",")))


def is_id(title: str) -> bool:
    """Whether a title is a file name, a path, or has digits and no word in lower case."""
    if _FILE_NAME.fullmatch(title):
        return True
    return any(map(str.isdigit, title)) and _LOWER_WORD.search(title) is None


def _titles(found: Sequence[_Found]) -> Titles:
    titled = [one for one in found if one.title_words]
    if not titled:
        return Titles(0.0, 0.0, 0.0, 0.0, 0.0)
    return Titles(
        share=len(titled) / len(found),
        distinct=len({one.title.lower() for one in titled}) / len(titled),
        words=_mean(len(one.title_words) for one in titled),
        in_body=_mean(one.in_body for one in titled),
        id_like=_mean(is_id(one.title) for one in titled),
        named=_mean(one.named for one in titled),
    )


def _headings(found: Sequence[_Found]) -> Headings:
    covered = [one for one in found if one.headings]
    every = [heading for one in covered for heading in one.headings]
    if not every:
        return Headings(0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    documents = Counter(heading for one in covered for heading in {text.lower().strip() for text in one.headings})
    return Headings(
        coverage=len(covered) / len(found),
        sections=_mean(one.sections if one.headings else 1 for one in found),
        median_sections=statistics.median(len(one.headings) for one in covered),
        fallback=_mean(not one.level_2 for one in covered),
        one_line=sum(one.one_line for one in covered) / len(every),
        false=_mean(is_false_heading(heading) for heading in every),
        repeated=_mean(documents[heading.lower().strip()] >= _REPEATED_IN for heading in every),
        tree_words=_mean(one.tree_words for one in covered),
    )


def _lengths(words: Sequence[int]) -> Lengths:
    ordered = sorted(words)
    return Lengths(
        mean=_mean(ordered),
        p10=ordered[len(ordered) // 10],
        median=statistics.median(ordered),
        p90=ordered[min(len(ordered) - 1, len(ordered) * 9 // 10)],
        beyond_window=_mean(count > WINDOW_WORDS for count in ordered),
    )


def _mean_density(found: Sequence[Density]) -> Density:
    def mean(name: str) -> float:
        return _mean(getattr(one, name) for one in found)

    return Density(mean("stop_ratio"), mean("mean_idf"), mean("technical"), mean("semantic"), mean("tokens"))


def _mean(values: Iterable[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0
