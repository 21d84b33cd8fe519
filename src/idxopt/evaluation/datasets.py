"""Judged queries from a folder, or from two files.

A folder is a BEIR data set (`queries.jsonl`, `qrels/test.tsv`) or anything that holds one file of queries and one of
judgments under the usual names. Judgments beside a `synthetic.json` are marked as such, however they are named.
"""

from __future__ import annotations

from pathlib import Path

from idxopt.errors import EvaluationError, SourceError
from idxopt.evaluation.judgments import JudgedQueries, Qrels, Query, pair_with_judgments
from idxopt.evaluation.lines import existing_file
from idxopt.evaluation.qrels import load_qrels
from idxopt.evaluation.queries import load_queries
from idxopt.evaluation.synthetic.mark import mark_of_files

__all__ = [
    "JudgedQueries",
    "Qrels",
    "Query",
    "load_dataset_folder",
    "load_judged",
    "load_qrels",
    "load_queries",
    "split_of",
]

_QUERY_FILES = ("queries.jsonl", "queries.tsv", "queries.csv", "queries.txt", "topics.txt", "topics.tsv", "topics")
_QRELS_FILES = ("qrels.tsv", "qrels.csv", "qrels.txt", "qrels")
_SPLITS_FOLDER = "qrels"
DEFAULT_SPLIT = "test"
_QRELS_SUFFIXES = (".tsv", ".csv", ".txt", ".qrels")


def load_judged(queries: Path, qrels: Path) -> JudgedQueries:
    """Pair a file of queries with a file of judgments (one table may be both). Raises SourceError, EvaluationError."""
    try:
        return pair_with_judgments(load_queries(queries), load_qrels(qrels), mark_of_files(queries, qrels))
    except EvaluationError as error:
        raise EvaluationError(error.message, remedy=error.remedy, place=f"{queries}, {qrels}") from error


def load_dataset_folder(folder: Path, split: str | None = None) -> JudgedQueries:
    """Read the queries and the judgments of one split (None: as `split_of` says).

    Raises SourceError where a file or the split is missing or wrong, EvaluationError where no query is judged.
    """
    if not folder.is_dir():
        raise SourceError(
            "is not a folder", remedy="give a folder that holds queries.jsonl and qrels/test.tsv", place=str(folder)
        )
    queries = existing_file(folder, _QUERY_FILES)
    if queries is None:
        raise SourceError(
            "holds no file of queries", remedy=f"add one of {', '.join(_QUERY_FILES)} (also .gz)", place=str(folder)
        )
    return load_judged(queries, _qrels_file(folder, split_of(folder, split)))


def split_of(folder: Path, split: str | None = None) -> str | None:
    """The split that is read: the one asked for, which must exist; else `test`, else the only one.

    None where the folder has one file of judgments and no splits. Raises SourceError with the splits that exist.
    """
    splits = _splits(folder)
    if splits is None:
        if split is None:
            return None
        raise SourceError(
            f"has no splits, and so no {split!r}: its judgments are one file",
            remedy="leave the split out",
            place=str(folder),
        )
    if split is None and len(splits) == 1:
        return next(iter(splits))
    wanted = split or DEFAULT_SPLIT
    if wanted in splits:
        return wanted
    raise SourceError(
        f"has no judgments for split {wanted!r} (found: {', '.join(splits) or 'none'})",
        remedy="name one of the splits that are there" if splits else f"add {wanted}.tsv",
        place=str(folder / _SPLITS_FOLDER),
    )


def _splits(folder: Path) -> dict[str, Path] | None:
    """Files of judgments by split, in the order of names; None without a folder of splits."""
    if not (folder / _SPLITS_FOLDER).is_dir():
        return None
    found: dict[str, Path] = {}
    for suffix in _QRELS_SUFFIXES:
        for path in sorted((folder / _SPLITS_FOLDER).iterdir()):
            name = path.name.removesuffix(".gz")
            if path.is_file() and name.endswith(suffix):
                found.setdefault(name.removesuffix(suffix), path)
    return dict(sorted(found.items()))


def _qrels_file(folder: Path, split: str | None) -> Path:
    if split is not None:
        return (_splits(folder) or {})[split]
    single = existing_file(folder, _QRELS_FILES)
    if single is None:
        raise SourceError("holds no judgments", remedy=f"add qrels/{DEFAULT_SPLIT}.tsv", place=str(folder))
    return single
