"""View 6: the rankings of one query side by side, moves as lines, grades and matched terms on every document."""

from __future__ import annotations

from itertools import pairwise

from idxopt.evaluation.pages.elements import Child, Html, el, foreign, marked
from idxopt.evaluation.pages.figures import number
from idxopt.optimizer.record import QueryValues, Rankings, Shown, StudyRecord
from idxopt.optimizer.report.paired import ROLES, column, value
from idxopt.optimizer.report.sections import how_many, nothing, section
from idxopt.optimizer.report.similarity import jaccard, rank_biased_overlap

_ROW = 10
"""Height of a row in the drawing of moves; the page stretches it to the height of the rows beside it."""


def rankings(record: StudyRecord) -> Html:
    """All rankings of the record; the page's script shows one at a time and follows `#q=ID`."""
    title = "6. One query side by side"
    if not record.rankings:
        return section("rankings", title, "What moved.", nothing("The record holds no rankings."))
    known = {query.id: query for query in record.queries}
    options = [
        el("option", _short(known.get(one.query_id), one.query_id), value=one.query_id) for one in record.rankings
    ]
    chooser = el(
        "p", el("label", "Query ", el("select", options, data_chooser="rankings")), class_="chooser", hidden=True
    )
    return section(
        "rankings",
        title,
        f"{how_many(len(record.rankings), 'query', 'queries')} that moved most. The mark on the right of a document "
        "says where it stood in the list before; leg ranks stand below it. Unjudged: nobody graded it for this query.",
        chooser,
        *(_one(record, one, known.get(one.query_id)) for one in record.rankings),
    )


def _short(query: QueryValues | None, query_id: str) -> str:
    text = query.text if query is not None else query_id
    return text if len(text) <= 90 else f"{text[:89]}…"


def _one(record: StudyRecord, one: Rankings, query: QueryValues | None) -> Html:
    labels = list(one.lists)
    grid: list[Child] = []
    for place, label in enumerate(labels):
        before = one.lists[labels[place - 1]] if place else None
        if before is not None:
            grid.append(_moves(before, one.lists[label]))
        grid.append(_list(record, label, one.lists[label], before, query))
    columns = " minmax(2.5rem, 4rem) ".join(["minmax(0, 1fr)"] * len(labels))
    return el(
        "article",
        el("h3", foreign(query.text if query is not None else one.query_id)),
        _facts(one, query),
        el("div", grid, class_="sides", style=f"grid-template-columns:{columns}"),
        class_="ranking",
        data_query=one.query_id,
    )


def _facts(one: Rankings, query: QueryValues | None) -> Html:
    facts: list[Child] = ["id ", el("code", foreign(one.query_id))]
    if query is not None:
        facts.append(f"; {query.set} ({ROLES[query.role]}), {query.kind}")
    for (a, first), (b, second) in pairwise(one.lists.items()):
        ids_a, ids_b = [shown.doc_id for shown in first], [shown.doc_id for shown in second]
        facts.append(
            f"; {a} and {b}: Jaccard {number(jaccard(ids_a, ids_b))}, RBO {number(rank_biased_overlap(ids_a, ids_b))}"
        )
    return el("p", facts, class_="note")


def _list(
    record: StudyRecord,
    label: str,
    shown: tuple[Shown, ...],
    before: tuple[Shown, ...] | None,
    query: QueryValues | None,
) -> Html:
    figures = ""
    place = column(record, label)
    if query is not None:
        known = [(metric, value(query, metric, place)) for metric in query.values]
        figures = ", ".join(f"{metric} {number(found)}" for metric, found in known if found is not None)
    old = None if before is None else {document.doc_id: rank for rank, document in enumerate(before, 1)}
    items = [_document(rank, document, old) for rank, document in enumerate(shown, 1)]
    empty = [] if items else [el("li", "nothing was found", class_="nothing")]
    return el("div", el("h4", label, el("small", f" {figures}")), el("ol", items, empty), class_="side")


def _document(rank: int, document: Shown, old: dict[str, int] | None) -> Html:
    legs = ", ".join(f"{leg} {place}" for leg, place in document.legs.items())
    return el(
        "li",
        el(
            "div",
            el("span", f"{rank}.", class_="rank"),
            _grade(document.grade),
            el("strong", foreign(document.title or document.doc_id), class_="title"),
            _moved(rank, document.doc_id, old),
            class_="head",
        ),
        el("div", marked(document.excerpt, document.matches), class_="excerpt"),
        el("div", el("code", foreign(document.doc_id)), f" · {legs}" if legs else None, class_="legs"),
        class_="document" + (" relevant" if document.grade is not None and document.grade > 0 else ""),
    )


def _grade(grade: int | None) -> Html:
    if grade is None:
        return el("span", "unjudged", class_="grade none")
    return el("span", f"grade {grade}", class_="grade good" if grade > 0 else "grade bad")


def _moved(rank: int, doc_id: str, old: dict[str, int] | None) -> Html | None:
    if old is None:
        return None
    was = old.get(doc_id)
    if was is None:
        return el("span", "new", class_="moved gain", title="not among those shown before")
    if was == rank:
        return el("span", "=", class_="moved", title="same place")
    way, arrow = ("gain", "▲") if was > rank else ("loss", "▼")
    return el("span", f"{arrow}{abs(was - rank)}", class_=f"moved {way}", title=f"stood at {was}")


def _moves(before: tuple[Shown, ...], after: tuple[Shown, ...]) -> Html:
    """Lines from each place to the new one; those that are gone or new end half way."""
    rows = max(len(before), len(after), 1)
    old = {document.doc_id: rank for rank, document in enumerate(before)}
    new = {document.doc_id: rank for rank, document in enumerate(after)}
    grades = {document.doc_id: document.grade for document in (*before, *after)}
    parts = []
    for doc_id, grade in grades.items():
        start, end = old.get(doc_id), new.get(doc_id)
        y1 = None if start is None else (start + 0.5) * _ROW
        y2 = None if end is None else (end + 0.5) * _ROW
        class_ = "move relevant" if grade is not None and grade > 0 else "move"
        if y1 is not None and y2 is not None:
            parts.append(el("path", d=f"M0 {y1}C40 {y1} 60 {y2} 100 {y2}", class_=class_))
        elif y1 is not None:
            parts.append(el("path", d=f"M0 {y1}H20", class_=f"{class_} ended"))
        else:
            parts.append(el("path", d=f"M80 {y2}H100", class_=f"{class_} ended"))
    drawn = el(
        "svg",
        el("title", "Moves of documents between the two lists"),
        parts,
        viewBox=f"0 0 100 {rows * _ROW}",
        preserveAspectRatio="none",
        role="img",
        style=f"height:calc(var(--row) * {rows})",
    )
    return el("div", drawn, class_="moves")
