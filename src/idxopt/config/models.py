"""From a program and the configuration to its models."""

from __future__ import annotations

from collections.abc import Mapping

from idxopt.config.load import Config, cache_dir
from idxopt.config.secrets import read_secret
from idxopt.errors import ConfigError
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
        secret=model_secret,
        given=given,
    )


def model_secret(reference: str) -> str:
    """The key that a model's settings refer to. Raises ConfigError."""
    return read_secret(reference, "models")


def check_budget(program: Program, config: Config) -> None:
    """Raises ConfigError where a budget could not hold: a generator without prices, or prices in two currencies."""
    currencies: dict[str, str] = {}
    for spec in program.models.values():
        settings = config.models.get(spec.id)
        if spec.kind != "generator" or settings is None:
            continue
        place = f'{config.file}: models."{spec.id}"'
        if settings.price_input is None or settings.price_output is None:
            raise ConfigError(
                "a budget needs the prices of this model",
                place=place,
                remedy="write price_input and price_output (of a million tokens; 0 for a model that costs nothing)",
            )
        currencies[settings.currency] = place
    if len(currencies) > 1:
        raise ConfigError(
            f"one budget cannot hold prices in {' and '.join(sorted(currencies))}",
            place=", ".join(currencies.values()),
            remedy="write all prices in one currency",
        )
