"""Programs made of options: where a command maps fields without a program.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from idxopt.errors import UsageError

if TYPE_CHECKING:
    from idxopt.program.schema import Program


def mapped_program(name: str, field: Sequence[str] | None, doc_id: str, markup: str, *, command: str) -> Program:
    """A program with the source that `--field`, `--id` and `--markup` describe, and one view over its first field.

    `command` names the options in messages. Raises ProgramError and UsageError.
    """
    from idxopt.program.validate import program_from

    fields = dict(_mapped(text) for text in field or ("title=title", "body=text"))
    plain = {
        "schema": "idxopt/1",
        "name": name,
        "source": {"id": doc_id, "fields": fields, "markup": markup},
        "views": {"content": {"lexical": {"fields": {next(iter(fields)): {}}}}},
    }
    return program_from(plain, f"{command} options")


def _mapped(text: str) -> tuple[str, str]:
    """`FIELD=PATH` as a pair. Raises UsageError."""
    field, equals, path = text.partition("=")
    if not (field and equals and path):
        raise UsageError(f"{text!r} maps nothing", place="--field", remedy="write FIELD=PATH, such as body=text")
    return field, path
