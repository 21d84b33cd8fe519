"""From a program and the configuration to its models."""

from __future__ import annotations

from collections.abc import Mapping

from idxopt.config.load import Config, cache_dir
from idxopt.config.secrets import read_secret
from idxopt.models.opening import Given, Models
from idxopt.program.schema import Program


def open_models(program: Program, config: Config, *, given: Mapping[str, Given] | None = None) -> Models:
    """The program's models, opened as they are asked for; close them. Secrets are read as a model is opened.

    `given`: objects made in Python, by the program's name of the model; they need no settings.
    """
    return Models(
        program.models,
        config.models,
        cache=cache_dir() / "embeddings",
        secret=lambda reference: read_secret(reference, "models"),
        given=given,
    )
