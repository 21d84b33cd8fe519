"""Secrets are references, never values (contract 11): `env:NAME`, `file:PATH`, `keyring:SERVICE/USER`."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

from idxopt.errors import ConfigError

KINDS = ("env", "file", "keyring")
REFERENCES = "env:NAME, file:PATH or keyring:SERVICE/USER"


def is_reference(text: str) -> bool:
    """True for the form of a reference, whatever it names."""
    kind, _, rest = text.partition(":")
    return kind in KINDS and bool(rest)


def _not_in_the_open(text: str) -> str:
    if not is_reference(text):
        raise ValueError(f"is not a secret reference: write {REFERENCES}")
    return text


SecretReference = Annotated[str, AfterValidator(_not_in_the_open)]
"""A setting that names a secret. One that stands in the file is refused as it is read, and not repeated."""


def check_reference(reference: str, place: str) -> str:
    """The reference itself, unread.

    Raises ConfigError for anything that is not a reference; the value is not repeated.
    """
    if not is_reference(reference):
        raise ConfigError(
            "is not a secret reference",
            place=place,
            remedy=f"write {REFERENCES}; a secret itself never stands here",
        )
    return reference


def read_secret(reference: str, place: str) -> str:
    """The secret that a reference names. Raises ConfigError naming the reference, never the secret."""
    kind, _, rest = check_reference(reference, place).partition(":")
    if kind == "env":
        value = os.environ.get(rest)
        if not value:
            raise ConfigError(f"the environment variable {rest} is not set", place=place, remedy=f"export {rest}")
        return value
    if kind == "file":
        try:
            return Path(rest).expanduser().read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"the secret file {rest} cannot be read ({type(error).__name__})",
                place=place,
                remedy="check its path and rights",
            ) from None
    return _keyring(rest, place)


def _keyring(rest: str, place: str) -> str:
    service, _, user = rest.partition("/")
    try:
        keyring = importlib.import_module("keyring")
    except ImportError:
        raise ConfigError(
            "the package keyring is not installed", place=place, remedy="pip install keyring, or use env: or file:"
        ) from None
    value = keyring.get_password(service, user)
    if not value:
        raise ConfigError(f"the keyring has no entry {rest}", place=place, remedy=f"keyring set {service} {user}")
    return str(value)
