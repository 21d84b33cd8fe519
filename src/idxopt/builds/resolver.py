"""Which build is live: the marker alias names it, its manifest says the rest."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from idxopt.builds import names
from idxopt.builds.clock import Clock, SystemClock
from idxopt.builds.manifest import Manifest
from idxopt.builds.state import StateStore
from idxopt.compiler.legs import legs
from idxopt.compiler.lowered import Leg, Target
from idxopt.engines.port import Reader
from idxopt.errors import BuildError
from idxopt.program.schema import Program
from idxopt.program.validate import program_from

CACHE_S = 5.0
"""Longest time that a reader may use a build after another one went live (contract 3)."""


@dataclass(frozen=True, slots=True)
class LiveBuild:
    """A build ready to be searched. `indices`: physical index by view.

    `damage`: one sentence for each thing that somebody changed about its aliases; searches go to physical indices and
    still work.
    """

    manifest: Manifest
    program: Program
    legs: tuple[Leg, ...]
    indices: Mapping[str, str]
    damage: tuple[str, ...] = ()


class Resolver:
    """Finds the live build of a name; asks the engine at most once in `ttl` seconds. Safe to share between threads."""

    def __init__(self, engine: Reader, name: str, *, clock: Clock | None = None, ttl: float = CACHE_S) -> None:
        self._engine = engine
        self._name = name
        self._clock = clock or SystemClock()
        self._ttl = ttl
        self._store = StateStore(engine)
        self._guard = threading.Lock()
        self._asked: float | None = None
        self._live: LiveBuild | None = None

    @property
    def name(self) -> str:
        return self._name

    def live(self) -> LiveBuild | None:
        """The live build, None before the first apply. Raises BuildError when the marks contradict each other."""
        with self._guard:
            now = self._clock.monotonic()
            if self._asked is None or now - self._asked >= self._ttl:
                self._live = self._resolve()
                self._asked = now
            return self._live

    def invalidate(self) -> None:
        """Forgets the cached answer: an index turned out to be gone."""
        with self._guard:
            self._asked = None

    def _resolve(self) -> LiveBuild | None:
        marked = marked_builds(self._engine, self._name)
        if not marked:
            return None
        if len(marked) > 1:  # a marker of a build that was never recorded is somebody's: planning passes it over too
            known = {build: on for build, on in marked.items() if self._store.manifest(self._name, build) is not None}
            marked = known or marked
        if len(marked) > 1:
            raise BuildError(
                f"several builds are marked as live: {', '.join(sorted(marked))}",
                place=self._name,
                remedy=f"remove the wrong `{names.marker_alias(self._name, '')}*` alias; "
                "`idxopt history` shows the last apply",
            )
        build, indices = next(iter(marked.items()))
        damage = _damage(self._name, indices, self._engine)
        cached = self._live
        if cached is not None and cached.manifest.build == build and not damage and not cached.damage:
            return cached
        manifest = self._store.manifest(self._name, build)
        if manifest is None:
            raise BuildError(
                f"the live build {build} has no manifest in {names.BUILDS_INDEX}",
                place=self._name,
                remedy="restore that index from a snapshot, or run `idxopt destroy` and apply again",
            )
        lacking = sorted({view.index for view in manifest.views.values()} - indices)
        damage += tuple(f"the marker alias of build {build} is not on {index}" for index in lacking)
        return live_build(manifest, self._engine, damage)


def marked_builds(engine: Reader, name: str) -> dict[str, set[str]]:
    """Build id to the indices that its marker alias is on. One build, unless somebody meddled; none before the first
    apply.
    """
    found: dict[str, set[str]] = {}
    for alias, indices in engine.aliases(f"{names.marker_alias(name, '')}*").items():
        build = names.marked_build(name, alias)
        if build is not None:
            found[build] = set(indices)
    return found


def live_build(manifest: Manifest, engine: Reader, damage: tuple[str, ...] = ()) -> LiveBuild:
    """A build made searchable from its manifest alone; also for builds that are not live (`compare`, gates)."""
    program = program_from(manifest.program, f"build {manifest.build}")
    capabilities = engine.capabilities()
    target = Target(capabilities.engine, capabilities.bm25_factor, capabilities.pipelines)
    indices = {view: built.index for view, built in manifest.views.items()}
    return LiveBuild(manifest, program, legs(program, indices, target), indices, damage)


def _damage(name: str, indices: set[str], engine: Reader) -> tuple[str, ...]:
    public = engine.aliases(name).get(name, {})
    if not public:
        return (f"the alias {name} is missing",)
    return tuple(
        f"the alias {name} is on {index}, which is not of the live build" for index in sorted(set(public) - indices)
    )
