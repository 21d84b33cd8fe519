"""`idxopt preset`: programs to start from."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, print_tables, write
from idxopt.errors import ExitCode, UsageError


def list_presets(settings: Settings) -> ExitCode:
    """List the presets, and when to use each.

    Example: idxopt preset list
    """
    from rich.table import Table

    from idxopt.program.presets import PRESETS

    if settings.json:
        emit_json([{"name": preset.name, "when": preset.when} for preset in PRESETS.values()])
        return ExitCode.OK
    table = Table()
    table.add_column("preset")
    table.add_column("for", overflow="fold")
    for preset in PRESETS.values():
        table.add_row(preset.name, preset.when)
    print_tables(settings, table)
    return ExitCode.OK


def show_preset(
    settings: Settings,
    preset: Annotated[str, typer.Argument(metavar="PRESET", help="A name from `idxopt preset list`.")],
    name: Annotated[str, typer.Option("--name", metavar="NAME", help="Public name of the program.")] = "docs",
    field: Annotated[
        list[str] | None,
        typer.Option(
            "--field",
            metavar="FIELD=PATH",
            help="A field and its path in the documents (repeatable). Default: title=title and body=text.",
        ),
    ] = None,
    doc_id: Annotated[str, typer.Option("--id", metavar="PATH", help="Path of the document id.")] = "_id",
    markup: Annotated[str, typer.Option("--markup", help="markdown, html, rest, asciidoc or text.")] = "markdown",
) -> ExitCode:
    """Print a preset as a program.

    Example: idxopt preset show sections --name handbook > program.json
    """
    from idxopt.program.canonical import canonical
    from idxopt.program.presets import preset as make_preset
    from idxopt.program.validate import program_from

    fields = dict(mapped(text) for text in field or ("title=title", "body=text"))
    source = {"id": doc_id, "fields": fields, "markup": markup}
    plain = {
        "schema": "idxopt/1",
        "name": name,
        "source": source,
        "views": {"content": {"lexical": {"fields": {next(iter(fields)): {}}}}},
    }
    checked = program_from(plain, "preset options").source
    program = make_preset(preset, program_name=name, source=checked)
    if settings.json:
        emit_json(canonical(program))
    else:
        write(json.dumps(canonical(program), ensure_ascii=False, indent=2))
    return ExitCode.OK


def mapped(text: str) -> tuple[str, str]:
    """`FIELD=PATH` as a pair. Raises UsageError."""
    field, equals, path = text.partition("=")
    if not (field and equals and path):
        raise UsageError(f"{text!r} maps nothing", place="--field", remedy="write FIELD=PATH, such as body=text")
    return field, path
