"""The application's writes on the way from one build to another:

checked before, carried around, recorded at the switch (contract 8).
"""

from __future__ import annotations

from collections.abc import Sequence

from idxopt.builds.manifest import Manifest
from idxopt.builds.state import StateWriter
from idxopt.builds.switches import SwitchRecord, read_switch, write_switch
from idxopt.deploy.generation import Writing, ledger_of_texts
from idxopt.deploy.intent import TextsEstimate
from idxopt.deploy.ledger import NO_WRITES, Ledger, Writes, read_ledger
from idxopt.deploy.loading import tables_of
from idxopt.deploy.options import ApplyOptions, Progress
from idxopt.deploy.remaking import Remaking
from idxopt.deploy.writes import (
    Baseline,
    CarryTarget,
    carry,
    known_ledger,
    record_switch,
    switch_baseline,
    writes_since_switch,
)
from idxopt.engines.port import Engine
from idxopt.errors import GateRefused
from idxopt.operators.row import Document
from idxopt.program.validate import program_from


class Transfer:
    """Writes of the live build while another one takes its place.

    `writes`: what was carried or knowingly left behind.
    """

    def __init__(
        self, engine: Engine, store: StateWriter, live: Manifest | None, options: ApplyOptions, progress: Progress
    ) -> None:
        self._engine = engine
        self._store = store
        self._live = live
        self._options = options
        self._progress = progress
        self._replaced = False
        self._carried: Baseline | None = None
        self.writes: Writes = NO_WRITES

    def check(self, primary_index: str) -> None:
        """Before the first write. Raises GateRefused when applications wrote and nobody said what becomes of it."""
        live = self._live
        self._replaced = live is not None and live.views[live.primary].index != primary_index
        if live is None or not self._replaced or self._options.discard_writes:
            return
        if not self._old_is_there():
            return
        self._engine.refresh(live.views[live.primary].index)
        self.writes = writes_since_switch(self._engine, live)
        if self.writes.total and not self._options.carry_writes:
            raise GateRefused(
                f"applications made {self.writes} writes through the alias since build {live.build} went live",
                place=live.name,
                remedy="--carry-writes brings them into the new build, --discard-writes leaves them behind",
            )

    def carry(self, target: Manifest) -> None:
        """Right before the switch."""
        if not self._wanted():
            return
        assert self._live is not None
        since = switch_baseline(self._engine, self._live)
        self.writes, self._carried = carry(self._engine, since, self._target(target))

    def record(self, target: Manifest, ledger: Ledger | None) -> None:
        """Remembers what the primary index holds as readers move to it.

        A build that keeps the primary index keeps its record: writes since the earlier switch still belong to no build.
        """
        if self._live is not None and not self._replaced:
            record = read_switch(self._engine, self._live.name, self._live.build)
            if record is not None and record.uuid == target.views[target.primary].uuid:  # not made anew meanwhile
                same = SwitchRecord(target.build, record.index, record.uuid, record.checkpoints, record.ledger)
                write_switch(self._engine, target.name, same)
                return
        index = target.views[target.primary].index
        if ledger is None or self.writes.total:
            ledger = None if self.writes.total else known_ledger(self._engine, target)
        record_switch(self._engine, self._store, target, ledger or read_ledger(self._engine, index))

    def carry_late(self, target: Manifest) -> None:
        """Right after the switch: writes that reached the old index between `carry` and the switch, and only those.

        A document that an application wrote in both builds within that moment keeps its last version of the old one.
        """
        if self._carried is None or not self._old_is_there():
            return
        late, _ = carry(self._engine, self._carried, self._target(target))
        self.writes = Writes(
            self.writes.inserted + late.inserted,
            self.writes.updated + late.updated,
            self.writes.deleted + late.deleted,
        )

    def _agreed(self, estimates: Sequence[TextsEstimate]) -> None:
        """Raises GateRefused where texts of carried writes are missing, and nobody agreed to have them made."""
        if self._options.texts.for_writes:
            return
        assert self._live is not None
        texts = " and ".join(f"{one.texts} by {one.model} ({one.id})" for one in estimates)
        raise GateRefused(
            f"writes that are carried need texts that are not in the store and would have to be generated ({texts}, or "
            "more)",
            place=self._live.name,
            remedy="add --yes (or --budget MONEY, where the command has it) to have them made, or leave the writes "
            "behind with --discard-writes",
        )

    def _wanted(self) -> bool:
        return self._replaced and not self._options.discard_writes and self._old_is_there()

    def _old_is_there(self) -> bool:
        assert self._live is not None
        place = self._live.views[self._live.primary]
        state = self._engine.get_index(place.index)
        return state is not None and state.uuid == place.uuid

    def _target(self, target: Manifest) -> CarryTarget:
        program, tables = program_from(target.program, f"build {target.build}"), tables_of(self._store, target)
        writing = Writing.of(program, self._options, self._progress, lambda: None)
        about = ledger_of_texts(target.program_hash, target.source.digest)  # the load's own: one budget for both

        def prepare(documents: Sequence[Document]) -> None:
            writing.write(list(target.views), tables, lambda: documents, about, consent=self._agreed)

        return CarryTarget(
            remaking=Remaking(program, tables, writing.steps, self._options.models),
            indices={view: (built.index, built.uuid) for view, built in target.views.items()},
            prepare=prepare,
        )
