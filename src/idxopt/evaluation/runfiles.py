"""Run files in TREC format: `query Q0 document rank score tag`.

Written with tabs, which trec_eval accepts, so that ids with spaces survive; with strictly falling scores, so that
every reader keeps the order; read back in the order of the scores, equal ones by the rank column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from idxopt.errors import EvaluationError, SourceError
from idxopt.evaluation.judgments import Ranking, Run
from idxopt.evaluation.lines import content_lines, empty_file
from idxopt.evaluation.metrics import check_distinct

_COLUMNS = 6
_NOT_IN_A_FIELD = re.compile("[\t\r\n\x00\ud800-\udfff]")
_SINGLE_MAX = float(np.finfo(np.float32).max)


def write_run(path: Path, run: Run, tag: str = "idxopt") -> None:
    """Write a run. A query without hits has no line; reading it back evaluates to the same figures.

    Raises EvaluationError where an id or the tag cannot stand in such a file, or a document comes twice.
    """
    _check_field("the tag", tag)
    lines = [line for query_id, ranking in run.items() for line in _run_lines(query_id, ranking, tag)]
    try:
        path.write_text("".join(lines), encoding="utf-8", newline="\n")
    except OSError as error:
        raise EvaluationError(
            f"the run file cannot be written ({error.strerror or error})",
            remedy="choose a file that you may write to",
            place=str(path),
        ) from error


def _run_lines(query_id: str, ranking: Ranking, tag: str) -> Iterator[str]:
    _check_field("query id", query_id)
    documents = check_distinct(query_id, ranking)
    scores = strictly_falling([score for _, score in ranking])
    for rank, (doc_id, score) in enumerate(zip(documents, scores, strict=True), start=1):
        _check_field("document id", doc_id)
        yield f"{query_id}\tQ0\t{doc_id}\t{rank}\t{score:.9g}\t{tag}\n"


def strictly_falling(scores: list[float]) -> list[float]:
    """The scores, lowered to the next single-precision number wherever they do not fall.

    trec_eval reads scores in single precision. Where they do not fit into it, ranks take their place.
    """
    falling: list[float] = []
    for score in scores:
        if not abs(score) < _SINGLE_MAX:
            return _by_rank(len(scores))
        value = float(np.float32(score))
        if falling and value >= falling[-1]:
            with np.errstate(over="ignore"):
                value = float(np.nextafter(np.float32(falling[-1]), np.float32(-np.inf)))
        falling.append(value)
    return falling if all(math.isfinite(value) for value in falling) else _by_rank(len(scores))


def _by_rank(count: int) -> list[float]:
    return [float(count - rank) for rank in range(count)]


def _check_field(what: str, value: str) -> None:
    if not value or value != value.strip() or _NOT_IN_A_FIELD.search(value):
        raise EvaluationError(
            f"{what} {value!r} cannot stand in a run file (empty, or with a tab, line end, NUL or outer space)",
            remedy="rename it, or evaluate without writing a run file",
        )


def read_run(path: Path) -> dict[str, Ranking]:
    """Read a run file, plain or gzip. Raises SourceError (FILE:LINE) for what is not one."""
    collected: dict[str, dict[str, tuple[float, float]]] = {}
    for line, query_id, doc_id, rank, score in _entries(path):
        ranked = collected.setdefault(query_id, {})
        if doc_id in ranked:
            raise SourceError(
                f"query {query_id!r} lists document {doc_id!r} twice",
                remedy="keep one of the two",
                place=f"{path}:{line}",
            )
        ranked[doc_id] = (-score, rank)
    if not collected:
        raise empty_file(path)
    return {
        query_id: [(doc_id, -ranked[doc_id][0]) for doc_id in sorted(ranked, key=ranked.__getitem__)]
        for query_id, ranked in collected.items()
    }


def _entries(path: Path) -> Iterator[tuple[int, str, str, float, float]]:
    for line, text in content_lines(path):
        place = f"{path}:{line}"
        fields = text.split("\t")
        if len(fields) != _COLUMNS:
            fields = text.split()
        if len(fields) != _COLUMNS:
            raise SourceError(
                f"has {len(fields)} fields, not {_COLUMNS}",
                remedy="write query, Q0, document, rank, score and tag on every line",
                place=place,
            )
        yield (
            line,
            fields[0].strip(),
            fields[2].strip(),
            _number(place, "rank", fields[3]),
            _number(place, "score", fields[4]),
        )


def _number(place: str, what: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise SourceError(
            f"the {what} {text!r} is no finite number", remedy=f"write the {what} as a number", place=place
        )
    return value
