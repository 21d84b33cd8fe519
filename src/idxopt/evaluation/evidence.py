"""Is the evidence found? Sections judged by the gold spans that lie in them (PRIME, Table 5, panel B).

Sections are those of `enrich heading_tree`: level 2, with the text before the first heading. A text without headings is
one section; `window` cuts those longer than that many words, so that the figures mean something there. A section is
relevant when it holds 50 code points of a gold span, or half of a shorter one (the rule of Chroma's evaluation).

Figures over the queries that have section judgments: nDCG@5, R@5, P@5, MAP and MRR of sections; `token recall@5`: the
share of the gold spans' words that lie in the first five sections; `gold tokens`: words of the query's gold spans in
this corpus. A comparison of two corpora takes the queries that have section judgments in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from idxopt.errors import EvaluationError
from idxopt.evaluation.gold import GoldSpan, GoldSpans, located, pieces_of
from idxopt.evaluation.judgments import Qrels
from idxopt.evaluation.metrics import Metric, check_distinct, mean, per_query_values
from idxopt.operators.enrich.heading_tree import tree_sections
from idxopt.operators.row import row_id
from idxopt.program.schema import Markup
from idxopt.text.analysis import standard_spans

DEPTH = 5
ENOUGH = 50
"""Code points of a gold span that make a section relevant."""

SECTION_METRICS: tuple[Metric, ...] = (
    Metric("nDCG", DEPTH),
    Metric("Recall", DEPTH),
    Metric("P", DEPTH),
    Metric("MAP"),
    Metric("MRR"),
)
TOKEN_RECALL = f"token recall@{DEPTH}"
GOLD_TOKENS = "gold tokens"


@dataclass(frozen=True, slots=True)
class EvidenceSection:
    """A section of one document: its id (`{doc}#{number}`), heading path and span in the text."""

    id: str
    doc: str
    path: tuple[str, ...]
    start: int
    end: int


def sections_of(doc_id: str, text: str, markup: Markup, *, window: int | None = None) -> tuple[EvidenceSection, ...]:
    """The sections of a document, numbered in its order. `window`: most words of a section without a heading."""
    found: list[tuple[tuple[str, ...], int, int]] = []
    for section in tree_sections(text, markup, 2):
        if section.path or window is None:
            found.append((section.path, section.start, section.end))
            continue
        begins = [section.start + start for start, _ in standard_spans(text[section.start : section.end])][::window]
        cuts = [section.start, *begins[1:], section.end]
        found += [((), start, end) for start, end in pairwise(cuts)]
    return tuple(EvidenceSection(row_id(doc_id, number), doc_id, *item) for number, item in enumerate(found))


class Evidence:
    """The sections of a corpus, judged by gold spans. `qrels` is by query and section id."""

    def __init__(
        self, texts: Mapping[str, str], markup: Markup, spans: GoldSpans, *, window: int | None = None
    ) -> None:
        self.spans = spans
        self._by_query: dict[str, list[GoldSpan]] = {}
        for span in spans.spans:
            if span.doc in texts:
                self._by_query.setdefault(span.query, []).append(span)
        self.sections: dict[str, EvidenceSection] = {}
        self._of: dict[str, tuple[EvidenceSection, ...]] = {}
        self._words: dict[str, list[tuple[int, int]]] = {}
        for doc in texts:
            self._of[doc] = sections_of(doc, texts[doc], markup, window=window)
            self.sections.update((section.id, section) for section in self._of[doc])
        for doc in {span.doc for found in self._by_query.values() for span in found}:
            self._words[doc] = list(standard_spans(texts[doc]))
        self.qrels: Qrels = {query: self._relevant(found) for query, found in sorted(self._by_query.items())}

    def _relevant(self, spans: Sequence[GoldSpan]) -> dict[str, int]:
        relevant: dict[str, int] = {}
        for span in spans:
            enough = min(ENOUGH, (span.end - span.start + 1) // 2)
            for section in self._of[span.doc]:
                if min(span.end, section.end) - max(span.start, section.start) >= enough:
                    relevant[section.id] = 1
        return relevant

    def gold_words(self, query: str) -> set[tuple[str, int]]:
        """The words of the query's gold spans, as (document, number of the word in it); each once."""
        return {
            (span.doc, number)
            for span in self._by_query.get(query, ())
            for number in pieces_of(self._words[span.doc], span.start, span.end)
        }

    def words_in(self, section_id: str) -> set[tuple[str, int]]:
        """The words of a section; empty for one of a document without gold spans."""
        section = self.sections[section_id]
        words = self._words.get(section.doc)
        return {(section.doc, number) for number in pieces_of(words, section.start, section.end)} if words else set()


def transferred(gold: GoldSpans, texts: Mapping[str, str], rewritten: Mapping[str, str]) -> GoldSpans:
    """The gold spans in a rewritten corpus: those whose words still stand in the rewritten document.

    `lost` names the queries that have none left.
    """
    kept: list[GoldSpan] = []
    for span in gold.spans:
        place = located(rewritten[span.doc], texts[span.doc][span.start : span.end]) if span.doc in rewritten else None
        if place is not None:
            kept.append(GoldSpan(span.query, span.doc, *place))
    left = {span.query for span in kept}
    lost = dict.fromkeys(span.query for span in gold.spans if span.query not in left)
    return GoldSpans(tuple(kept), gold.loose, tuple(lost))


def shared_queries(one: Evidence, other: Evidence) -> list[str]:
    """The queries with section judgments in both corpora, in the order of their ids."""
    return sorted(query for query in one.qrels if one.qrels[query] and other.qrels.get(query))


@dataclass(frozen=True, slots=True)
class EvidenceFigures:
    """The value of every figure by query: names of `SECTION_METRICS`, `TOKEN_RECALL`, `GOLD_TOKENS`."""

    values: Mapping[str, Mapping[str, float]]

    @property
    def queries(self) -> int:
        return len(next(iter(self.values.values()), {}))

    def mean(self, name: str) -> float:
        """Over the queries."""
        return mean(self.values[name])


def evidence_figures(
    run: Mapping[str, Sequence[str]], evidence: Evidence, queries: Iterable[str] | None = None
) -> EvidenceFigures:
    """The figures of rankings of section ids, best first, over `queries` (all with section judgments).

    A query without a ranking counts 0. Raises EvaluationError where a ranking holds a section twice or one that is not
    in the corpus, and where no query is left.
    """
    judged = {query: graded for query, graded in evidence.qrels.items() if graded}
    wanted = sorted(judged if queries is None else set(queries) & judged.keys())
    if not wanted:
        raise EvaluationError("no query has a judged section", remedy="check that the gold spans are of this corpus")
    ranked = {query: [(section, 0.0) for section in run.get(query, ())] for query in wanted}
    for query in wanted:
        _check(query, check_distinct(query, ranked[query]), evidence)
    by_metric = per_query_values(ranked, {query: judged[query] for query in wanted}, SECTION_METRICS)
    values: dict[str, Mapping[str, float]] = {str(metric): found for metric, found in by_metric.items()}
    gold = {query: evidence.gold_words(query) for query in wanted}
    values[TOKEN_RECALL] = {query: _covered(gold[query], run.get(query, ())[:DEPTH], evidence) for query in wanted}
    values[GOLD_TOKENS] = {query: float(len(gold[query])) for query in wanted}
    return EvidenceFigures(values)


def _covered(gold: set[tuple[str, int]], sections: Sequence[str], evidence: Evidence) -> float:
    held: set[tuple[str, int]] = set()
    for section in sections:
        held |= evidence.words_in(section)
    return len(gold & held) / len(gold) if gold else 0.0


def _check(query: str, sections: Sequence[str], evidence: Evidence) -> None:
    unknown = next((section for section in sections if section not in evidence.sections), None)
    if unknown is not None:
        raise EvaluationError(
            f"the ranking of query {query!r} holds section {unknown!r}, which the corpus does not have",
            remedy="rank the sections of the same corpus, cut in the same way",
        )
