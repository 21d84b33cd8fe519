"""`idxopt preset`: programs to start from."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idxopt.cli import options
from idxopt.cli.mapping import mapped_program
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, print_tables, write
from idxopt.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from idxopt.program.presets import PresetOptions

MODELS = "Models of PRIME's presets"


def list_presets(settings: Settings) -> ExitCode:
    """List the presets: how each represents documents, when to use it, and what it costs beside BM25.

    Example: idxopt preset list
    """
    from rich.table import Table

    from idxopt.program.presets import PRESETS

    if settings.json:
        emit_json(
            [
                {"name": preset.name, "what": preset.what, "when": preset.when, "cost": preset.cost}
                for preset in PRESETS.values()
            ]
        )
        return ExitCode.OK
    table = Table()
    table.add_column("preset", no_wrap=True)
    for heading in ("what", "for", "cost beside BM25"):
        table.add_column(heading, overflow="fold")
    for preset in PRESETS.values():
        table.add_row(preset.name, preset.what, preset.when, preset.cost)
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
    doc_id: options.DocumentId = "_id",
    markup: options.Markup = "markdown",
    beside: Annotated[
        list[str] | None,
        typer.Option("--beside", metavar="PRESET", help="Add the dense views of another preset (repeatable)."),
    ] = None,
    profile: Annotated[
        str, typer.Option("--profile", rich_help_panel=MODELS, help="default (MiniLM, MaxSim) or paper.")
    ] = "default",
    model: Annotated[
        str | None, typer.Option("--model", metavar="ID", rich_help_panel=MODELS, help="The encoder.")
    ] = None,
    dimension: Annotated[
        int | None, typer.Option("--dimension", min=1, rich_help_panel=MODELS, help="Length of its vectors.")
    ] = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", min=8, rich_help_panel=MODELS, help="Longest text that it reads.")
    ] = None,
    reranker: Annotated[
        str | None,
        typer.Option("--reranker", metavar="ID", rich_help_panel=MODELS, help="The second stage; none leaves it out."),
    ] = None,
    generator: Annotated[
        str | None,
        typer.Option("--generator", metavar="ID", rich_help_panel=MODELS, help="A language model, or extractive."),
    ] = None,
) -> ExitCode:
    """Print a preset as a program.

    Example: idxopt preset show sections --name handbook > program.json
    """
    from idxopt.program.canonical import canonical
    from idxopt.program.presets import preset as make_preset

    source = mapped_program(name, field, doc_id, markup, command="preset").source
    chosen = model_options(profile, model, dimension, max_tokens, reranker, generator)
    program = make_preset(preset, program_name=name, source=source, options=chosen, beside=beside or ())
    if settings.json:
        emit_json(canonical(program))
    else:
        write(json.dumps(canonical(program), ensure_ascii=False, indent=2))
    return ExitCode.OK


def model_options(
    profile: str,
    model: str | None,
    dimension: int | None,
    max_tokens: int | None,
    reranker: str | None,
    generator: str | None,
) -> PresetOptions:
    """The models of a preset: those of a profile, but for what was given. Raises UsageError."""
    from idxopt.program.presets import PROFILES
    from idxopt.program.problems import nearest

    if profile not in PROFILES:
        raise UsageError(f'unknown profile "{profile}"', place="--profile", remedy=nearest(profile, PROFILES))
    options = PROFILES[profile]
    given: dict[str, Any] = {"dimension": dimension, "max_tokens": max_tokens, "generator": generator}
    if model is not None and model != options.model:
        if dimension is None:
            raise UsageError(
                f"the length of the vectors of {model} is not known", place="--model", remedy="add --dimension N"
            )
        given |= {"model": model, "query_prefix": "", "passage_prefix": ""}
    if reranker is not None:
        given |= {"reranker": None if reranker == "none" else reranker, "reranker_tokens": None}
        options = replace(options, **{key: given.pop(key) for key in ("reranker", "reranker_tokens")})
    return replace(options, **{key: value for key, value in given.items() if value is not None})
