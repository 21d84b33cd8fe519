"""A program lowered to one engine: index bodies, templates, pipelines and placements, all pure data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idxopt.compiler.dense import dense_text
from idxopt.compiler.identity import index_meta, index_name, owner_mark, template_name, view_hash, view_spec
from idxopt.compiler.legs import legs
from idxopt.compiler.lowered import Compiled, CompiledView, Generations, Target
from idxopt.compiler.mapping import index_settings, view_properties
from idxopt.compiler.pipeline_tables import needs_tables
from idxopt.compiler.pipelines import ingest_pipeline
from idxopt.compiler.placement import place_steps
from idxopt.compiler.templates import index_template
from idxopt.errors import ProgramError
from idxopt.operators.tables import Tables
from idxopt.program.canonical import program_hash
from idxopt.program.effects import view_fields
from idxopt.program.reserved import unsupported
from idxopt.program.schema import Program

__all__ = ["legs", "lower"]

SERVED_REFRESH = "1s"


def lower(
    program: Program, target: Target, generations: Mapping[str, Generations], tables: Tables | None = None
) -> Compiled:
    """Everything that `program` needs on an engine of the kind of `target`.

    `generations` by view (0 where absent). `tables`: the frozen ones of the build, for its ingest pipeline; without
    them that has a placeholder. Raises ProgramError for what this version cannot lower.
    """
    _refuse_unsupported(program)
    views = {name: _view(program, name, target, generations.get(name, Generations()), tables) for name in program.views}
    return Compiled(name=program.name, program_hash=program_hash(program), target=target, views=views)


def _refuse_unsupported(program: Program) -> None:
    for path, what in unsupported(program):
        raise ProgramError(
            f"{what}: not in this version", remedy="remove that part of the program", place=f"program: {path}"
        )


def _view(program: Program, name: str, target: Target, generations: Generations, tables: Tables | None) -> CompiledView:
    fields = view_fields(program, program.views[name])
    spec = view_spec(program, name, shards=target.shards, generations=generations)
    full_hash = view_hash(spec)
    index = index_name(program.name, name, full_hash)
    mark = owner_mark(program.name, name, full_hash)
    mappings: dict[str, Any] = {
        "dynamic": False,
        "_meta": index_meta(program.name, name, full_hash, spec),
        "properties": view_properties(program, name, fields),
    }
    settings = index_settings(program, name, target, mappings)
    placement = place_steps(program, name, pipelines=target.pipelines)
    served: dict[str, Any] = {
        "index.refresh_interval": SERVED_REFRESH,
        "index.number_of_replicas": target.replicas,
    }
    pipeline = None
    if target.pipelines and name == program.primary:
        pipeline = ingest_pipeline(program, placement, mark, tables)
        served["index.default_pipeline"] = index
    return CompiledView(
        view=name,
        index=index,
        view_hash=full_hash,
        index_body={"settings": {"index": settings}, "mappings": mappings},
        served_settings=served,
        template_name=template_name(program.name, name),
        template=index_template(program.name, name, mark, settings, mappings),
        pipeline_name=index if pipeline is not None else None,
        pipeline=pipeline,
        pipeline_tables=pipeline is not None and needs_tables(placement.pipelined),
        placements=placement.placements,
        many_rows=fields.many_rows,
        lost_on_write=placement.lost_on_write,
        dense=dense_text(program, name),
    )
