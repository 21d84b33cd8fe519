"""`idxopt compile`: a program's artifacts for one engine, without any cluster."""

from __future__ import annotations

import json
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idxopt.cli import options
from idxopt.cli.outputs import is_artifact, refuse_foreign
from idxopt.cli.render.plans import lacking
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, write
from idxopt.errors import BuildError, ExitCode, UsageError

if TYPE_CHECKING:
    from idxopt.compiler.lowered import Compiled


class EngineKind(StrEnum):
    """Engines that programs can be compiled for."""

    OPENSEARCH_2 = "opensearch-2"
    OPENSEARCH_3 = "opensearch-3"
    EMBEDDED = "embedded"


def compile_program(
    settings: Settings,
    program: options.Program,
    engine: Annotated[EngineKind, typer.Option("--engine", help="Engine to compile for.")] = EngineKind.OPENSEARCH_3,
    shards: Annotated[int, typer.Option("--shards", min=1, max=1_024, help="Primary shards of each index.")] = 1,
    replicas: Annotated[int, typer.Option("--replicas", min=0, max=20, help="Replicas after the load.")] = 0,
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FOLDER", help="Write the artifacts as files into this folder.")
    ] = None,
    curl: Annotated[bool, typer.Option("--curl", help="Print the requests as curl commands.")] = False,
) -> ExitCode:
    """Show index templates, ingest pipelines and where each step runs.

    Example: idxopt compile program.json --curl
    """
    from idxopt.compiler.curl import compiled_requests, script
    from idxopt.compiler.lower import lower
    from idxopt.compiler.lowered import Target
    from idxopt.program.validate import load_program

    if curl and (settings.json or out is not None):
        raise UsageError("prints a script, and nothing else", place="--curl", remedy="leave --out and --json out")
    valid = load_program(program)
    embedded = engine is EngineKind.EMBEDDED
    target = Target(
        engine="embedded" if embedded else "opensearch",
        bm25_factor=engine is EngineKind.OPENSEARCH_2,
        pipelines=not embedded,
        shards=shards,
        replicas=replicas,
    )
    compiled = lower(valid, target, {})
    if curl:
        write(
            script(compiled_requests(compiled), title=f"{compiled.name} for {engine}, without the rows and the switch")
        )
        return ExitCode.OK
    files = _files(compiled)
    if out is not None:
        for name in files:
            refuse_foreign(out / name, "--out", "an artifact of ours", is_artifact, read=(program,))
        _write_files(out, files)
    if settings.json:
        emit_json(_document(compiled, files))
        return ExitCode.OK
    for name, view in compiled.views.items():
        write(f"view {name}: index {view.index}")
        for step in view.placements:
            write(f"  {step.number} {step.operator}: {step.place} ({step.why})")
        if view.lost_on_write:
            write(f"  ! documents written through the alias will lack: {lacking(view.lost_on_write)}")
    for file in files:
        write(f"wrote {out / file}" if out is not None else f"artifact {file}")
    return ExitCode.OK


def _files(compiled: Compiled) -> dict[str, Any]:
    """File name to content."""
    files: dict[str, Any] = {}
    for view in compiled.views.values():
        files[f"index_templates/{view.template_name}.json"] = view.template
        if view.pipeline is not None:
            files[f"ingest_pipelines/{view.template_name}.json"] = view.pipeline
        files[f"indices/{view.template_name}.json"] = view.index_body
    return files


def _document(compiled: Compiled, files: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": compiled.name,
        "program_hash": compiled.program_hash,
        "views": {
            name: {
                "index": view.index,
                "view_hash": view.view_hash,
                "lost_on_write": list(view.lost_on_write),
                "placements": [
                    {"number": step.number, "operator": step.operator, "place": step.place, "why": step.why}
                    for step in view.placements
                ],
            }
            for name, view in compiled.views.items()
        },
        "artifacts": files,
    }


def _write_files(folder: Path, files: dict[str, Any]) -> None:
    try:
        for name, content in files.items():
            file = folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(content, indent=2, ensure_ascii=False, default=dict) + "\n", encoding="utf-8")
    except OSError as error:
        raise BuildError(
            f"cannot be written ({error.strerror or error})",
            place=str(folder),
            remedy="choose a folder that you may write to",
        ) from error
