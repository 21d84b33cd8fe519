"""The table of operators in the documentation: `python -m idxopt.operators.reference [--check] [FILE]`.

It writes the table between two marks of the file and leaves the rest alone; a test compares.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any, get_args

from pydantic.fields import FieldInfo

from idxopt.operators.registry import FORMS, Form
from idxopt.program.steps import GENERATED, Discard, Enrich, Generated, Normalize, Reorganize, Reweight, Slice, Span

DEFAULT_FILE = Path("docs/operators.md")
BEGIN, END = "<!-- forms: begin -->", "<!-- forms: end -->"

_MODELS: dict[str, type[Any]] = {
    **{f"enrich {kind}": Generated for kind in GENERATED},
    "slice": Slice,
    "normalize": Normalize,
    "reorganize": Reorganize,
    "discard": Discard,
    "reweight": Reweight,
}
_HEADER = (
    "| form | parameters (default) | input -> output | runs | corpus | rows | cost | version |",
    "|---|---|---|---|---|---|---|---|",
)


def forms_table() -> str:
    """The table, a line a form."""
    return "\n".join([*_HEADER, *map(_line, FORMS.values())])


def _line(form: Form) -> str:
    return (
        f"| `{form.name}` | {_parameters(form)} | {form.takes} -> {form.gives} | {form.place} "
        f"| {'yes' if form.needs_corpus else ''} | {'several' if form.multiplies_rows else ''} "
        f"| {form.cost} | {form.version} |"
    )


def _parameters(form: Form) -> str:
    fields: dict[str, FieldInfo] = _model(form).model_fields
    parts = [_parameter(name, fields[name]) for name in form.parameters]
    operator, _, kind = form.name.partition(" ")
    if operator == "discard":
        parts.append(f"`span.{kind}`{_inner_defaults(kind)}")
    return ", ".join(parts)


def _parameter(name: str, info: FieldInfo) -> str:
    if info.is_required():
        return f"`{name}`"
    default = info.default
    return f"`{name}`" if default is None else f"`{name}` ({str(default).lower() if default != '' else 'empty'})"


def _inner_defaults(kind: str) -> str:
    model = next((kind for kind in get_args(Span.model_fields[kind].annotation) if hasattr(kind, "model_fields")), None)
    if model is None:
        return ""
    return " (" + ", ".join(f"`{name}` {info.default}" for name, info in model.model_fields.items()) + ")"


def _model(form: Form) -> type[Any]:
    operator, _, kind = form.name.partition(" ")
    if form.name in _MODELS or operator in _MODELS:
        return _MODELS.get(form.name) or _MODELS[operator]
    members = [get_args(member)[0] for member in get_args(get_args(Enrich)[0])]
    known = {get_args(member.model_fields["with_"].annotation)[0]: member for member in members}
    model: type[Any] = known[kind]
    return model


def written(text: str) -> str:
    """`text` with the table between its marks. Raises ValueError where a mark is missing."""
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return f"{text[:begin]}\n{forms_table()}\n{text[end:]}"


def main(arguments: list[str] | None = None) -> int:
    """Writes the table; with `--check` writes nothing and returns 1 where it is not what the registry says."""
    parser = argparse.ArgumentParser(
        "python -m idxopt.operators.reference", description="Write the table of operators."
    )
    parser.add_argument("file", nargs="?", type=Path, default=DEFAULT_FILE)
    parser.add_argument("--check", action="store_true", help="compare, and write nothing")
    options = parser.parse_args(arguments)
    file: Path = options.file
    before = file.read_text("utf-8")
    after = written(before)
    if not options.check:
        file.write_text(after, "utf-8")
        return 0
    if before == after:
        return 0
    sys.stderr.write(f"{file} is not what the registry says; run: python -m idxopt.operators.reference\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
