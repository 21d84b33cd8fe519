"""The catalogue: indices, aliases and templates of a folder as one immutable value. Pure.

Every change gives a new catalogue, and the file that holds it is replaced by one rename: the atomic switch of builds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from idxopt.engines.embedded.mapping import Mapped, merge_mappings, parse_mapping
from idxopt.engines.embedded.searching import Similarity
from idxopt.engines.port import AliasAction, Body, IndexState, Template
from idxopt.errors import Conflict, NotFound, Rejected

Aliases = Mapping[str, Mapping[str, Mapping[str, Any]]]

_BAD_NAME = re.compile(r"[A-Z\s,:\"*+/\\|?#<>]")
_SETTINGS = re.compile(
    r"index\.(number_of_shards|number_of_replicas|auto_expand_replicas|hidden|refresh_interval|max_result_window|priority"
    r"|default_pipeline|codec|knn|knn\.derived_source\.enabled|knn\.advanced\.approximate_threshold|blocks\.(write|read_only|read_only_allow_delete)|mapping\..+|similarity\..+|analysis\..+)"
)
_FIXED = frozenset({"index.number_of_shards", "index.knn", "index.knn.derived_source.enabled"})
_ALIAS_OPTIONS = frozenset({"is_hidden", "is_write_index"})
_BLOCKS = ("write", "read_only", "read_only_allow_delete")


@dataclass(frozen=True)
class IndexEntry:
    """One index. `settings` are flat."""

    name: str
    uuid: str
    settings: Mapping[str, str]
    mappings: Mapping[str, Any]

    @cached_property
    def mapped(self) -> Mapped:
        return parse_mapping(self.mappings)

    @cached_property
    def similarities(self) -> dict[str, Similarity]:
        """BM25 parameters by the name that fields use."""
        found: dict[str, dict[str, float]] = {}
        for key, value in self.settings.items():
            match key.split("."):
                case ["index", "similarity", name, "k1" | "b" as parameter]:
                    found.setdefault(name, {})[parameter] = float(value)
        return {name: Similarity(**parameters) for name, parameters in found.items()}

    @property
    def blocked(self) -> str | None:
        """The setting that forbids writing, if one does."""
        return next(
            (f"index.blocks.{kind}" for kind in _BLOCKS if self.settings.get(f"index.blocks.{kind}") == "true"), None
        )


@dataclass(frozen=True, slots=True)
class Catalogue:
    """`version` counts changes. `aliases`: alias -> index -> definition."""

    version: int = 0
    indices: Mapping[str, IndexEntry] = field(default_factory=dict)
    aliases: Aliases = field(default_factory=dict)
    templates: Mapping[str, Body] = field(default_factory=dict)

    def state(self, name: str) -> IndexState | None:
        """An index as the port reports it."""
        entry = self.indices.get(name)
        if entry is None:
            return None
        aliases = {alias: members[name] for alias, members in self.aliases.items() if name in members}
        return IndexState(entry.name, entry.uuid, dict(entry.settings), entry.mappings, aliases, health="green")

    def resolve(self, name: str, *, write: bool = False) -> IndexEntry:
        """An index by its name or by an alias of one index (for writing: its write index). NotFound or Rejected."""
        check_name(name)
        if name in self.indices:
            return self.indices[name]
        members = self.aliases.get(name)
        if members is None:
            raise NotFound(f"no such index [{name}]", place=name, status=404)
        writers = [index for index, definition in members.items() if definition.get("is_write_index")]
        if write and writers:
            return self.indices[writers[0]]
        refused = write and any(definition.get("is_write_index") is False for definition in members.values())
        if len(members) != 1 or refused:
            raise Rejected(f"the alias [{name}] names no single index for this", place=name, status=400)
        return self.indices[next(iter(members))]

    def listed_templates(self) -> list[Template]:
        return [
            Template(name, tuple(body.get("index_patterns", ())), int(body.get("priority", 0)), body)
            for name, body in self.templates.items()
        ]


def flat_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings as a server reports them with `flat_settings`: dotted names under `index.`, texts as values."""
    flat: dict[str, Any] = {}

    def walk(prefix: str, value: Any) -> None:
        if isinstance(value, Mapping):
            for key, inner in value.items():
                walk(f"{prefix}.{key}" if prefix else key, inner)
        else:
            name = prefix if prefix.startswith("index.") else f"index.{prefix}"
            flat[name] = [_setting(item) for item in value] if isinstance(value, list) else _setting(value)

    walk("", settings)
    return flat


def _setting(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def add_index(catalogue: Catalogue, name: str, uuid: str, body: Body) -> Catalogue:
    """With one index more, and its aliases. Conflict when the name is taken; Rejected for a body outside the subset."""
    check_name(name)
    if name in catalogue.indices or name in catalogue.aliases:
        kind = "index" if name in catalogue.indices else "alias"
        raise Conflict(f"an {kind} named [{name}] exists already", place=name, status=400)
    unknown = sorted(set(body) - {"settings", "mappings", "aliases"})
    if unknown:
        raise Rejected(f"unknown key [{unknown[0]}] in the index body", place=name, status=400)
    settings = flat_settings(body.get("settings", {}))
    settings.setdefault("index.number_of_shards", "1")
    settings.setdefault("index.number_of_replicas", "1")
    mappings = body.get("mappings", {})
    entry = IndexEntry(name, uuid, _checked_settings(settings), mappings)
    _check_fields(entry)
    added = replace(catalogue, indices={**catalogue.indices, name: entry})
    return change_aliases(
        added, [AliasAction("add", name, alias, options) for alias, options in body.get("aliases", {}).items()]
    )


def drop_index(catalogue: Catalogue, name: str) -> Catalogue:
    """Without an index and without what its aliases said of it."""
    indices = {other: entry for other, entry in catalogue.indices.items() if other != name}
    aliases = {
        alias: kept
        for alias, members in catalogue.aliases.items()
        if (kept := {index: definition for index, definition in members.items() if index != name})
    }
    return replace(catalogue, indices=indices, aliases=aliases)


def set_settings(catalogue: Catalogue, name: str, changes: Mapping[str, Any]) -> Catalogue:
    """With settings changed; None resets one. Rejected for those that an open index cannot change."""
    entry = _entry(catalogue, name)
    settings = dict(entry.settings)
    for key, value in changes.items():
        fixed = key.startswith(("index.similarity.", "index.analysis.")) or key in _FIXED
        if fixed and (value is None or settings.get(key) != next(iter(flat_settings({key: value}).values()))):
            raise Rejected(f"the setting {key} cannot be changed", place=name, remedy="build a new index", status=400)
        if value is None:
            settings.pop(key, None)
        else:
            settings |= flat_settings({key: value})
    changed = replace(entry, settings=_checked_settings(settings))
    return replace(catalogue, indices={**catalogue.indices, name: changed})


def set_mapping(catalogue: Catalogue, name: str, mapping: Body) -> Catalogue:
    """With fields added, and `_meta` replaced where given."""
    entry = _entry(catalogue, name)
    changed = replace(entry, mappings=merge_mappings(entry.mappings, mapping))
    _check_fields(changed)
    return replace(catalogue, indices={**catalogue.indices, name: changed})


def change_aliases(catalogue: Catalogue, actions: Sequence[AliasAction]) -> Catalogue:
    """All actions or none. Conflict when a `remove` finds nothing; NotFound for an index that is not there."""
    for action in actions:
        match action.kind:
            case "remove_index":
                if action.index in catalogue.aliases:
                    raise Rejected(f"[{action.index}] is an alias, not an index", place=action.index, status=400)
                _entry(catalogue, action.index)
                catalogue = drop_index(catalogue, action.index)
            case "remove":
                catalogue = replace(catalogue, aliases=_without(catalogue, action))
            case "add":
                catalogue = replace(catalogue, aliases=_with(catalogue, action))
    for alias, members in catalogue.aliases.items():
        if sum(bool(definition.get("is_write_index")) for definition in members.values()) > 1:
            raise Rejected(f"the alias [{alias}] would have more than one write index", place=alias, status=400)
    return catalogue


def _without(catalogue: Catalogue, action: AliasAction) -> Aliases:
    check_name(action.alias or "")
    check_name(action.index)
    members = dict(catalogue.aliases.get(action.alias or "", {}))
    if action.index not in members:
        raise Conflict(
            f"the alias [{action.alias}] does not name [{action.index}] any more; nothing was changed",
            place=action.alias,
            status=404,
        )
    del members[action.index]
    aliases = {alias: others for alias, others in catalogue.aliases.items() if alias != action.alias}
    return {**aliases, action.alias or "": members} if members else aliases


def _with(catalogue: Catalogue, action: AliasAction) -> Aliases:
    alias = action.alias or ""
    check_name(alias)
    _entry(catalogue, action.index)
    if alias in catalogue.indices:
        raise Rejected(f"an index named [{alias}] exists, so it cannot be an alias", place=alias, status=400)
    unknown = sorted(set(action.options) - _ALIAS_OPTIONS)
    if unknown:
        raise Rejected(f"unknown alias option [{unknown[0]}]", place=alias, status=400)
    return {**catalogue.aliases, alias: {**catalogue.aliases.get(alias, {}), action.index: dict(action.options)}}


def check_name(name: str) -> None:
    """Rejected for a name that a server would not take."""
    if not name or name[0] in "_-+" or name in {".", ".."} or _BAD_NAME.search(name) or len(name.encode()) > 255:
        raise Rejected(
            f"[{name}] is no valid name of an index or alias",
            remedy="use lower-case letters, digits, - and _, at most 255 bytes, not starting with _ - +",
            status=400,
        )


def _entry(catalogue: Catalogue, name: str) -> IndexEntry:
    check_name(name)
    if name not in catalogue.indices:
        raise NotFound(f"no such index [{name}]", place=name, status=404)
    return catalogue.indices[name]


def _checked_settings(settings: Mapping[str, str]) -> dict[str, str]:
    for key, value in settings.items():
        if not _SETTINGS.fullmatch(key):
            raise Rejected(f"unknown setting [{key}]", status=400)
        if key.startswith("index.similarity."):
            _check_similarity(key, value)
    if settings.get("index.number_of_shards") != "1":
        raise Rejected("an embedded index has one shard", remedy="set index.number_of_shards to 1", status=400)
    return dict(sorted(settings.items()))


def _check_similarity(key: str, value: str) -> None:
    name = key.rpartition(".")[2]
    if name == "type" and value != "BM25":
        raise Rejected(f"{key}: {value!r} is no known similarity", remedy="use BM25", status=400)
    if name not in {"type", "k1", "b"}:
        raise Rejected(f"unknown setting [{key}]", remedy="use type, k1 and b", status=400)
    if name in {"k1", "b"}:
        try:
            number = float(value)
        except ValueError:
            number = -1.0
        if not 0 <= number <= (1 if name == "b" else 3.4e38):
            raise Rejected(f"{key}: {value!r} is out of range", status=400)


def _check_fields(entry: IndexEntry) -> None:
    names = entry.similarities
    for leaf in entry.mapped.fields.values():
        if leaf.kind == "text" and leaf.similarity not in names and leaf.similarity not in {"default", "BM25"}:
            raise Rejected(f"{leaf.path}: unknown similarity [{leaf.similarity}]", place=entry.name, status=400)
