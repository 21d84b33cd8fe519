"""Where the rows of a view keep each field."""

from __future__ import annotations

from idxopt.program.effects import ViewFields
from idxopt.program.schema import Program

OWN = "idxopt"
"""The object of a stored row that holds everything which is not the source's own."""

DOC_ID = f"{OWN}.doc_id"


def stored_path(program: Program, view_name: str, field: str, fields: ViewFields) -> str:
    """The source path of a field that no step wrote (primary view), else `idxopt.FIELD`."""
    if view_name == program.primary and field in fields.untouched:
        return fields.untouched[field]
    return f"{OWN}.{field}"
