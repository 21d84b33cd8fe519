"""The program that a study starts from unless another is given: full-document BM25 over one joined field."""

from __future__ import annotations

from typing import Any

from idxopt.program.schema import Program, Source
from idxopt.program.validate import program_from

TEXT = "text"
"""The joined field, `text_2`... where the source has a field of that name."""


def baseline_program(source: Source, name: str) -> Program:
    """All mapped fields in one, in their order, analysed as `english` (spec AutoIndex: the full-document baseline).

    A source with one field is searched as it is. Raises ProgramError for a name that no index may have.
    """
    fields = list(source.fields)
    steps: list[dict[str, Any]] = []
    searched = fields[0]
    if len(fields) > 1:
        searched = next(free for free in (TEXT, *(f"{TEXT}_{n}" for n in range(2, 99))) if free not in source.fields)
        steps = [{"op": "reorganize", "to": "join", "field": fields, "into": searched}]
    plain = {
        "schema": "idxopt/1",
        "name": name,
        "source": source.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        "views": {"content": {"steps": steps, "lexical": {"fields": {searched: {}}}}},
    }
    return program_from(plain, "the baseline")
