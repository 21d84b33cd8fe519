"""Canonical JSON and digests: the one place that decides when two things are equal.

Programs, manifests and plans use RFC 8785 (`canonical_json`). Documents use `content_digest`, which treats values as
parsed JSON (contract 2): same keys, strings by code point, numbers as doubles, so that `1`, `1.0` and `1e0` are equal
whichever engine re-serialised them.
"""

from __future__ import annotations

import hashlib
from typing import Any

import orjson
import rfc8785

from idxopt.errors import IdxoptError


def canonical_json(value: Any) -> bytes:
    """RFC 8785 form of a JSON value.

    Raises IdxoptError for what JSON cannot carry exactly (NaN, integers beyond 2^53).
    """
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise IdxoptError(
            f"cannot be written as canonical JSON ({error})", remedy="use strings for numbers beyond 2^53, and no NaN"
        ) from error


def digest(value: Any) -> str:
    """sha256 (64 hex digits) of the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def content_digest(document: Any) -> str:
    """32 hex digits that are equal exactly for documents equal as parsed JSON (contract 2)."""
    text = orjson.dumps(_doubles(document), option=orjson.OPT_SORT_KEYS | orjson.OPT_NON_STR_KEYS)
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def text_digest(text: str) -> str:
    """32 hex digits of one text; lone surrogates are kept apart instead of failing."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _doubles(value: Any) -> Any:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return float(value)
    if isinstance(value, dict):
        return {key: _doubles(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_doubles(item) for item in value]
    return value
