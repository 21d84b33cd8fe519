"""The aliases of a build, and the one request that moves them (contract 5). Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idxopt.builds import names
from idxopt.engines.port import AliasAction

AliasKey = tuple[str, str]
"""(alias, index)."""


@dataclass(frozen=True, slots=True)
class ViewIndex:
    """Where a view's rows are, and whether it has several rows a document."""

    index: str
    many_rows: bool


def wanted(name: str, primary: str, build: str, views: Mapping[str, ViewIndex]) -> dict[AliasKey, dict[str, Any]]:
    """The aliases that readers of a live build need.

    All but `{name}` are hidden, so that wildcards do not meet them.
    """
    aliases: dict[AliasKey, dict[str, Any]] = {}
    for view, place in views.items():
        if view == primary:
            aliases[name, place.index] = {"is_write_index": True}
        else:
            options: dict[str, Any] = {"is_hidden": True}
            if place.many_rows:
                options["is_write_index"] = False
            aliases[names.view_alias(name, view), place.index] = options
        aliases[names.marker_alias(name, build), place.index] = {"is_hidden": True}
    return aliases


def present(aliases: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> dict[AliasKey, dict[str, Any]]:
    """What the engine has, in the shape of `wanted`."""
    return {(alias, index): dict(options) for alias, indices in aliases.items() for index, options in indices.items()}


def differences(
    now: Mapping[AliasKey, Mapping[str, Any]], then: Mapping[AliasKey, Mapping[str, Any]]
) -> list[AliasKey]:
    """The (alias, index) pairs that are missing, too many, or have other options."""
    return sorted(key for key in now.keys() | then.keys() if not _same(now.get(key), then.get(key)))


def switch_actions(
    now: Mapping[AliasKey, Mapping[str, Any]], then: Mapping[AliasKey, Mapping[str, Any]]
) -> list[AliasAction]:
    """Removes (each must exist: compare-and-swap), then adds. A pair whose options alone differ is added again."""
    actions = [AliasAction("remove", index, alias) for alias, index in sorted(now) if (alias, index) not in then]
    for (alias, index), options in sorted(then.items()):
        if not _same(now.get((alias, index)), options):
            actions.append(AliasAction("add", index, alias, options))
    return actions


def _same(one: Mapping[str, Any] | None, other: Mapping[str, Any] | None) -> bool:
    if one is None or other is None:
        return one is other
    return _stated(one) == _stated(other)


def _stated(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options without those that say the same as leaving them out."""
    return {key: value for key, value in options.items() if value not in (None, False) or key == "is_write_index"}
