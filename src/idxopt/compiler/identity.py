"""What decides the stored rows of a view, its hash, and the names made from it (contract 4).

The hashed specification is kept whole in `_meta.idxopt.view`: a lost state can be rebuilt from it, and nothing that
changes only queries (weights, `reweight`, fusion) is in it, so that such a change never touches an index.
"""

from __future__ import annotations

from typing import Any

from idxopt.compiler.fields import OWN
from idxopt.compiler.lowered import Generations
from idxopt.errors import ProgramError
from idxopt.hashing import digest
from idxopt.operators.registry import semantics_version
from idxopt.program.canonical import canonical
from idxopt.program.effects import reads_tables, step_model
from idxopt.program.schema import Program, View
from idxopt.program.steps import Reweight, Slice, Step

LOWERING_VERSION = 1
"""Raised when the artifacts made for an unchanged view must change."""

OWNER = "idxopt"
_MAX_NAME_BYTES = 255


def view_spec(program: Program, view_name: str, *, shards: int, generations: Generations) -> dict[str, Any]:
    """Everything that decides the stored rows of a view and how they are indexed, as JSON.

    Left out on purpose: names, weights, `reweight` steps, fusion, reranking, replicas, the data, the cluster and its
    plugins, and where a model runs. A table generation counts only where a step reads corpus tables, a model only where
    the view uses it: then its whole specification stands where the program has its name.
    """
    view = program.views[view_name]
    plain = canonical(program)
    steps = zip(view.steps, plain["views"][view_name].get("steps", ()), strict=True)
    tables = any(reads_tables(step) for step in view.steps)
    spec: dict[str, Any] = {
        "lowering": LOWERING_VERSION,
        "primary": view_name == program.primary,
        "source": plain["source"],
        "steps": [
            {**written, **_model_of(step, plain), "semantics": semantics_version(step)}
            for step, written in steps
            if not isinstance(step, Reweight)
        ],
        "lexical": _similarity_and_analysis(view),
        "shards": shards,
        "generations": {"build": generations.build, "table": generations.table if tables else 0},
    }
    if view.dense is not None:
        dense = view.dense
        spec["dense"] = {
            "model": plain["models"][dense.model],
            "text": list(dense.text),
            "hnsw": {"m": dense.hnsw.m, "ef_construction": dense.hnsw.ef_construction},
        }
    return spec


def view_hash(spec: dict[str, Any]) -> str:
    """sha256 of a view's specification (64 hex digits)."""
    return digest(spec)


def index_name(name: str, view_name: str, full_hash: str) -> str:
    """`{name}--{view}--{hash8}`. Raises ProgramError when an engine would refuse the length."""
    index = f"{name}--{view_name}--{full_hash[:8]}"
    if len(index.encode()) > _MAX_NAME_BYTES:
        raise ProgramError(
            f'the index name "{index}" is longer than {_MAX_NAME_BYTES} bytes',
            remedy="shorten the name of the program or of the view",
            place=f"views.{view_name}",
        )
    return index


def template_name(name: str, view_name: str) -> str:
    return f"{name}--{view_name}"


def owner_mark(name: str, view_name: str, full_hash: str) -> dict[str, str]:
    """What marks a template or a pipeline as ours."""
    return {"owner": OWNER, "name": name, "view": view_name, "view_hash": full_hash}


def index_meta(name: str, view_name: str, full_hash: str, spec: dict[str, Any]) -> dict[str, Any]:
    """`_meta` of one index: it is ours only while `index` is its real name (a clone copies `_meta`)."""
    return {
        OWN: {
            "owner": OWNER,
            "index": index_name(name, view_name, full_hash),
            "view_hash": full_hash,
            "name": name,
            "view": {"name": view_name, "spec": spec},
            "lowering": LOWERING_VERSION,
        }
    }


def _model_of(step: Step, plain: dict[str, Any]) -> dict[str, Any]:
    name = step_model(step)
    if name is None:
        return {}
    return {"unit" if isinstance(step, Slice) else "generator": plain["models"][name]}


def _similarity_and_analysis(view: View) -> dict[str, Any]:
    if view.lexical is None:
        return {}
    return {
        name: {"analyzer": field.analyzer, "k1": field.k1, "b": field.b} for name, field in view.lexical.fields.items()
    }
