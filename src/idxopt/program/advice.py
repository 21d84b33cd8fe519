"""What is allowed in a program and seldom meant: warnings that validation and plans print."""

from __future__ import annotations

from collections.abc import Iterator

from idxopt.program.effects import reorganized_fields
from idxopt.program.schema import Program, View
from idxopt.program.steps import Generated, Reorganize, Step

RESTRUCTURED_IS_READ = (
    "retrieval reads restructured text: in the paper that lowered document retrieval (hybrid .311 to .241, with a "
    "reranker .391 to .325, QASPER); to hand denser sections over without it, search the original and set "
    "`rerank.context` to the restructured field"
)


def warnings(program: Program) -> list[str]:
    """One line a warning, each beginning with where."""
    found = []
    for name, view in program.views.items():
        fields = sorted(_read(view) & _restructured(view))
        if fields:
            found.append(f"views.{name}: {RESTRUCTURED_IS_READ} ({', '.join(fields)})")
    rerank = program.rerank
    if rerank is not None and program.primary in program.views:
        made = _restructured(program.views[program.primary])
        if rerank.field in made:
            found.append(f"rerank.field: {RESTRUCTURED_IS_READ} ({rerank.field})")
    return found


def _read(view: View) -> frozenset[str]:
    lexical = view.lexical.fields if view.lexical is not None else ()
    dense = view.dense.text if view.dense is not None else ()
    return frozenset([*lexical, *dense])


def _restructured(view: View) -> frozenset[str]:
    """Fields made from restructured text, through every step that derives one field from another."""
    made: set[str] = set()
    for step in view.steps:
        if isinstance(step, Generated) and step.with_ == "restructure":
            made.add(step.into)
        else:
            made |= {into for field, into in _derived(step) if field in made}
    return frozenset(made)


def _derived(step: Step) -> Iterator[tuple[str, str]]:
    """Only copies count: terms and headings of restructured text are metadata, not the text itself."""
    if isinstance(step, Reorganize) and step.to in ("promote", "rename", "join") and step.into is not None:
        yield from ((name, step.into) for name in reorganized_fields(step))
