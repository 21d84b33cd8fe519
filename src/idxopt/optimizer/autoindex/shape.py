"""What a program looks like to the heuristic: which field is the title, which the body, where rows are searched."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

from idxopt.optimizer.diagnosis.findings import CorpusFacts
from idxopt.program.effects import view_fields
from idxopt.program.schema import Program, View
from idxopt.program.steps import Reorganize, Slice, Step

Plain = dict[str, Any]
TITLE_WORDS = 40
"""A field of at most so many words in the mean can be a title."""


@dataclass(frozen=True, slots=True)
class Shape:
    """`title` and `body` are source fields (`title` None: there is none), `text` the longest field that the primary
    view searches (None: it searches none), `rows` the view with several rows a document (None: there is none).
    """

    program: Program
    title: str | None
    body: str
    text: str | None
    rows: str | None

    @property
    def primary(self) -> View:
        return self.program.views[self.program.primary]

    def weight(self, view: str, field: str) -> float | None:
        """The weight of a searched field, None where it is not searched."""
        lexical = self.program.views[view].lexical
        return None if lexical is None or field not in lexical.fields else lexical.fields[field].weight

    def free_field(self, view: str, name: str) -> bool:
        """Whether a step may make a field of this name."""
        made = view_fields(self.program, self.program.views[view]).names
        written = {getattr(step, "into", None) for step in self.program.views[view].steps}
        return name not in self.program.source.fields and name not in made and name not in written

    def free_view(self, name: str) -> bool:
        return name not in self.program.views

    def new_view(self, stem: str) -> str:
        """The stem, or the first of `{stem}-2`... that no view has."""
        names = (stem if number == 1 else f"{stem}-{number}" for number in count(1))
        return next(name for name in names if self.free_view(name))

    def retriever(self) -> Plain:
        """Analyzer, k1 and b of the primary view: the retriever is frozen."""
        lexical = self.primary.lexical
        if lexical is None and self.rows is not None:
            lexical = self.program.views[self.rows].lexical
        if lexical is None:
            return {}
        first = next(iter(lexical.fields.values()))
        return first.model_dump(mode="json", exclude_defaults=True, exclude={"weight"})

    def cut(self) -> tuple[int, Step] | None:
        """The step that makes the rows of the rows view, and its number."""
        if self.rows is None:
            return None
        for number, step in enumerate(self.program.views[self.rows].steps):
            if isinstance(step, Slice) or (isinstance(step, Reorganize) and step.to == "sections"):
                return number, step
        return None


def shape_of(program: Program, facts: CorpusFacts) -> Shape:
    """Reads the roles of fields from their lengths."""
    names = [name for name in program.source.fields if name in facts.fields] or list(program.source.fields)
    words = {name: facts.fields[name].mean_words if name in facts.fields else 0.0 for name in names}
    body = max(names, key=lambda name: (words[name], name == "body"))
    short = [name for name in names if name != body and 0 < words[name] <= TITLE_WORDS]
    title = min(short, key=lambda name: (name != "title", words[name])) if short else None
    primary = program.views[program.primary]
    searched = list(primary.lexical.fields) if primary.lexical is not None else []
    made = [name for name in searched if name not in program.source.fields and _joins(primary, name, body)]
    text = next(iter([*made, *(name for name in searched if name == body), *searched]), None)
    several = [name for name, view in program.views.items() if view_fields(program, view).many_rows]
    return Shape(program, title, body, text, several[0] if several else None)


def _joins(view: View, name: str, body: str) -> bool:
    return any(
        isinstance(step, Reorganize) and step.to == "join" and step.into == name and body in step.field
        for step in view.steps
    )
