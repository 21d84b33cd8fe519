"""The canonical form of a program and its hash: equal programs collide, whatever their key order or spelling.

RFC 8785 JSON with defaults left out (contract 1). A changed default is a new schema version, so that a hash stays
what it was across releases.
"""

from __future__ import annotations

from typing import Any

from idxopt.hashing import digest
from idxopt.program.schema import Program


def canonical(program: Program) -> dict[str, Any]:
    """The program as the smallest JSON object that reads back as the same program."""
    plain: dict[str, Any] = program.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    for view in plain["views"].values():
        for step in view.get("steps", ()):
            _normalise(step)
    fusion = plain.get("fusion", {})
    weights = {leg: weight for leg, weight in fusion.get("weights", {}).items() if weight != 1}
    fusion = {
        **{key: value for key, value in fusion.items() if key != "weights"},
        **({"weights": weights} if weights else {}),
    }
    plain.pop("fusion", None)
    return {**plain, "fusion": fusion} if fusion else plain


def program_hash(program: Program) -> str:
    """sha256 (64 hex digits) of the canonical form."""
    return digest(canonical(program))


def _normalise(step: dict[str, Any]) -> None:
    """One spelling for what can be written in two: a list of one, tables, sets of names, the default field.

    The fields of a `join` keep their order, which is that of the texts.
    """
    field = step.get("field")
    if isinstance(field, list) and step.get("to") != "join":
        names = sorted(set(field))
        step["field"] = names if len(names) > 1 else names[0]
        if step["field"] == "body":
            del step["field"]
    if "table" in step:
        step["table"] = {key: _one(value) for key, value in step["table"].items()}
    span = step.get("span", {})
    for name in ("heading", "phrases", "fields"):
        if span.get(name) is not None:
            span[name] = sorted(set(span[name]))


def _one(value: str | list[str]) -> str | list[str]:
    return value[0] if isinstance(value, list) and len(value) == 1 else value
