"""What the texts of a corpus are like, over at most 1,000 documents, by patterns: fast, and blind to fine points.

A proposer reads these to tell which operators have anything to work on. Structure is looked for in every markup at
once, whatever the source says it is: that Markdown stands in a corpus declared as plain text is a finding.
"""

from __future__ import annotations

import re
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from idxopt.operators.counting import is_counted, line_digest
from idxopt.operators.enrich.acronyms import acronyms
from idxopt.operators.paths import value_at
from idxopt.operators.row import Document, text_of
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.diagnosis.findings import CorpusFacts, FieldFacts
from idxopt.program.schema import Markup, Source
from idxopt.text.identifiers import lowercase

MOST_SAMPLED = 1_000
MANY_IDENTIFIERS = 3
"""Identifiers of a document that count: one alone is as often a name (McDonald, PubMed)."""
REPEATED_IN, REPEATED_SHARE = 20, 0.01
TITLE_WITHIN = 200
"""Characters of the body in which its title is looked for."""

_FENCE = re.compile(r"^ {0,3}(```|~~~).*?(?:^ {0,3}\1|\Z)", re.MULTILINE | re.DOTALL)
_TAG = r"</?(?:a|b|blockquote|body|br|code|dd|div|dl|dt|em|h[1-6]|html|i|img|li|ol|p|pre|span|strong|t[dhr]|table|ul)\b"
_HTML = re.compile(_TAG + r"[^<>\n]*>", re.IGNORECASE)
_HEADINGS: Mapping[Markup, re.Pattern[str]] = {
    "markdown": re.compile(r"^ {0,3}#{1,6} +\S", re.MULTILINE),
    "html": re.compile(r"<h[1-6]\b[^<>]*>", re.IGNORECASE),
    "rest": re.compile(r"^\S[^\n]{2,}\n(?:={4,}|-{4,}|~{4,}|\^{4,})[ \t]*$", re.MULTILINE),
    "asciidoc": re.compile(r"^={1,6} +\S", re.MULTILINE),
}
_CODE = re.compile(r"^ {0,3}(?:```|~~~)|<pre\b|^\.\. code(?:-block)?::|^-{4}\n", re.MULTILINE | re.IGNORECASE)
_TABLE = re.compile(
    r"^ {0,3}\|?(?:[ \t]*:?-+:?[ \t]*\|)+[ \t:-]*$|<table\b|^\+[-=]{2,}\+|^\|===", re.MULTILINE | re.IGNORECASE
)
_LIST = re.compile(r"^[ \t]*(?:[-*+\u2022]|[0-9]{1,3}[.)])[ \t]+\S|<li\b", re.MULTILINE | re.IGNORECASE)
_LINK = re.compile(r"(?:://|www\.|@)\S*")
IDENTIFIER = re.compile(
    r"\b(?:[a-z]{2}[a-z0-9]*(?:[A-Z][a-z][a-z0-9]+)+[A-Z0-9]*|(?:[A-Z][a-z][a-z0-9]+){2,}[A-Z0-9]*"
    r"|[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+|[A-Za-z_]{2,}(?:\.[A-Za-z_]{2,})+(?:\(\))?)\b"
)
"""camelCase, PascalCase, snake_case, dotted.names of ASCII letters, their parts long enough to be words."""
_WORDS = re.compile(r"[^\W_]+")


def corpus_facts(corpus: Corpus, source: Source) -> CorpusFacts:
    """The facts of a corpus; equal for equal corpora. An empty corpus has none of anything."""
    return facts_and_repeated(corpus, source)[0]


def facts_and_repeated(corpus: Corpus, source: Source) -> tuple[CorpusFacts, frozenset[str]]:
    """The facts, and the digests of the lines that many bodies repeat."""
    sample = sampled(corpus.documents)
    read = [_fields_of(source, document) for document in sample]
    fields = {name: _field_facts([fields.get(name, "") for fields in read]) for name in source.fields}
    title, body = text_fields(fields)
    bodies = [fields.get(body, "") for fields in read]
    bare = [_FENCE.sub("", text) for text in bodies]
    headed = {markup: _share(map(pattern.search, bare)) for markup, pattern in _HEADINGS.items()}
    html = _share(map(_HTML.search, bodies))
    lines = [lines_by_digest(text) for text in bodies]
    repeated = repeated_of(lines)
    facts = CorpusFacts(
        documents=len(corpus.documents),
        sampled=len(sample),
        fields=fields,
        headings=_share(any(pattern.search(text) for pattern in _HEADINGS.values()) for text in bare),
        html=html,
        code_blocks=_share(map(_CODE.search, bodies)),
        tables=_share(map(_TABLE.search, bare)),
        lists=_share(map(_LIST.search, bare)),
        identifiers=_share(map(_has_identifiers, bodies)),
        acronyms=_share(map(acronyms, bodies)),
        repeated_characters=_share_of_characters(lines, repeated, sum(map(len, bodies))),
        title_in_body=_share(begins_with(fields.get(body, ""), fields.get(title or "", "")) for fields in read),
        title=title,
        body=body,
        markup=_markup(headed, html),
    )
    return facts, repeated


def sampled(documents: Sequence[Document], most: int = MOST_SAMPLED) -> Sequence[Document]:
    """At most `most` documents, evenly spaced in their order."""
    count = min(len(documents), most)
    return [documents[number * len(documents) // count] for number in range(count)]


def text_fields(fields: Mapping[str, FieldFacts]) -> tuple[str | None, str]:
    """(title field, body field): by their names, else the field with the longest texts is the body and, of the others,
    the one with the shortest the title (None: there is only one).
    """
    by_length = sorted(fields, key=lambda name: (fields[name].mean_words, name))
    longest = next((name for name in reversed(by_length) if name != "title"), by_length[-1])
    body = "body" if "body" in fields else longest
    others = [name for name in by_length if name != body and fields[name].present]
    return ("title" if "title" in others else others[0] if others else None), body


def begins_with(body: str, title: str) -> bool:
    """Whether the title's words stand, in their order, in the first characters of the body."""
    words = _WORDS.findall(lowercase(title))
    head = _WORDS.findall(lowercase(body[: TITLE_WITHIN + len(title)]))
    return bool(words) and f" {' '.join(words)} " in f" {' '.join(head)} "


def lines_by_digest(text: str) -> dict[str, int]:
    """Characters by line (its digest) of a text, of the lines that can be boilerplate."""
    found: Counter[str] = Counter()
    for line in text.split("\n"):
        if is_counted(line):
            found[line_digest(line)] += len(line)
    return found


def repeated_of(lines: Sequence[Mapping[str, int]]) -> frozenset[str]:
    """Digests of the lines that stand in at least max(20, 1%) of some texts, given as `lines_by_digest`."""
    counts = Counter(line for of_text in lines for line in of_text)
    least = max(REPEATED_IN, REPEATED_SHARE * len(lines))
    return frozenset(line for line, count in counts.items() if count >= least)


def is_repeated(line: str, repeated: frozenset[str]) -> bool:
    """Whether the digest of a line is among those of `repeated_of`."""
    return is_counted(line) and line_digest(line) in repeated


def _fields_of(source: Source, document: Document) -> dict[str, str]:
    texts = ((name, text_of(value_at(document.source, path))) for name, path in source.fields.items())
    return {name: text for name, text in texts if text.strip()}


def _field_facts(texts: Sequence[str]) -> FieldFacts:
    present = [text for text in texts if text]
    if not present:
        return FieldFacts(0.0, 0.0, 0.0, 0.0, 0.0)
    words = sorted(len(text.split()) for text in present)
    return FieldFacts(
        present=len(present) / len(texts),
        distinct=len({lowercase(" ".join(text.split())) for text in present}) / len(present),
        mean_words=sum(words) / len(words),
        median_words=float(statistics.median(words)),
        p90_words=float(words[min(len(words) - 1, len(words) * 9 // 10)]),
    )


def _has_identifiers(text: str) -> bool:
    found: set[str] = set()
    for match in IDENTIFIER.finditer(_LINK.sub(" ", text)):
        found.add(match.group())
        if len(found) >= MANY_IDENTIFIERS:
            return True
    return False


def _share_of_characters(lines: Sequence[Mapping[str, int]], repeated: frozenset[str], total: int) -> float:
    return sum(of_text.get(line, 0) for of_text in lines for line in repeated) / total if total else 0.0


def _markup(headed: Mapping[Markup, float], html: float) -> Markup:
    """The markup that most bodies have headings of; HTML also by its tags."""
    shares = {**headed, "html": max(headed["html"], html if headed["markdown"] < html else 0.0)}
    best = max(shares, key=lambda markup: shares[markup])
    return best if shares[best] >= 0.5 else "text"


def _share(found: Iterable[object]) -> float:
    listed = [bool(one) for one in found]
    return sum(listed) / len(listed) if listed else 0.0
