"""What a model is, from the program's spec and the settings alone: no weights are read, no server is asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idxopt.errors import ConfigError
from idxopt.models.ports import ModelIdentity
from idxopt.models.settings import ModelSettings
from idxopt.program.model_checks import MAXSIM
from idxopt.program.schema import ModelSpec

MAXSIM_VERSION = 1


def spec_of(name: str, specs: Mapping[str, ModelSpec]) -> ModelSpec:
    """The program's model of this name. Raises ConfigError."""
    if name not in specs:
        known = ", ".join(sorted(specs)) or "none"
        raise ConfigError(
            f'the program has no model "{name}"', place="models", remedy=f"name one of its models ({known})"
        )
    return specs[name]


def identity_of(name: str, specs: Mapping[str, ModelSpec], settings: Mapping[str, ModelSettings]) -> ModelIdentity:
    """The identity of a program's model. `pooling` counts only where the settings overrule the model's folder."""
    spec = spec_of(name, specs)
    if spec.id.startswith(MAXSIM):
        embedder = identity_of(maxsim_of(spec, specs), specs, settings)
        return ModelIdentity("reranker", spec.id, spec.revision, {"version": MAXSIM_VERSION, "embedder": embedder.key})
    chosen = settings.get(spec.id)
    found: dict[str, Any] = {
        "dimension": spec.dimension,
        "similarity": spec.similarity or "cosine" if spec.kind == "embedder" else None,
        "query_prefix": spec.query_prefix,
        "passage_prefix": spec.passage_prefix,
        "max_tokens": spec.max_tokens,
        "pooling": chosen.pooling if chosen else None,
    }
    details = {key: value for key, value in found.items() if value not in (None, "")}
    return ModelIdentity(spec.kind, spec.id, spec.revision, details)


def maxsim_of(spec: ModelSpec, specs: Mapping[str, ModelSpec]) -> str:
    """The embedder's name in `maxsim:NAME`. Raises ConfigError where it names none."""
    name = spec.id.removeprefix(MAXSIM)
    if name not in specs or specs[name].kind != "embedder":
        known = ", ".join(sorted(key for key, value in specs.items() if value.kind == "embedder")) or "none"
        raise ConfigError(
            f'"{spec.id}" names no embedder of the program',
            place="models",
            remedy=f"write {MAXSIM}NAME with one of its embedders ({known})",
        )
    return name
