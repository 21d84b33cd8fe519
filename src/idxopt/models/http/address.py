"""Addresses of model servers, and trust in their certificates."""

from __future__ import annotations

import functools
import ssl
from urllib.parse import urlsplit, urlunsplit

import certifi

from idxopt.errors import ConfigError

ENDPOINTS = ("/embeddings", "/rerank", "/chat/completions")


def endpoint_url(url: str, endpoint: str, place: str) -> str:
    """The whole address of an endpoint.

    `url` is a server ("http://host:8080": `/v1` is added), its versioned root ("https://host/v1") or the endpoint's
    own address. Raises ConfigError.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError(
            f'"{url}" is no address of a server', place=place, remedy='write it like "http://127.0.0.1:8080/v1"'
        )
    path = parts.path.rstrip("/")
    if not path.endswith(ENDPOINTS):
        path = f"{path or '/v1'}{endpoint}"
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, ""))


def trust(ca: str | None, place: str) -> ssl.SSLContext:
    """Certificates are always checked: against `ca` (a PEM file), else against the system's and certifi's authorities.

    Raises ConfigError when `ca` cannot be read.
    """
    if ca is None:
        return _public()
    try:
        return ssl.create_default_context(cafile=ca)
    except (OSError, ssl.SSLError) as failure:
        raise ConfigError(
            f"{ca} cannot be read as a CA certificate ({failure})", place=place, remedy="give a PEM file"
        ) from None


@functools.cache
def _public() -> ssl.SSLContext:
    """Made once: reading the authorities takes a tenth of a second."""
    context = ssl.create_default_context()
    context.load_verify_locations(cafile=certifi.where())
    return context
