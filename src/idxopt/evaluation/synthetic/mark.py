"""The mark of judgments that nobody gave: the file `synthetic.json` in the folder of the queries or the judgments."""

from __future__ import annotations

from pathlib import Path

import orjson

from idxopt.errors import SourceError

FILE_NAME = "synthetic.json"
SCHEMA = "idxopt-synthetic/1"


def mark_in(folder: Path) -> str | None:
    """How the judgments of a folder were made (`known-item from headings`); None where nothing marks it.

    Raises SourceError for a mark that cannot be read: judgments are never taken for real ones because of a damaged
    file.
    """
    path = folder / FILE_NAME
    if not path.exists():
        return None
    try:
        value = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError) as error:
        raise _unreadable(path, str(error)) from error
    mark = value.get("mark") if isinstance(value, dict) and value.get("schema") == SCHEMA else None
    if not isinstance(mark, str) or not mark.strip():
        raise _unreadable(path, f"it has no `schema` {SCHEMA} with a `mark`")
    return mark


def mark_of_files(*files: Path) -> str | None:
    """The mark that lies beside one of these files, or beside the folder of splits (`qrels/`) that holds it."""
    for file in files:
        for folder in (file.parent, *([file.parent.parent] if file.parent.name == "qrels" else [])):
            if (mark := mark_in(folder)) is not None:
                return mark
    return None


def _unreadable(path: Path, cause: str) -> SourceError:
    return SourceError(
        f"cannot be read as the mark of synthetic judgments ({cause})",
        remedy="make the folder again with `idxopt queries make`, or remove the file where people judged the queries",
        place=str(path),
    )
