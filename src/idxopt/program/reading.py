"""Bytes to a JSON object, with every defect named: encoding, NUL, line and column, duplicate keys, numbers, size."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any, NoReturn

from idxopt.errors import ProgramError

MAX_BYTES = 1_000_000
"""A larger file is no program."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_BOMS = {b"\xef\xbb\xbf": "a UTF-8 byte order mark", b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class _Pairs(list[tuple[str, Any]]):
    """A JSON object as it was read, duplicate keys and all."""


def json_path(location: Iterable[str | int]) -> str:
    """`("views", "content", "steps", 2)` as `views.content.steps[2]`; keys that are no plain words are quoted."""
    path = ""
    for element in location:
        if isinstance(element, int):
            path += f"[{element}]"
        elif _PLAIN_KEY.fullmatch(element):
            path += f".{element}" if path else element
        else:
            path += f"[{json.dumps(element, ensure_ascii=False)}]"
    return path


def read_object(data: bytes | str, place: str) -> dict[str, Any]:
    """The JSON object in `data`. Raises ProgramError, with `place` followed by line and column or the JSON path."""
    text = _decoded(data, place)
    try:
        value = json.loads(text, object_pairs_hook=_Pairs, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise ProgramError(
            f"broken JSON: {error.msg}",
            remedy="correct the JSON there, or a few characters before",
            place=f"{place}:{error.lineno}:{error.colno}",
        ) from error
    except RecursionError as error:
        raise ProgramError("nested too deeply", remedy="a program has at most a dozen levels", place=place) from error
    except ValueError as error:
        raise ProgramError(str(error), remedy="write an ordinary JSON number", place=place) from error
    if not isinstance(value, _Pairs):
        raise ProgramError("a program is a JSON object", remedy='start with {"schema": "idxopt/1", ...}', place=place)
    plain: dict[str, Any] = _plain(value, (), place)
    return plain


def _decoded(data: bytes | str, place: str) -> str:
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogatepass")
    if len(data) > MAX_BYTES:
        raise ProgramError(
            f"{len(data):,} bytes; a program has at most {MAX_BYTES:,}",
            remedy="shorten its tables, or check that this file is a program",
            place=place,
        )
    for mark, what in _BOMS.items():
        if data.startswith(mark):
            if what == "UTF-16":
                raise ProgramError("is UTF-16 text", remedy="save the file as UTF-8", place=place)
            raise ProgramError(f"starts with {what}", remedy="save the file as UTF-8 without one", place=place)
    if b"\0" in data:
        line = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise ProgramError("contains a NUL byte", remedy="save the file as UTF-8 text", place=f"{place}:{line}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ProgramError(
            f"is not UTF-8 (byte {data[error.start]:#04x})", remedy="save the file as UTF-8", place=f"{place}:{line}"
        ) from error
    if not text.strip():
        raise ProgramError("is empty", remedy="start from a preset", place=place)
    return text


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _plain(value: Any, location: tuple[str | int, ...], place: str) -> Any:
    """Dicts for pairs, once no key stands twice and every string is text that JSON and an engine can carry."""
    if isinstance(value, _Pairs):
        plain: dict[str, Any] = {}
        for key, item in value:
            if key in plain:
                raise ProgramError(
                    f'the key "{key}" stands twice in one object',
                    remedy="keep one of the two",
                    place=f"{place}: {json_path((*location, key))}",
                )
            _check_text(key, (*location, key), place)
            plain[key] = _plain(item, (*location, key), place)
        return plain
    if isinstance(value, list):
        return [_plain(item, (*location, number), place) for number, item in enumerate(value)]
    if isinstance(value, str):
        _check_text(value, location, place)
    return value


def _check_text(text: str, location: tuple[str | int, ...], place: str) -> None:
    bad = "a NUL character" if "\0" in text else "half of a surrogate pair" if _has_surrogate(text) else None
    if bad is not None:
        path = json_path(
            str(part).encode("utf-8", "replace").decode() if isinstance(part, str) else part for part in location
        )
        raise ProgramError(f"the text contains {bad}", remedy="take it out", place=f"{place}: {path}")


def _has_surrogate(text: str) -> bool:
    return not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text)
