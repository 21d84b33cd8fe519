"""What the steps of a view do to its fields, known without reading a document.

Validation, mappings, pipelines, query bodies and the interpreter must agree on which fields the rows of a view have and
which of them a step wrote: that is decided here, from the program alone. A field that some step writes is stored under
`idxopt.` whether or not a document's text was really different.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from idxopt.program.schema import Program, View
from idxopt.program.steps import (
    UNITS,
    Discard,
    Generated,
    HeadingTree,
    Keywords,
    Neighbours,
    Normalize,
    PrimeTerms,
    Reorganize,
    Reweight,
    Slice,
    Step,
)

RESERVED = frozenset({"doc_id", "row", "path", "span", "incomplete", "vector"})
"""Names under `idxopt.` that no program may give to a field; `path` is made by steps that keep heading paths."""

ROW_FORMS = frozenset({"sections", "table_rows", "list_items", "qa_pairs", "attributes"})
"""Forms of `reorganize` that make several rows of one."""


@dataclass(frozen=True, slots=True)
class StepEffect:
    """Fields that one step reads, writes and removes.

    `structures` (among `writes`) hold JSON that is stored and never searched. `many_rows`: one row may become several.
    """

    reads: frozenset[str]
    writes: frozenset[str]
    removes: frozenset[str] = frozenset()
    structures: frozenset[str] = frozenset()
    many_rows: bool = False


@dataclass(frozen=True, slots=True)
class ViewFields:
    """The fields of rows, at the end of a view or before one of its steps.

    `untouched` maps a field that no step has written to its source path; `changed` were written by a step; `structures`
    (among `changed`) hold JSON that is stored and never searched.
    """

    untouched: Mapping[str, str]
    changed: frozenset[str] = field(default_factory=frozenset)
    structures: frozenset[str] = field(default_factory=frozenset)
    many_rows: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*self.untouched, *self.changed}))

    def after(self, step: Step) -> ViewFields:
        """The fields once `step` has run."""
        effect = step_effect(step)
        touched = effect.writes | effect.removes
        return ViewFields(
            untouched={name: path for name, path in self.untouched.items() if name not in touched},
            changed=(self.changed - effect.removes) | effect.writes,
            structures=(self.structures - touched) | effect.structures,
            many_rows=self.many_rows or effect.many_rows,
        )


def step_effect(step: Step) -> StepEffect:
    """Fields read, written and removed by one step."""
    match step:
        case Reweight():
            return StepEffect(frozenset(), frozenset())
        case Normalize():
            names = frozenset(normalized_fields(step))
            return StepEffect(names, names)
        case Slice():
            path = frozenset({"path"} if step.keep_heading_path else ())
            return StepEffect(frozenset({step.field}), frozenset({step.field}) | path, many_rows=True)
        case Discard():
            if step.span.fields is not None:
                return StepEffect(frozenset(), frozenset(), frozenset(step.span.fields))
            return StepEffect(frozenset({step.field}), frozenset({step.field}))
        case Reorganize():
            return _reorganize_effect(step)
        case HeadingTree():
            structure = frozenset({f"{step.into}_sections"})
            return StepEffect(frozenset({step.field}), structure | {step.into}, structures=structure)
        case _:
            rows = isinstance(step, Generated) and step.rows
            return StepEffect(frozenset({step.field}), frozenset({step.into}), many_rows=rows)


def normalized_fields(step: Normalize) -> tuple[str, ...]:
    """The fields of a `normalize` step, each once, in the order of their names (the order does not matter)."""
    return (step.field,) if isinstance(step.field, str) else tuple(sorted(set(step.field)))


def reorganized_fields(step: Reorganize) -> tuple[str, ...]:
    """The fields that a `reorganize` step reads, in their order: one, or those of a `join`."""
    return (step.field,) if isinstance(step.field, str) else tuple(step.field)


def _reorganize_effect(step: Reorganize) -> StepEffect:
    own = frozenset(reorganized_fields(step))
    into = frozenset({step.into} if step.into else ())
    if step.to == "rename":
        return StepEffect(own, into, removes=own)
    if step.to in ("promote", "join"):
        return StepEffect(own, into)
    path = frozenset({"path"} if step.to == "sections" else ())
    return StepEffect(own, own | into | path, many_rows=step.to in ROW_FORMS)


def reads_tables(step: Step) -> bool:
    """Whether the step needs frozen corpus tables; its `field` must then be a source field."""
    if isinstance(step, Keywords):
        return step.generator is None
    return isinstance(step, PrimeTerms | Neighbours) or (
        isinstance(step, Discard) and step.span.repeated_lines is not None
    )


def step_model(step: Step) -> str | None:
    """The key of `models` that the step names: a generator, or the model whose tokens a slice counts."""
    if isinstance(step, Slice):
        return step.unit if step.unit not in UNITS else None
    return step.generator if isinstance(step, Generated | Keywords) else None


def searching_models(program: Program) -> tuple[str, ...]:
    """The keys of `models` that a search needs, once each: those of dense legs, then the reranker's."""
    dense = [view.dense.model for view in program.views.values() if view.dense is not None]
    reranker = [program.rerank.model] if program.rerank is not None else []
    return tuple(dict.fromkeys([*dense, *reranker]))


def source_fields(program: Program) -> ViewFields:
    """The fields before the first step of any view."""
    return ViewFields(untouched=dict(program.source.fields))


def view_fields(program: Program, view: View) -> ViewFields:
    """The fields that the finished rows of a view have, and which of them steps wrote."""
    fields = source_fields(program)
    for step in view.steps:
        fields = fields.after(step)
    return fields
