"""View 8: how much of the rankings is judged, and which documents' judgment would decide most."""

from __future__ import annotations

import csv
import io
from urllib.parse import quote

from idxopt.evaluation.pages.charts import Scale, axis_x, interval_line, legend, mark, svg
from idxopt.evaluation.pages.elements import Child, Html, el, foreign, table
from idxopt.evaluation.pages.figures import counted, number
from idxopt.optimizer.record import Coverage, StudyRecord, Unjudged
from idxopt.optimizer.report.queries import query_link
from idxopt.optimizer.report.sections import nothing, section, shown_mean

_FORMULA = ("=", "+", "-", "@", "\t")


def coverage(record: StudyRecord) -> Html:
    """Judged@10 of both sides, the objective both ways, and the list to fill in."""
    title = "8. Judgment coverage"
    if not record.coverage and not record.unjudged:
        return section("coverage", title, "How much is judged.", nothing("The record holds no coverage."))
    both = any(one.left_out is not None for one in record.coverage)
    rows = [
        [one.label, one.set, *map(shown_mean, (one.judged, one.as_irrelevant, *((one.left_out,) if both else ())))]
        for one in record.coverage
    ]
    parts: list[Child] = []
    if rows:
        header = ["program", "set", "Judged@10", "nDCG@10, unjudged irrelevant"]
        header += ["nDCG@10, unjudged left out"] if both else []
        parts += [_drawing(record.coverage), table("Coverage", header, rows, texts=(1,))]
    return section(
        "coverage",
        title,
        "A document that nobody judged counts as irrelevant; a program that finds many of them looks worse than it is."
        + (" The band runs from that figure to the one without unjudged documents." if both else ""),
        *parts,
        *_list(record),
    )


def _drawing(rows: tuple[Coverage, ...]) -> Html:
    left, width, row, top = 230, 820, 26, 34
    bottom = top + row * len(rows)
    x = Scale(0.0, 1.0, left, width - 20)
    parts = axis_x(x, top, bottom, "Judged@10 and nDCG@10")
    for place, one in enumerate(rows):
        y = top + row * (place + 0.5)
        name = f"{one.label}, {one.set}"
        shown = name if len(name) <= 32 else f"{name[:31]}…"
        parts.append(el("text", shown, x=left - 10, y=y + 4, text_anchor="end"))
        if one.left_out is not None:
            low, high = sorted((one.as_irrelevant.mean, one.left_out.mean))
            band = f"M{x(low):.1f} {y - 6:.1f}H{x(high):.1f}V{y + 6:.1f}H{x(low):.1f}z"
            parts.append(el("path", d=band, class_="band"))
        parts += interval_line(x, one.judged, y, "held")
        parts.append(mark("diamond", x(one.judged.mean), y, f"Judged@10 {counted(one.judged)}", "held"))
        parts.append(mark("dot", x(one.as_irrelevant.mean), y, f"nDCG@10 {counted(one.as_irrelevant)}", "gain"))
    parts += legend([("diamond", "held", "Judged@10"), ("dot", "gain", "nDCG@10, unjudged irrelevant")], left, 18)
    return svg(width, bottom + 40, "Judgment coverage by program and set", parts)


def _list(record: StudyRecord) -> list[Child]:
    if not record.unjudged:
        return [el("p", "No unjudged document stands differently under baseline and winner.", class_="note")]
    texts = {query.id: query.text for query in record.queries}
    linked = {one.query_id for one in record.rankings}
    rows = [
        (
            _query(one, texts, linked),
            el("code", foreign(one.doc_id)),
            foreign(one.title),
            ", ".join(f"{label} {rank}" for label, rank in one.ranks.items()),
            number(one.weight),
        )
        for one in record.unjudged
    ]
    file = f"data:text/csv;charset=utf-8,{quote(to_fill_in(record))}"
    return [
        table(
            "Unjudged documents that would decide most",
            ("query", "document", "title", "rank", "weight"),
            rows,
            note="Weight: what a grade of 1 would move at most in the difference of nDCG@10 of its query.",
            texts=(1, 2, 3),
            class_="wrapped",
        ),
        el("p", el("a", "Download as CSV to fill in", href=file, download="unjudged.csv")),
    ]


def _query(one: Unjudged, texts: dict[str, str], linked: set[str]) -> Html:
    text = foreign(texts.get(one.query_id, one.query_id))
    return el("a", text, href=query_link(one.query_id)) if one.query_id in linked else text


def to_fill_in(record: StudyRecord) -> str:
    """A table of judgments with an empty grade, which `--qrels` reads once it is filled in.

    Ids stand as they are, since they must be found again; a text that a spreadsheet would run as a formula gets an
    apostrophe before it.
    """
    texts = {query.id: query.text for query in record.queries}
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["query-id", "doc-id", "grade", "query", "document title"])
    for one in record.unjudged:
        writer.writerow([one.query_id, one.doc_id, "", _harmless(texts.get(one.query_id, "")), _harmless(one.title)])
    return out.getvalue()


def _harmless(text: str) -> str:
    line = " ".join(text.split())
    return f"'{line}" if line.startswith(_FORMULA) else line
