"""How fast the interpreter is, by form of each operator: one process, one step, no cache."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any

from benchmarks.collections import Collection
from benchmarks.deployment import program
from benchmarks.report import Value
from idxopt.operators.interpreter import Interpreter
from idxopt.operators.row import Document
from idxopt.operators.tables import build_tables

Steps = Sequence[dict[str, Any]]


def _slice(unit: str, **rest: Any) -> Steps:
    return ({"op": "slice", "unit": unit, **rest},)


def _normalize(scheme: str, **rest: Any) -> Steps:
    return ({"op": "normalize", "scheme": scheme, **rest},)


def _enrich(kind: str, **rest: Any) -> Steps:
    return ({"op": "enrich", "with": kind, "into": "made", **rest},)


def _reorganize(to: str, **rest: Any) -> Steps:
    return ({"op": "reorganize", "to": to, **rest},)


def _discard(span: str, value: Any) -> Steps:
    return ({"op": "discard", "span": {span: value}},)


TABLE = {"EC2": "Elastic Compute Cloud", "S3": "Simple Storage Service", "VM": "virtual machine"}
SAMPLES: dict[str, Steps] = {
    "slice words": _slice("words", window=128, overlap=32),
    "slice sentences": _slice("sentences", window=5),
    "slice paragraphs": _slice("paragraphs", window=3),
    "slice headings": _slice("headings"),
    "normalize lowercase": _normalize("lowercase"),
    "normalize nfkc": _normalize("nfkc"),
    "normalize strip_accents": _normalize("strip_accents"),
    "normalize html_strip": _normalize("html_strip"),
    "normalize markdown_strip": _normalize("markdown_strip"),
    "normalize split_identifiers": _normalize("split_identifiers", keep_original=True),
    "normalize numbers": _normalize("numbers"),
    "normalize units": _normalize("units"),
    "normalize dates": _normalize("dates"),
    "normalize whitespace": _normalize("whitespace"),
    "normalize abbreviations": _normalize("abbreviations", table=TABLE),
    "normalize terms": _normalize("terms", table=TABLE),
    "normalize regex_replace": _normalize("regex_replace", pattern="[0-9]{4}-[0-9]{2}-[0-9]{2}", replacement="date"),
    "enrich prime_terms": _enrich("prime_terms"),
    "enrich heading_tree": _enrich("heading_tree"),
    "enrich keywords": _enrich("keywords"),
    "enrich acronyms": _enrich("acronyms"),
    "enrich synonyms": _enrich("synonyms", table=TABLE),
    "enrich lead": _enrich("lead", sentences=3),
    "enrich entities": _enrich("entities"),
    "enrich neighbours": _enrich("neighbours"),
    "reorganize sections": _reorganize("sections"),
    "reorganize table_rows": _reorganize("table_rows"),
    "reorganize list_items": _reorganize("list_items"),
    "reorganize qa_pairs": _reorganize("qa_pairs"),
    "reorganize attributes": _reorganize("attributes"),
    "reorganize code_blocks": _reorganize("code_blocks", into="made"),
    "reorganize merge_short": (*_slice("paragraphs", window=1), *_reorganize("merge_short", min_size=50)),
    "reorganize promote": _reorganize("promote", into="made"),
    "reorganize rename": _reorganize("rename", into="made"),
    "reorganize join": _reorganize("join", field=["title", "body"], into="made"),
    "discard regex": _discard("regex", "(?m)^Note:.*$"),
    "discard heading": _discard("heading", ["See also"]),
    "discard repeated_lines": _discard("repeated_lines", {"min_docs": 20}),
    "discard navigation": _discard("navigation", {}),
    "discard references": _discard("references", True),
    "discard footers": _discard("footers", True),
    "discard phrases": _discard("phrases", ["all rights reserved"]),
    "discard fields": _discard("fields", ["body"]),
}
"""A view that shows each form: one step, and for `merge_short` one before it that makes rows."""


def throughput(of: Collection, documents: Sequence[Document]) -> list[dict[str, Value]]:
    """Documents, rows and megabytes of source text a second, slowest form last."""
    size = sum(len(str(document.source.get("text", "")).encode()) for document in documents) / 1e6
    rows = [_measured(form, steps, of, documents, size) for form, steps in SAMPLES.items()]
    return sorted(rows, key=lambda row: -float(row["MB/s"] or 0))


def _measured(form: str, steps: Steps, of: Collection, documents: Sequence[Document], size: float) -> dict[str, Value]:
    searched: dict[str, Any] = {"fields": {"title": {}}}
    wanted = program(
        "operators",
        {"content": {"lexical": searched}, "form": {"steps": list(steps), "lexical": searched}},
        source={"fields": {"title": "title", "body": "text"}, "markup": of.markup},
    )
    interpreter = Interpreter(wanted, "form", build_tables(wanted, documents))
    started = time.perf_counter()
    made = sum(len(interpreter.rows(document)) for document in documents)
    seconds = time.perf_counter() - started
    return {
        "form": form,
        "rows": made,
        "documents/s": len(documents) / seconds,
        "rows/s": made / seconds,
        "MB/s": size / seconds,
    }


def first_documents(of: Collection, size: int) -> list[Document]:
    """Documents from the start of a collection until they have `size` bytes of text."""
    return list(_up_to(of.documents(), size))


def _up_to(records: Iterable[dict[str, Any]], size: int) -> Iterable[Document]:
    for record in records:
        if size <= 0:
            return
        size -= len(record["text"].encode())
        yield Document(record["_id"], record)
