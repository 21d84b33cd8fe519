"""Is an index as it was compiled? Settings and mappings in one normal form, whatever an engine adds or rewrites.
Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from idxopt.engines.port import IndexState

ENGINE_SETTINGS = (
    "index.creation_date",
    "index.number_of_routing_shards",
    "index.provided_name",
    "index.replication.type",
    "index.resize.",
    "index.routing.allocation.include._tier_preference",
    "index.uuid",
    "index.version.",
)
"""Settings that engines write themselves (a name, or a prefix that ends with a dot)."""

_MAPPING_DEFAULTS: Mapping[str, str] = {
    "type": "object",
    "enabled": "true",
    "index": "true",
    "doc_values": "true",
    "dynamic": "true",
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One path that differs. `compiled` or `effective` is None where that side lacks it."""

    path: str
    compiled: str | None
    effective: str | None

    @property
    def added(self) -> bool:
        """True for what somebody else added and we never emitted."""
        return self.compiled is None

    def __str__(self) -> str:
        if self.added:
            return f"{self.path} is {self.effective}, which was not asked for"
        if self.effective is None:
            return f"{self.path} is missing, compiled as {self.compiled}"
        return f"{self.path} is {self.effective}, compiled as {self.compiled}"


def compare_effective(
    body: Mapping[str, Any],
    state: IndexState,
    *,
    served: Mapping[str, Any] | None = None,
    aliases: Collection[str] = (),
) -> list[Difference]:
    """Every difference between a compiled index body and the index that an engine reports, in order of their paths.

    `served`: settings that were changed after the load. `aliases`: those that the index may have; any other one came
    from somebody's template.
    """
    wanted = flat_settings(body.get("settings", {}))
    wanted.update(flat_settings(served or {}))
    found = {key: value for key, value in flat_settings(state.settings).items() if not _engine_made(key)}
    differences = list(_differences("settings.", wanted, found))
    differences += _differences("mappings.", flat_mapping(body.get("mappings", {})), flat_mapping(state.mappings))
    differences += [Difference(f"aliases.{alias}", None, "set") for alias in sorted(set(state.aliases) - set(aliases))]
    return differences


def flat_settings(settings: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Settings by full name (`index.number_of_shards`) as text, however nested; a None is left out."""
    flat: dict[str, str] = {}
    for key, value in settings.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            flat.update(flat_settings(value, f"{name}."))
        elif isinstance(value, list | tuple):
            flat.update(flat_settings({str(number): item for number, item in enumerate(value)}, f"{name}."))
        elif value is not None:
            flat[name if name.startswith("index.") else f"index.{name}"] = _text(value)
    return flat


def flat_mapping(mapping: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """A mapping by path (`properties.title.analyzer`) as text; parameters that only say the default are left out."""
    flat: dict[str, str] = {}
    if mapping.get("type") == "knn_vector":
        mapping = _plain_vector(mapping)
    for key, value in mapping.items():
        path = f"{prefix}{key}"
        if isinstance(value, Mapping):
            # An object without fields, or an empty `_meta`, is there all the same.
            flat.update(flat_mapping(value, f"{path}.") or ({path: "{}"} if prefix.endswith("properties.") else {}))
        elif isinstance(value, list | tuple):
            flat.update(flat_mapping({str(number): item for number, item in enumerate(value)}, f"{path}."))
        elif value is not None and not (_is_parameter(prefix) and _MAPPING_DEFAULTS.get(key) == _text(value)):
            flat[path] = _text(value)
    return flat


def _plain_vector(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A `knn_vector` in one form: versions echo the space beside `method` or inside it, and add what is the default."""
    method = dict(definition.get("method") or {})
    if "space_type" in definition:
        method.setdefault("space_type", definition["space_type"])
    plain = {key: value for key, value in definition.items() if key not in {"space_type", "method"}}
    defaults = {"mode": "in_memory", "compression_level": "1x", "data_type": "float"}
    plain = {key: value for key, value in plain.items() if defaults.get(key) != value}
    return {**plain, "method": method} if method else plain


def _is_parameter(prefix: str) -> bool:
    """Inside `_meta` every value counts."""
    return not prefix.startswith("_meta.")


def _engine_made(name: str) -> bool:
    return any(name == own or (own.endswith(".") and name.startswith(own)) for own in ENGINE_SETTINGS)


def _differences(prefix: str, wanted: Mapping[str, str], found: Mapping[str, str]) -> Iterator[Difference]:
    for key in sorted(wanted.keys() | found.keys()):
        one, other = wanted.get(key), found.get(key)
        if one != other and not _equal_numbers(one, other):
            yield Difference(f"{prefix}{key}", one, other)


def _equal_numbers(one: str | None, other: str | None) -> bool:
    try:
        return one is not None and other is not None and float(one) == float(other)
    except ValueError:
        return False


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
