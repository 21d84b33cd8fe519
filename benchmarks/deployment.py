"""Programs put live the way `idxopt apply` does it, on whichever engine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from idxopt.builds.lock import LockSettings
from idxopt.builds.resolver import Resolver
from idxopt.deploy.apply import apply_plan
from idxopt.deploy.destroy import destroy
from idxopt.deploy.intent import Intent
from idxopt.deploy.observed import observe
from idxopt.deploy.options import Applied, ApplyOptions, Progress
from idxopt.deploy.plan import make_plan
from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import Engine
from idxopt.models.opening import Models
from idxopt.program.canonical import canonical
from idxopt.program.schema import Program
from idxopt.program.validate import program_from
from idxopt.search import Searcher
from idxopt.sources.opening import open_source
from tests.nodes.launcher import node

WORKERS = 2
"""As in a cluster profile that says nothing."""


def program(name: str, views: Mapping[str, Any], **rest: Any) -> Program:
    """A program over `title` and `text`, checked like one from a file."""
    value = {"schema": "idxopt/1", "name": name, "views": dict(views), **rest}
    value.setdefault("source", {"fields": {"title": "title", "body": "text"}})
    value.setdefault("primary", next(iter(views)))
    return program_from(value, f"benchmark program {name}")


def apply(
    engine: Engine,
    wanted: Program,
    place: str,
    cache: Path,
    *,
    workers: int = WORKERS,
    progress: Progress | None = None,
    models: Models | None = None,
) -> Applied:
    """Plan and apply."""
    plan = make_plan(observe(engine, wanted.name), Intent(program=canonical(wanted)), cluster="benchmark")
    source = open_source(place, wanted, engine=engine)
    options = ApplyOptions(cache=cache, workers=workers, grace_s=0.0, models=models)
    return apply_plan(engine, plan, options, source=source, progress=progress)


@contextmanager
def engines(folder: Path, versions: Sequence[str]) -> Iterator[dict[str, Engine]]:
    """The embedded engine, and a node of each version, by name."""
    with ExitStack() as stack:
        opened: dict[str, Engine] = {"embedded": EmbeddedEngine(folder / "engine")}
        for version in versions:
            url = stack.enter_context(node(version))
            opened[version] = stack.enter_context(OpenSearchEngine.connect(url, timeout_s=120.0))
        yield opened


def remove(engine: Engine, name: str) -> None:
    """Everything of that name goes; a node that was named in the environment may be used again."""
    destroy(engine, name, settings=LockSettings())


@contextmanager
def deployed(
    engine: Engine, wanted: Program, place: str, cache: Path, *, models: Models | None = None
) -> Iterator[Searcher]:
    """The program, live for as long as the block runs."""
    apply(engine, wanted, place, cache, models=models)
    try:
        yield Searcher(engine, Resolver(engine, wanted.name), models=models)
    finally:
        remove(engine, wanted.name)
