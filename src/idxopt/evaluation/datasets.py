"""Judged queries from a folder, or from two files.

A folder is a BEIR data set (`queries.jsonl`, `qrels/test.tsv`) or anything that holds one file of queries and one of
judgments under the usual names.
"""

from __future__ import annotations

from pathlib import Path

from idxopt.errors import EvaluationError, SourceError
from idxopt.evaluation.judgments import JudgedQueries, Qrels, Query, pair_with_judgments
from idxopt.evaluation.qrels import load_qrels
from idxopt.evaluation.queries import load_queries

__all__ = ["JudgedQueries", "Qrels", "Query", "load_dataset_folder", "load_judged", "load_qrels", "load_queries"]

_QUERY_FILES = ("queries.jsonl", "queries.tsv", "queries.csv", "queries.txt", "topics.txt", "topics.tsv", "topics")
_QRELS_FILES = ("qrels.tsv", "qrels.csv", "qrels.txt", "qrels")
_QRELS_SUFFIXES = (".tsv", ".csv", ".txt", ".qrels")


def load_judged(queries: Path, qrels: Path) -> JudgedQueries:
    """Pair a file of queries with a file of judgments (one table may be both). Raises SourceError, EvaluationError."""
    try:
        return pair_with_judgments(load_queries(queries), load_qrels(qrels))
    except EvaluationError as error:
        raise EvaluationError(error.message, remedy=error.remedy, place=f"{queries}, {qrels}") from error


def load_dataset_folder(folder: Path, split: str = "test") -> JudgedQueries:
    """Read the queries and the judgments of one split.

    The split may be left as it is where the folder has only one. Raises SourceError where a file is missing or
    wrong, EvaluationError where no query is judged.
    """
    if not folder.is_dir():
        raise SourceError(
            "is not a folder", remedy="give a folder that holds queries.jsonl and qrels/test.tsv", place=str(folder)
        )
    queries = _existing(folder, _QUERY_FILES)
    if queries is None:
        raise SourceError(
            "holds no file of queries", remedy=f"add one of {', '.join(_QUERY_FILES)} (also .gz)", place=str(folder)
        )
    return load_judged(queries, _qrels_file(folder, split))


def _existing(folder: Path, names: tuple[str, ...]) -> Path | None:
    candidates = (folder / f"{name}{suffix}" for name in names for suffix in ("", ".gz"))
    return next((path for path in candidates if path.is_file()), None)


def _qrels_file(folder: Path, split: str) -> Path:
    splits_folder = folder / "qrels"
    if not splits_folder.is_dir():
        single = _existing(folder, _QRELS_FILES)
        if single is None:
            raise SourceError("holds no judgments", remedy=f"add qrels/{split}.tsv", place=str(folder))
        return single
    named = _existing(splits_folder, tuple(f"{split}{suffix}" for suffix in _QRELS_SUFFIXES))
    if named is not None:
        return named
    others = sorted(
        path
        for path in splits_folder.iterdir()
        if path.is_file() and path.name.removesuffix(".gz").endswith(_QRELS_SUFFIXES)
    )
    if len(others) == 1:
        return others[0]
    found = ", ".join(path.name.split(".")[0] for path in others) or "none"
    raise SourceError(
        f"has no judgments for split {split!r} (found: {found})",
        remedy="name one of the splits that are there" if others else f"add {split}.tsv",
        place=str(splits_folder),
    )
