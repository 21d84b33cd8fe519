"""Judgments from BEIR (`qrels/*.tsv`), TREC (`qid 0 doc grade`) and tables with a header."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from idxopt.errors import SourceError
from idxopt.evaluation.delimited import Columns, read_table, recognise_header
from idxopt.evaluation.judgments import Qrels
from idxopt.evaluation.lines import content_lines, empty_file, first_line

MAX_GRADE = 1000
"""Largest grade, up or down. trec_eval allocates a table as long as the largest one."""


class _Judgment(NamedTuple):
    line: int
    query_id: str
    doc_id: str
    grade: str


def load_qrels(path: Path) -> Qrels:
    """Read judgments, whichever of the formats they are in; gzip is unpacked.

    A judgment that is repeated with the same grade counts once. Raises SourceError (FILE:LINE) for a grade that is
    no whole number, two grades for one document, a missing field, NUL bytes, another encoding than UTF-8, an empty
    file, and a format that is none of these.
    """
    qrels: dict[str, dict[str, int]] = {}
    for judgment in _judgments(path, first_line(path)):
        place = f"{path}:{judgment.line}"
        grade = _grade(place, judgment.grade)
        graded = qrels.setdefault(judgment.query_id, {})
        if graded.setdefault(judgment.doc_id, grade) != grade:
            raise SourceError(
                f"query {judgment.query_id!r} grades document {judgment.doc_id!r} twice: "
                f"{graded[judgment.doc_id]} and {grade}",
                remedy="keep one of the two",
                place=place,
            )
    if not qrels:
        raise empty_file(path)
    return qrels


def _judgments(path: Path, first: str) -> Iterator[_Judgment]:
    columns = recognise_header(first)
    if columns is not None and columns.holds_judgments:
        return _table(path, columns)
    if len(_split(first, 4)) == 4:
        return _fields(path, names=("query id", "iteration", "document id", "grade"))
    beir = _split(first, 3)
    if len(beir) == 3 and _is_whole_number(beir[2]):
        return _fields(path, names=("query id", "document id", "grade"))
    raise SourceError(
        "is no format of judgments that is known",
        remedy='use TREC lines ("query 0 document grade"), or a table whose header names query-id, corpus-id and score',
        place=f"{path}:1",
    )


def _table(path: Path, columns: Columns) -> Iterator[_Judgment]:
    for row in read_table(path, columns):
        yield _Judgment(row.line, row.query_id, row.doc_id or "", row.grade or "")


def _fields(path: Path, names: tuple[str, ...]) -> Iterator[_Judgment]:
    for line, text in content_lines(path):
        fields = _split(text, len(names))
        if len(fields) != len(names):
            raise SourceError(
                f"has {len(fields)} fields, not {len(names)}",
                remedy=f"write {', '.join(names)} on every line",
                place=f"{path}:{line}",
            )
        yield _Judgment(line, fields[0], fields[-2], fields[-1])


def _split(line: str, count: int) -> list[str]:
    """Fields by tab where there are as many (ids may then hold spaces), else by white space as trec_eval reads them."""
    by_tab = [field.strip() for field in line.split("\t")]
    return by_tab if len(by_tab) == count and all(by_tab) else line.split()


def _is_whole_number(text: str) -> bool:
    try:
        return float(text).is_integer()
    except ValueError:
        return False


def _grade(place: str, text: str) -> int:
    """Whole numbers only, also as `1.0`, which spreadsheets write."""
    if not _is_whole_number(text):
        raise SourceError(f"the grade {text!r} is no whole number", remedy="use 0, 1, 2, ...", place=place)
    grade = int(float(text))
    if abs(grade) > MAX_GRADE:
        raise SourceError(f"the grade {text} is out of range", remedy=f"use grades from 0 to {MAX_GRADE}", place=place)
    return grade
