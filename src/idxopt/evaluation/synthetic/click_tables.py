"""Click logs as tables: CSV, semicolon- or tab-separated, with a header.

Either a line for each showing (query, document, position, clicked, and a session where there is one), or a line for
each query, document and position with counts (impressions, clicks).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, get_args

from idxopt.errors import SourceError, UsageError
from idxopt.evaluation.delimited import read_cells
from idxopt.evaluation.lines import first_line
from idxopt.evaluation.synthetic.clicks import Shown

Role = Literal["query", "document", "position", "clicks", "impressions", "session"]
ROLES: tuple[Role, ...] = get_args(Role)
NEEDED: tuple[Role, ...] = ("query", "document", "position", "clicks")
_NAMES: Mapping[Role, tuple[str, ...]] = {
    "query": ("query", "user-query", "query-text", "search", "search-term", "search-query", "term", "keywords", "q"),
    "document": (
        "document", "document-id", "doc", "docid", "doc-id", "object-id", "item", "item-id", "product-id", "corpus-id",
    ),
    "position": ("position", "rank", "ordinal", "pos"),
    "clicks": ("clicks", "clicked", "click", "is-click", "is-clicked", "n-clicks"),
    "impressions": ("impressions", "impression", "shown", "showings", "views", "n-impressions"),
    "session": ("session", "session-id", "client-id", "client", "visitor", "visitor-id", "user", "user-id"),
}  # fmt: skip
_YES, _NO = ("true", "yes", "y", "t"), ("false", "no", "n", "f", "")


def named_columns(pairs: Sequence[str]) -> dict[Role, str]:
    """ROLE=NAME as given on the command line. Raises UsageError."""
    named: dict[Role, str] = {}
    for pair in pairs:
        role, equals, name = pair.partition("=")
        if not equals or not name or role not in ROLES:
            raise UsageError(
                f"{pair!r} names no column", place="--column", remedy=f"write ROLE=NAME; roles: {', '.join(ROLES)}"
            )
        named[_role(role)] = name
    return named


def read_click_table(path: Path, named: Mapping[Role, str] | None = None) -> Iterator[Shown]:
    """The rows of a click log. Raises SourceError (FILE:LINE) for a missing column and a value that is no number."""
    header = first_line(path)
    delimiter = max("\t,;", key=header.count)
    rows = read_cells(path, delimiter)
    _, names = next(rows, (1, None))
    if names is None:
        return
    places = _places(path, names, named or {})
    for line, cells in rows:
        yield _shown(_at(path, line), cells, places)


def _places(path: Path, header: Sequence[str], named: Mapping[Role, str]) -> dict[Role, int]:
    cells = [cell.strip() for cell in header]
    found: dict[Role, int] = {}
    for role in ROLES:
        if role in named:
            if named[role] not in cells:
                raise SourceError(
                    f"has no column {named[role]!r}", remedy=f"its columns: {', '.join(cells)}", place=str(path)
                )
            found[role] = cells.index(named[role])
            continue
        plain = [cell.lower().replace("_", "-").replace(" ", "-") for cell in cells]
        place = next((plain.index(name) for name in _NAMES[role] if name in plain), None)
        if place is not None:
            found[role] = place
    missing = [role for role in NEEDED if role not in found]
    if missing:
        raise SourceError(
            f"no column is known as {' or '.join(missing)} (columns: {', '.join(cells)})",
            remedy=f"name it with --column {missing[0]}=NAME",
            place=str(path),
        )
    return found


def _shown(place: str, cells: Sequence[str], places: Mapping[Role, int]) -> Shown:
    def cell(role: Role) -> str:
        index = places.get(role)
        return cells[index].strip() if index is not None and index < len(cells) else ""

    query, document = cell("query"), cell("document")
    if not query or not document:
        raise SourceError(
            f"the row has no {'document' if query else 'query'}", remedy="fill it or remove the row", place=place
        )
    shown = _count(place, "impressions", cell("impressions")) if "impressions" in places else 1
    clicks = _count(place, "clicks", cell("clicks"))
    if clicks > shown and "impressions" in places:
        raise SourceError(
            f"counts {clicks} clicks and {shown} impressions", remedy="correct the counts of this row", place=place
        )
    return Shown(
        query=query,
        document=document,
        position=_count(place, "position", cell("position")),
        shown=shown,
        clicks=min(clicks, shown),
        session=cell("session") or None,
    )


def _count(place: str, role: Role, text: str) -> int:
    if role == "clicks" and text.lower() in (*_YES, *_NO):
        return int(text.lower() in _YES)
    try:
        value = float(text)
        if value < 0 or not value.is_integer():
            raise ValueError
    except (ValueError, OverflowError):
        raise SourceError(
            f"the {role} {text!r} is no whole number from 0 on", remedy="correct the cell", place=place
        ) from None
    return int(value)


def _role(text: str) -> Role:
    return next(role for role in ROLES if role == text)


def _at(path: Path, line: int) -> str:
    return f"{path}:{line}"
