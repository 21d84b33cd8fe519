"""Destroy: everything of a name that is ours goes, and nothing else (contract 7)."""

from __future__ import annotations

from dataclasses import dataclass

from idxopt.builds import names
from idxopt.builds.canary import delete_canary
from idxopt.builds.lock import Lock, LockSettings
from idxopt.builds.state import Event, StateWriter
from idxopt.builds.switches import delete_switch, read_switch
from idxopt.deploy.collect import unused
from idxopt.deploy.commit import removal
from idxopt.deploy.observed import Observed, observe
from idxopt.engines.port import Engine
from idxopt.errors import BuildError


@dataclass(frozen=True, slots=True)
class Destruction:
    """What destroy removes. `foreign`: things of that name that are not ours and stay."""

    name: str
    aliases: tuple[tuple[str, str], ...]
    indices: tuple[tuple[str, str], ...]
    templates: tuple[str, ...]
    pipelines: tuple[str, ...]
    builds: tuple[str, ...]
    foreign: tuple[str, ...]

    @property
    def empty(self) -> bool:
        return not (self.aliases or self.indices or self.templates or self.pipelines or self.builds)


def destruction(observed: Observed) -> Destruction:
    """What would be removed. Pure."""
    ours = [index for index in observed.indices if observed.owned(index)]
    actions = removal(observed)
    prefix = names.view_alias(observed.name, "")
    return Destruction(
        name=observed.name,
        aliases=tuple((str(action.alias), action.index) for action in actions),
        indices=tuple((index, observed.indices[index].uuid) for index in ours),
        templates=tuple(
            template.name
            for template in observed.templates.values()
            if template.name.startswith(prefix) and names.ours(template.body.get("_meta"))
        ),
        pipelines=tuple(name for name, body in observed.pipelines.items() if names.our_pipeline(body)),
        builds=tuple(observed.builds),
        foreign=tuple(index for index in observed.indices if index not in ours),
    )


def destroy(engine: Engine, name: str, *, settings: LockSettings) -> Destruction:
    """Removes it all under the lock: aliases first and at once, then indices, pipelines, templates, records.

    Killed in between, running it again goes on. Raises BuildError when there is nothing of that name.
    """
    if destruction(observe(engine, name, trust=False)).empty:
        raise BuildError("there is nothing of ours under this name", place=name, remedy="see `idxopt status`")
    store = StateWriter(engine)
    with Lock(engine, name, "destroy", settings=settings) as lock:
        observed = observe(engine, name, trust=False)
        plan = destruction(observed)
        engine.update_aliases([*removal(observed), lock.fence_removal()])
        for index, uuid in plan.indices:
            lock.check()
            engine.delete_index(index, uuid)
        for pipeline in unused(engine, plan.pipelines):
            engine.delete_pipeline(pipeline)
        for template in plan.templates:
            engine.delete_template(template)
        delete_canary(engine, name)
        for build in plan.builds:
            _forget(engine, store, name, build)
        store.append(Event(name=name, what="destroy", at=store.now(), who=lock.record.who))
    return plan


def _forget(engine: Engine, store: StateWriter, name: str, build: str) -> None:
    manifest = store.manifest(name, build)
    if manifest is not None and manifest.tables is not None:
        store.delete_tables(name, manifest.tables.digest)
    record = read_switch(engine, name, build)
    if record is not None:
        store.delete_tables(name, record.ledger)
        delete_switch(engine, name, build)
    store.delete_manifest(name, build)
