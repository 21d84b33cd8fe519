"""From a method to builds that can be asked: applied like any program, once for all its pipelines."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from idxopt.builds.manifest import Manifest
from idxopt.builds.resolver import LiveBuild, live_build
from idxopt.builds.state import StateStore
from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import Target
from idxopt.deploy.apply import apply_plan
from idxopt.deploy.intent import Intent
from idxopt.deploy.observed import observe
from idxopt.deploy.options import ApplyOptions, Progress, TextOptions
from idxopt.deploy.plan import make_plan
from idxopt.engines.port import Engine
from idxopt.errors import BuildError
from idxopt.models.opening import Models
from idxopt.models.ports import Embedder, ModelIdentity, Reranker, Tokenizer
from idxopt.program.canonical import canonical, program_hash
from idxopt.program.schema import Program
from idxopt.sources import open_source

_KEPT = 100
CLUSTER = "experiment"


@dataclass(frozen=True, slots=True)
class Workplace:
    """Where an experiment is built and kept. `texts`: consent and budget for generated texts."""

    engine: Engine
    folder: Path
    cache: Path
    progress: Progress
    texts: TextOptions
    workers: int = 2


def built(program: Program, corpus: Path, models: Models, place: Workplace) -> Manifest:
    """The newest build of the program, applied where there is none yet. Raises what an apply raises."""
    wanted = view_hashes(program, place.engine)
    done = _recorded(place.engine, program, wanted)
    if done is not None:
        return done
    plan = make_plan(observe(place.engine, program.name), Intent(program=canonical(program)), cluster=CLUSTER)
    options = ApplyOptions(
        cache=place.cache, keep=_KEPT, models=models, texts=place.texts, workers=place.workers, message="experiment"
    )
    source = open_source(str(corpus), program)
    apply_plan(place.engine, plan, options, source=source, progress=place.progress)
    done = _recorded(place.engine, program, wanted)
    if done is None:
        raise BuildError("no build was recorded", place=program.name, remedy="run the experiment again")
    return done


def view_hashes(program: Program, engine: Engine) -> dict[str, str]:
    """What decides the stored rows of each view, semantics of operators included."""
    capabilities = engine.capabilities()
    target = Target(capabilities.engine, capabilities.bm25_factor, capabilities.pipelines)
    return {name: view.view_hash for name, view in lower(program, target, {}).views.items()}


def _recorded(engine: Engine, program: Program, wanted: Mapping[str, str]) -> Manifest | None:
    """The newest build of exactly this program whose indices are all there."""
    hash_ = program_hash(program)
    for manifest in reversed(StateStore(engine).manifests(program.name)):
        same = {name: view.view_hash for name, view in manifest.views.items()} == wanted
        if (
            same
            and manifest.program_hash == hash_
            and all(_there(engine, one.index) for one in manifest.views.values())
        ):
            return manifest
    return None


def _there(engine: Engine, index: str) -> bool:
    return engine.get_index(index) is not None


def searchable(manifest: Manifest, program: Program, engine: Engine) -> LiveBuild:
    """The build's indices, searched as another program over the same views says (weights, reranking)."""
    return live_build(manifest.model_copy(update={"program": canonical(program)}), engine)


class RememberedReranker:
    """A reranker that scores a pair of query and text once, whatever method found it."""

    def __init__(self, inner: Reranker) -> None:
        self._inner = inner
        self._scores: dict[tuple[str, bytes], float] = {}

    @property
    def identity(self) -> ModelIdentity:
        return self._inner.identity

    @property
    def max_tokens(self) -> int | None:
        return self._inner.max_tokens

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """As the reranker. Raises ModelError."""
        keys = [(query, hashlib.blake2b(text.encode("utf-8", "surrogatepass")).digest()) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._scores}
        if missing:
            scores = self._inner.score(query, list(missing.values()))
            self._scores.update(zip(missing, scores, strict=True))
        return [self._scores[key] for key in keys]

    def forget(self) -> None:
        """Frees the scores: another collection has other texts."""
        self._scores.clear()


class SharedModels:
    """The models of all methods for searching (`search.QueryModels`)."""

    def __init__(self, models: Models) -> None:
        self._models = models
        self._rerankers: dict[str, RememberedReranker] = {}

    def embedder(self, name: str) -> Embedder:
        return self._models.embedder(name)

    def forget(self) -> None:
        """Frees what the rerankers remember."""
        for reranker in self._rerankers.values():
            reranker.forget()

    def reranker(self, name: str) -> RememberedReranker:
        if name not in self._rerankers:
            self._rerankers[name] = RememberedReranker(self._models.reranker(name))
        return self._rerankers[name]

    def tokenizer(self, name: str) -> Tokenizer:
        return self._models.tokenizer(name)
