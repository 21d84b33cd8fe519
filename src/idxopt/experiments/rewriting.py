"""What restructuring did to a collection: density, fidelity, evidence sections (PRIME, Tables 5 and 6)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from idxopt.builds.manifest import Manifest
from idxopt.deploy.generation import models_at
from idxopt.engines.port import Engine
from idxopt.evaluation.bootstrap import mean_interval
from idxopt.evaluation.density import Reference, corpus_density
from idxopt.evaluation.evidence import Evidence, evidence_figures, shared_queries, transferred
from idxopt.evaluation.gold import GoldSpans, has_gold_spans, load_gold_spans
from idxopt.evaluation.restructuring import CorpusAudit, audits
from idxopt.experiments.results import Compared
from idxopt.experiments.sampling import Sample
from idxopt.models.opening import Models
from idxopt.models.ports import Reranker
from idxopt.operators.tables import EMPTY_TABLES
from idxopt.program.schema import Markup, Program
from idxopt.text.structure import plain_text

WINDOW_WORDS = 180
"""Longest section without a heading, for evidence: about what an encoder of 256 tokens reads."""
DENSITY_NAMES = (
    ("stop_ratio", "stop-word ratio"),
    ("mean_idf", "mean IDF"),
    ("technical", "technical terms per 100 tokens"),
    ("semantic", "semantic density"),
    ("tokens", "tokens a document"),
)

Candidates = Callable[[str], Sequence[str]]
"""From a query's text to document ids, best first."""


def rewritten_texts(manifest: Manifest, engine: Engine, sample: Sample) -> dict[str, str]:
    """The bodies that a build of rewritten text stored (D*); a document that has none keeps its own."""
    index = manifest.views[manifest.primary].index
    texts = sample.texts
    for document in engine.scan(index, vectors=False):
        body = document.source.get("idxopt", {}).get("body")
        if isinstance(body, str) and document.id in texts:
            texts[document.id] = body
    return texts


def density(sample: Sample, rewritten: Mapping[str, str]) -> tuple[Compared, ...]:
    """Panel A of Table 5: both corpora by the document frequencies of the raw one."""
    texts, markup = sample.texts, sample.source.markup
    reference = Reference.of(texts.values(), markup)
    raw = corpus_density(texts.values(), markup, reference).mean
    after = corpus_density(rewritten.values(), markup, reference).mean
    return tuple(Compared(label, getattr(raw, name), getattr(after, name)) for name, label in DENSITY_NAMES)


def fidelity(program: Program, sample: Sample, models: Models, cache: Path) -> dict[str, Any]:
    """Table 6 for the rewriting step of a program."""
    corpus = CorpusAudit()
    for audit in audits(program, EMPTY_TABLES, sample.documents, models_at(program, models, cache)):
        if audit.view == program.primary:
            corpus.add(audit)
    return corpus.to_json()


def gold_of(place: str, sample: Sample) -> GoldSpans | None:
    """The gold spans of the sampled queries; None where the collection has none. Raises SourceError."""
    folder = Path(place)
    if not has_gold_spans(folder):
        return None
    found = load_gold_spans(folder, sample.texts)
    asked = {query.id for query in sample.judged.queries}
    spans = tuple(span for span in found.spans if span.query in asked)
    return GoldSpans(spans, found.loose, found.lost) if spans else None


@dataclass(frozen=True, slots=True)
class Side:
    """One corpus for evidence: its texts and how documents are found in it."""

    texts: Mapping[str, str]
    candidates: Candidates


@dataclass(frozen=True, slots=True)
class EvidenceFound:
    """`compared`: figures over the queries with section judgments in both corpora. `runs`: section ids by query, and
    `sections` their texts, both by corpus (raw, sr). `counterparts`: texts of D* by the ids of D, under equal headings.
    """

    compared: tuple[Compared, ...]
    note: str
    runs: Mapping[str, Mapping[str, list[str]]]
    sections: Mapping[str, Mapping[str, str]]
    counterparts: Mapping[str, str]


def evidence(sample: Sample, gold: GoldSpans, raw: Side, rewritten: Side, reranker: Reranker) -> EvidenceFound | None:
    """Panel B of Table 5: sections of the found documents, ranked by the reranker. None without a shared query."""
    markup = sample.source.markup
    moved = transferred(gold, raw.texts, rewritten.texts)
    before = Evidence(raw.texts, markup, gold, window=WINDOW_WORDS)
    after = Evidence(rewritten.texts, markup, moved, window=WINDOW_WORDS)
    shared = shared_queries(before, after)
    if not shared:
        return None
    asked = {query.id: query.text for query in sample.judged.queries if query.id in before.qrels}
    texts = {
        "raw": _section_texts(raw.texts, before, markup),
        "sr": _section_texts(rewritten.texts, after, markup),
    }
    runs = {
        "raw": _ranked(asked, raw.candidates, before, texts["raw"], reranker),
        "sr": _ranked(asked, rewritten.candidates, after, texts["sr"], reranker),
    }
    one, other = evidence_figures(runs["raw"], before, shared), evidence_figures(runs["sr"], after, shared)
    compared = tuple(
        Compared(
            name,
            one.mean(name),
            other.mean(name),
            mean_interval([other.values[name][query] - one.values[name][query] for query in shared]),
        )
        for name in one.values
    )
    note = (
        f"{len(shared)} queries with section judgments in both corpora, of {len(asked)} with any; gold spans that did "
        f"not survive rewriting: {len(gold.spans) - len(moved.spans)} of {len(gold.spans)}"
    )
    counterparts = {
        id_: texts["sr"][id_]
        for id_, section in before.sections.items()
        if section.path and id_ in after.sections and after.sections[id_].path == section.path
    }
    return EvidenceFound(compared, note, runs, texts, counterparts)


def _ranked(
    asked: Mapping[str, str],
    candidates: Candidates,
    evidence: Evidence,
    texts: Mapping[str, str],
    reranker: Reranker,
) -> dict[str, list[str]]:
    """By query the sections of its candidates, best first; equal scores by id."""
    by_doc: dict[str, list[str]] = {}
    for id_, section in evidence.sections.items():
        if texts[id_].strip():
            by_doc.setdefault(section.doc, []).append(id_)
    run: dict[str, list[str]] = {}
    for query, text in asked.items():
        ids = [id_ for doc in candidates(text) for id_ in by_doc.get(doc, ())]
        scores = dict(zip(ids, reranker.score(text, [texts[id_] for id_ in ids]), strict=True)) if ids else {}
        run[query] = sorted(scores, key=lambda id_: (-scores[id_], id_))
    return run


def _section_texts(texts: Mapping[str, str], evidence: Evidence, markup: Markup) -> dict[str, str]:
    return {
        id_: plain_text(texts[section.doc][section.start : section.end], markup)
        for id_, section in evidence.sections.items()
    }
