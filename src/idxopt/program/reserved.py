"""What schema v1 accepts and this version does not build yet (design: "schema v1 reserves now")."""

from __future__ import annotations

from idxopt.program.schema import Program


def unsupported(program: Program) -> list[tuple[str, str]]:
    """JSON path and name of everything in the program that this version cannot build; the compiler refuses these."""
    return [("analysis", "analysis of one's own")] if program.analysis else []
