"""Which build is live: the marker alias names it, its manifest says the rest."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass

from idxopt.builds import names
from idxopt.builds.canary import Canary, running_canary
from idxopt.builds.clock import Clock, SystemClock
from idxopt.builds.manifest import Manifest
from idxopt.builds.state import StateStore
from idxopt.compiler.legs import legs
from idxopt.compiler.lowered import Leg, Target
from idxopt.engines.port import Reader
from idxopt.errors import BuildError, IdxoptError
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


@dataclass(frozen=True, slots=True)
class CanaryBuild:
    """A canary in force. `build`: the candidate, None where it cannot be searched (`trouble` says why)."""

    canary: Canary
    build: LiveBuild | None
    trouble: str = ""


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
        self._asked_canary: float | None = None
        self._canary: CanaryBuild | None = None

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

    def canary(self) -> CanaryBuild | None:
        """The canary beside the live build, cached like it; None where there is none in force.

        A record that cannot be read counts as none: the live build answers, and `idxopt canary status` says what is
        wrong.
        """
        live = self.live()
        with self._guard:
            now = self._clock.monotonic()
            if self._asked_canary is None or now - self._asked_canary >= self._ttl:
                self._canary = self._resolve_canary(live)
                self._asked_canary = now
            found = self._canary
        in_force = found is not None and live is not None and found.canary.incumbent == live.manifest.build
        return found if in_force else None

    def invalidate(self) -> None:
        """Forgets the cached answers: an index turned out to be gone."""
        with self._guard:
            self._asked = self._asked_canary = None

    def _resolve_canary(self, live: LiveBuild | None) -> CanaryBuild | None:
        try:
            canary = running_canary(self._engine, self._name, live.manifest.build if live is not None else None)
        except IdxoptError:
            return None
        if canary is None:
            return None
        cached = self._canary
        if cached is not None and cached.canary == canary and cached.build is not None:
            return cached
        return canary_build(canary, self._engine)

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


def canary_build(canary: Canary, engine: Reader) -> CanaryBuild:
    """The candidate made searchable, or why it cannot be."""
    try:
        manifest = StateStore(engine).manifest(canary.name, canary.candidate)
        if manifest is None:
            return CanaryBuild(canary, None, f"build {canary.candidate} is not recorded any more")
        return CanaryBuild(canary, live_build(manifest, engine))
    except IdxoptError as error:
        return CanaryBuild(canary, None, error.message)


def _damage(name: str, indices: set[str], engine: Reader) -> tuple[str, ...]:
    public = engine.aliases(name).get(name, {})
    if not public:
        return (f"the alias {name} is missing",)
    return tuple(
        f"the alias {name} is on {index}, which is not of the live build" for index in sorted(set(public) - indices)
    )
