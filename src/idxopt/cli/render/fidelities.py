"""The audit of restructured sections as tables, lines and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.markup import escape
from rich.table import Table

from idxopt.cli.units import counted
from idxopt.evaluation.restructuring import MEASURES, TABLE_6, CorpusAudit, DocumentAudit, shares
from idxopt.operators.fidelity import ABSENT_SPANS, ACRONYMS_KEPT, NUMBERS_KEPT, Count

_NAMES = {
    "numbers": "numbers kept",
    "acronyms": "acronyms kept",
    "entities": "named entities kept",
    "verbatim": "sentences verbatim",
    "absent": "spans not in the source",
    "contradictions": "contradictions",
}
_GATES = {
    "numbers": f">= {NUMBERS_KEPT}",
    "acronyms": f">= {ACRONYMS_KEPT}",
    "absent": f"<= {ABSENT_SPANS}",
    "contradictions": "none",
}


def audit_table(audit: CorpusAudit) -> Table:
    """A line a measure: as answered, as stored, the paper's value, the gate of one section."""
    table = Table(title=f"Fidelity over {counted(audit.documents, 'document')}", title_justify="left")
    for heading in ("measure", "answered", "stored", "paper (QASPER)", "gate a section"):
        table.add_column(heading, justify="left" if heading == "measure" else "right")
    for name in MEASURES:
        table.add_row(
            _NAMES[name],
            _share(audit.answered[name]),
            _share(audit.stored[name]),
            f"{TABLE_6[name]:.3f}",
            _GATES.get(name, "reported only"),
        )
    return table


def documents_table(audits: Sequence[DocumentAudit]) -> Table:
    """A line a document: sections by outcome, and the measures as answered."""
    table = Table(title="By document, as answered", title_justify="left")
    for heading in ("document", "field", "rewritten", "refused", "failed", "kept"):
        table.add_column(heading, justify="left" if heading in ("document", "field") else "right")
    for name in MEASURES[:5]:
        table.add_column(_NAMES[name], justify="right")
    for audit in audits:
        table.add_row(
            escape(audit.doc_id),
            f"{audit.view}.{audit.field}",
            *(str(audit.outcomes.get(name, 0)) for name in ("rewritten", "refused", "failed", "kept")),
            *(_share(audit.answered[name]) for name in MEASURES[:5]),
        )
    return table


def audit_lines(audit: CorpusAudit) -> Iterator[str]:
    """Sections by outcome, why sections were refused, and what is missing."""
    found = audit.outcomes
    yield (
        f"sections: {found['rewritten']:,} rewritten, {found['refused']:,} refused and kept as they were, "
        f"{found['failed']:,} without a usable answer, {found['kept']:,} too short or without prose"
    )
    for reason, count in audit.reasons.most_common():
        yield f"  refused for {reason}: {counted(count, 'section')}"
    before, after = audit.characters
    if before:
        yield f"text: {before:,} to {after:,} characters ({after / before:.0%})"
    if audit.missing:
        yield f"! {counted(audit.missing, 'text')} not generated yet: `idxopt apply` does"


def audit_json(audit: CorpusAudit, documents: Sequence[DocumentAudit]) -> dict[str, Any]:
    """The same as one document, with every document in it."""
    return {
        **audit.to_json(),
        "by_document": [
            {
                "id": one.doc_id,
                "view": one.view,
                "field": one.field,
                "sections": dict(one.outcomes),
                "refused_for": dict(one.reasons),
                "missing_texts": one.missing,
                "answered": shares(one.answered),
                "stored": shares(one.stored),
            }
            for one in documents
        ],
    }


def _share(count: Count) -> str:
    return "-" if count.share is None else f"{count.share:.3f} (n = {count.all:,})"
