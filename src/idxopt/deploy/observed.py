"""What planning sees of the engine: one read-only snapshot of everything that a name owns or touches."""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from idxopt.builds import names
from idxopt.builds.canary import Canary, running_canary
from idxopt.builds.manifest import Manifest, ViewBuild
from idxopt.builds.state import Event, StateStore
from idxopt.deploy.frozen import FrozenTables
from idxopt.engines.port import Capabilities, IndexState, Reader, Template
from idxopt.errors import BuildError
from idxopt.hashing import digest

BUILT = "build"
"""The history event of a build made with `--view`, which readers have not used yet."""


@dataclass(frozen=True, slots=True)
class Observed:
    """`indices`, `pipelines`: everything named `{name}--*`, ours or not. `aliases`: `{name}` and `{name}--*`.

    `live` is the build that the marker alias names, None before the first apply. `concrete`: an index (not an alias)
    has the public name. `templates` are all of the cluster: any of them may match our indices. `frozen` reads the
    corpus tables of recorded builds. `canary`: the one in force. `damaged_canary`: why its record cannot be read,
    so that any build may be its candidate, live or not; empty where it can be read or there is none.
    """

    name: str
    capabilities: Capabilities
    indices: Mapping[str, IndexState]
    aliases: Mapping[str, Mapping[str, Mapping[str, Any]]]
    templates: Mapping[str, Template]
    pipelines: Mapping[str, Mapping[str, Any]]
    builds: Mapping[str, Manifest]
    live: Manifest | None
    concrete: IndexState | None
    history: tuple[Event, ...] = ()
    frozen: FrozenTables = field(default_factory=FrozenTables, compare=False, repr=False)
    canary: Canary | None = None
    damaged_canary: str = ""

    @property
    def finished(self) -> frozenset[str]:
        """Ids of the builds whose indices can be used as they are."""
        told = {build for event in self.history for build in (event.build, event.previous) if build}
        now = {self.live.build if self.live else None, self.canary.candidate if self.canary else None}
        return frozenset(told | {build for build in now if build})

    def owned(self, index: str) -> bool:
        """True when the index exists and is ours:

        marked under its real name (a clone copies the mark), or recorded with its uuid.
        """
        state = self.indices.get(index)
        return state is not None and (names.owned(state) or self.recorded(index) is not None)

    def recorded(self, index: str) -> ViewBuild | None:
        """The record of this index with this uuid in a finished build: it was loaded whole, verified, and used.

        A build that was recorded but never went live (its apply was killed in between) does not count: the documents
        may have changed since, so the next apply takes its indices up like any unfinished one.
        """
        build = self.builder(index)
        return next(view for view in build.views.values() if view.index == index) if build is not None else None

    def builder(self, index: str) -> Manifest | None:
        """The finished build that loaded this index: its source and its tables are those of the rows."""
        state = self.indices.get(index)
        for build in self.builds.values():  # oldest first: later ones reuse the index
            if state is not None and build.build in self.finished:
                for view in build.views.values():
                    if view.index == index and view.uuid == state.uuid:
                        return build
        return None

    @property
    def served(self) -> list[Manifest]:
        """The recorded builds that readers have used, oldest first; the candidate of a canary that runs is none yet, so
        that its generations are those of the apply that promotes it.
        """
        told = {build for event in self.history if event.what != BUILT for build in (event.build, event.previous)}
        told -= {self.canary.candidate if self.canary else None}
        return [one for id, one in self.builds.items() if id in told or one is self.live]

    def matching_templates(self, index: str) -> list[Template]:
        """Templates that would reach a visible index of that name."""
        return [t for t in self.templates.values() if any(fnmatch.fnmatchcase(index, p) for p in t.patterns)]


def observe(reader: Reader, name: str, *, trust: bool = True) -> Observed:
    """Reads it all.

    Raises BuildError when the marker aliases contradict each other or name a build that is not recorded; without
    `trust` no build is live then (what destroy needs to be the way out).
    """
    live = None
    store = StateStore(reader)
    aliases = {**reader.aliases(name), **reader.aliases(f"{name}--*")}
    builds = {manifest.build: manifest for manifest in store.manifests(name)}
    try:
        live = live_manifest(name, aliases, builds)
    except BuildError:
        if trust:
            raise
    canary, damaged = _canary(reader, name, live)
    return Observed(
        name=name,
        capabilities=reader.capabilities(),
        indices={state.name: state for state in reader.list_indices(f"{name}--*")},
        aliases=aliases,
        templates={template.name: template for template in reader.templates()},
        pipelines=reader.list_pipelines(f"{name}--*"),
        builds=builds,
        live=live,
        concrete=reader.get_index(name),
        history=tuple(store.history(name)),
        frozen=FrozenTables(store, name),
        canary=canary,
        damaged_canary=damaged,
    )


def _canary(reader: Reader, name: str, live: Manifest | None) -> tuple[Canary | None, str]:
    """The canary in force, and why the record that is there cannot be read."""
    try:
        return running_canary(reader, name, live.build if live is not None else None), ""
    except BuildError as error:
        return None, error.message


def live_manifest(
    name: str, aliases: Mapping[str, Mapping[str, Mapping[str, Any]]], builds: Mapping[str, Manifest]
) -> Manifest | None:
    """The build that the marker alias `{name}--live--{build8}` names."""
    marked = sorted(build for alias in aliases if (build := names.marked_build(name, alias)) is not None)
    known = [build for build in marked if build in builds]
    if len(known) > 1:
        raise BuildError(
            f"several builds are marked as live: {', '.join(known)}",
            place=name,
            remedy=f"remove the wrong `{names.marker_alias(name, '')}*` alias; `idxopt history` shows the last apply",
        )
    if marked and not known:
        raise BuildError(
            f"the live build {marked[0]} has no manifest in {names.BUILDS_INDEX}",
            place=name,
            remedy="restore that index from a snapshot, or run `idxopt destroy` and apply again",
        )
    return builds[known[0]] if known else None


def fingerprint(observed: Observed) -> dict[str, str]:
    """Digest of each thing that a plan names, by `kind:subject` (contract 6: no document counts, nothing of others)."""
    marks = {"live": observed.live.build if observed.live else ""}
    for index, state in observed.indices.items():
        if observed.owned(index):
            marks[f"index:{index}"] = digest(
                {
                    "uuid": state.uuid,
                    "settings": dict(state.settings),
                    "mappings": state.mappings,
                    "aliases": {alias: dict(options) for alias, options in state.aliases.items()},
                }
            )
    for alias, indices in observed.aliases.items():
        marks[f"alias:{alias}"] = digest({index: dict(options) for index, options in indices.items()})
    for template in observed.templates.values():
        if _ours_or_overlapping(observed.name, template):
            marks[f"template:{template.name}"] = digest(template.body)
    for pipeline, body in observed.pipelines.items():
        marks[f"pipeline:{pipeline}"] = digest(body)
    if observed.concrete is not None:
        marks[f"index:{observed.name}"] = digest({"uuid": observed.concrete.uuid})
    return marks


def moved(before: Mapping[str, str], now: Mapping[str, str], ignore: frozenset[str] = frozenset()) -> list[str]:
    """The `kind:subject` keys that differ, without those that the caller changed itself."""
    return sorted(key for key in before.keys() | now.keys() if key not in ignore and before.get(key) != now.get(key))


def _ours_or_overlapping(name: str, template: Template) -> bool:
    return any(reaches(pattern, f"{name}--") for pattern in template.patterns)


def reaches(pattern: str, prefix: str) -> bool:
    """True when some name that starts with the prefix matches the pattern (`*` stands for any text)."""
    at = {0}
    for letter in prefix:
        for place in sorted(at):  # a star may stand for nothing
            while pattern[place : place + 1] == "*":
                place += 1
                at.add(place)
        at = {
            place if pattern[place] == "*" else place + 1 for place in at if pattern[place : place + 1] in ("*", letter)
        }
    return bool(at)
