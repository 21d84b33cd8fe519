"""What restructuring (PRIME's SR) kept of a corpus, by document and over all, beside the paper's own audit (Table 6).

Two figures each: of what the generator answered, refused sections among it, and of what is stored, where a refused
section is the original. Sections that were never asked for (short ones, code and tables alone) count in neither.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from idxopt.operators.fidelity import Count, Fidelity
from idxopt.operators.generated import Rewrite, restructuring
from idxopt.operators.interpreter import source_fields
from idxopt.operators.restructure import SectionResult
from idxopt.operators.row import Document, Row
from idxopt.operators.step_models import StepModels
from idxopt.operators.steps import compile_steps
from idxopt.operators.tables import Tables
from idxopt.operators.texts import NotGenerated
from idxopt.operators.transform import Context, text_in
from idxopt.program.schema import Program
from idxopt.program.steps import Generated

MEASURES = ("numbers", "acronyms", "entities", "verbatim", "absent", "contradictions")
TABLE_6: Mapping[str, float] = {
    "numbers": 0.910,
    "acronyms": 0.925,
    "entities": 0.727,
    "verbatim": 0.632,
    "absent": 0.013,
    "contradictions": 0.043,
}
"""QASPER, 416 documents, 5,589 sections; entities by spaCy, contradictions by roberta-large-mnli, verbatim: retention
of 2,231 gold evidence spans (ours: of all sentences).
"""

Counts = Mapping[str, Count]


@dataclass(frozen=True, slots=True)
class DocumentAudit:
    """One document of one restructured field. `answered`, `stored`: counts by measure."""

    doc_id: str
    view: str
    field: str
    outcomes: Mapping[str, int]
    reasons: Mapping[str, int]
    answered: Counts
    stored: Counts
    characters: tuple[int, int]
    missing: int = 0


@dataclass
class CorpusAudit:
    """The sum of document audits. `documents` counts audits; `missing`: texts that are not generated yet."""

    documents: int = 0
    outcomes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    answered: dict[str, Count] = field(default_factory=lambda: dict.fromkeys(MEASURES, Count()))
    stored: dict[str, Count] = field(default_factory=lambda: dict.fromkeys(MEASURES, Count()))
    characters: tuple[int, int] = (0, 0)
    missing: int = 0

    def add(self, audit: DocumentAudit) -> None:
        self.documents += 1
        self.outcomes.update(audit.outcomes)
        self.reasons.update(audit.reasons)
        for mine, theirs in ((self.answered, audit.answered), (self.stored, audit.stored)):
            mine.update({name: mine[name] + count for name, count in theirs.items()})
        self.characters = (self.characters[0] + audit.characters[0], self.characters[1] + audit.characters[1])
        self.missing += audit.missing

    def to_json(self) -> dict[str, Any]:
        return {
            "documents": self.documents,
            "sections": dict(self.outcomes),
            "refused_for": dict(self.reasons),
            "missing_texts": self.missing,
            "characters": {"original": self.characters[0], "restructured": self.characters[1]},
            "answered": shares(self.answered),
            "stored": shares(self.stored),
            "paper": dict(TABLE_6),
        }


def shares(counts: Counts) -> dict[str, Any]:
    """By measure: share, kept, all."""
    return {name: {"share": count.share, "kept": count.kept, "all": count.all} for name, count in counts.items()}


def restructurings(program: Program) -> list[tuple[str, int, Generated]]:
    """View, number and step of every restructured field of a program."""
    return [
        (name, number, step)
        for name, view in program.views.items()
        for number, step in enumerate(view.steps)
        if isinstance(step, Generated) and step.with_ == "restructure"
    ]


def audits(
    program: Program, tables: Tables, documents: Iterable[Document], models: StepModels
) -> Iterator[DocumentAudit]:
    """An audit of each document and restructured field, from the texts in the store; nothing is generated."""
    context = Context(program.source.markup, tables, models, program.models)
    wanted = [
        (view, step, compile_steps(program.views[view].steps[:number], context), restructuring(step.generator, context))
        for view, number, step in restructurings(program)
    ]
    for document in documents:
        for view, step, transforms, rewrite in wanted:
            rows = [Row(document.id, source_fields(program, document))]
            try:
                for transform in transforms:
                    rows = transform(rows)
                yield _audit(document.id, view, step, rows, rewrite)
            except NotGenerated as missing:
                yield _missing(document.id, view, step, len(missing.requests))


def _missing(doc_id: str, view: str, step: Generated, texts: int) -> DocumentAudit:
    nothing = dict.fromkeys(MEASURES, Count())
    return DocumentAudit(doc_id, view, step.into, {}, {}, nothing, nothing, (0, 0), missing=texts)


def _audit(doc_id: str, view: str, step: Generated, rows: Iterable[Row], rewrite: Rewrite) -> DocumentAudit:
    results: list[SectionResult] = []
    sizes = [0, 0]
    for row in rows:
        text = text_in(row, step.field)
        if text is not None and text.strip():
            made, found = rewrite(text)
            results += found
            sizes = [sizes[0] + len(text), sizes[1] + len(made)]
    outcomes: Counter[str] = Counter(result.outcome for result in results)
    reasons = Counter(reason for result in results if result.outcome == "refused" for reason in result.reasons)
    answered = [result.fidelity for result in results if result.fidelity is not None]
    stored = [
        result.fidelity if result.outcome == "rewritten" else result.fidelity.of_the_original()
        for result in results
        if result.fidelity is not None
    ]
    return DocumentAudit(
        doc_id, view, step.into, outcomes, reasons, _summed(answered), _summed(stored), (sizes[0], sizes[1])
    )


def _summed(found: Iterable[Fidelity]) -> dict[str, Count]:
    sums = dict.fromkeys(MEASURES, Count())
    for one in found:
        judged = Count() if one.contradicts is None else Count(int(one.contradicts), 1)
        for name, count in zip(
            MEASURES, (one.numbers, one.acronyms, one.entities, one.verbatim, one.absent, judged), strict=True
        ):
            sums[name] += count
    return sums
