"""Building physical indices:

one snapshot of the source, one set of frozen tables, then each view created, loaded, verified.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from idxopt import __version__
from idxopt.builds import names, physical
from idxopt.builds.journal import Journal, LoadedFrom
from idxopt.builds.lock import Lock
from idxopt.builds.manifest import Manifest, SourceSnapshot, TablesRecord, ViewBuild, sealed
from idxopt.builds.state import StateStore, StateWriter
from idxopt.compiler.lowered import CompiledView
from idxopt.deploy.embedding import embedded
from idxopt.deploy.gates import QualityReport, sample_gate
from idxopt.deploy.generation import Writing, ledger_of_texts
from idxopt.deploy.intent import Plan
from idxopt.deploy.ledger import Ledger, ledger_of
from idxopt.deploy.lowering import Lowered, frozen_tables, with_tables
from idxopt.deploy.observed import Observed
from idxopt.deploy.options import ApplyOptions, Progress, TextsMade
from idxopt.deploy.remaking import Remaking
from idxopt.engines.port import Engine, IndexState
from idxopt.errors import BuildError
from idxopt.operators.cache import CacheSettings
from idxopt.operators.interpreter import Rejected, stored_rows
from idxopt.operators.row import StoredRow
from idxopt.operators.tables import EMPTY_TABLES, Tables, build_tables, tables_needed
from idxopt.program.canonical import canonical
from idxopt.sources.snapshot import Snapshot, take_snapshot
from idxopt.sources.source import Source

SAMPLE = 20
"""Documents that the sample gate compares."""
START_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True)
class Loaded:
    """What was built:

    (uuid, rows) by view. `ledger` of the primary index where it was built. `reasons`: why a gate must refuse.
    `warnings`: what to tell of a build that is as it should be.
    """

    views: Mapping[str, tuple[str, int]] = field(default_factory=dict)
    snapshot: SourceSnapshot | None = None
    tables: TablesRecord | None = None
    ledger: Ledger | None = None
    reasons: tuple[str, ...] = ()
    generated: TextsMade = field(default_factory=TextsMade)
    warnings: tuple[str, ...] = ()

    @property
    def rows(self) -> dict[str, int]:
        return {view: rows for view, (_, rows) in self.views.items()}


class Loader:
    """Loads the views of one plan."""

    def __init__(
        self,
        engine: Engine,
        store: StateWriter,
        lowered: Lowered,
        observed: Observed,
        options: ApplyOptions,
        progress: Progress,
        lock: Lock,
    ) -> None:
        self._engine = engine
        self._store = store
        self._lowered = lowered
        self._observed = observed
        self._options = options
        self._progress = progress
        self._lock = lock
        self._rejected: list[Rejected] = []
        self._cut: dict[str, int] = {}
        self._writing = Writing.of(lowered.program, options, progress, lock.check)
        self._folder: Path = options.cache / "loads" / observed.capabilities.cluster_uuid / observed.name

    def load(self, source: Source, views: Sequence[str]) -> Loaded:
        """Reads the source once for checking, then makes every view from the same documents."""
        self._progress.stage("read")
        snapshot = take_snapshot(
            source,
            self._folder,
            allow_rejected=self._options.allow_rejected,
            on_progress=lambda done: self._progress.advance("read", done, 0),
        )
        try:
            return self._load(snapshot, views)
        finally:
            snapshot.discard()

    def _load(self, snapshot: Snapshot, views: Sequence[str]) -> Loaded:
        tables, record = self._tables(snapshot, views)
        self._put_pipelines(tables, views)
        about = ledger_of_texts(self._lowered.compiled.program_hash, snapshot.digest)
        generated = self._writing.write(views, tables, snapshot.documents, about)
        built: dict[str, tuple[str, int]] = {}
        reasons: list[str] = []
        ledger: Ledger | None = None
        for view in views:
            compiled = self._lowered.compiled.views[view]
            with Journal(self._folder / f"{compiled.index}.sqlite") as journal:
                state, problems = self._view(compiled, snapshot, tables, journal)
                reasons += problems
                built[view] = (state.uuid, journal.documents)
                if view == self._lowered.program.primary:
                    ledger = ledger_of(journal.rows())
        refused = {reject.doc_id for reject in self._rejected}
        sample = list(islice((one for one in snapshot.documents() if one.id not in refused), SAMPLE))
        served = {view: self._lowered.compiled.views[view] for view in views}
        reasons += self._rejections(snapshot)
        made = Remaking(self._lowered.program, tables, self._writing.steps, self._options.models)
        reasons += sample_gate(self._engine, made, served, sample)
        warnings = tuple(
            f"view {view}: {cut} of {built[view][1]} texts were longer than the model reads and were cut to be embedded"
            for view, cut in self._cut.items()
            if cut
        )
        return Loaded(built, _record(snapshot), record, ledger, tuple(reasons), generated, warnings)

    def _put_pipelines(self, tables: Tables, views: Sequence[str]) -> None:
        """Pipelines that carry the tables can be made only now."""
        self._lowered = with_tables(self._lowered, tables)
        for view in views:
            compiled = self._lowered.compiled.views[view]
            if compiled.pipeline_tables and compiled.pipeline_name is not None and compiled.pipeline is not None:
                self._lock.check()
                self._engine.put_pipeline(compiled.pipeline_name, compiled.pipeline)

    def _rejections(self, snapshot: Snapshot) -> list[str]:
        """Documents that the interpreter could not transform count like those that could not be read."""
        ids = {reject.doc_id for reject in self._rejected}
        if len(ids) + snapshot.rejects.count <= self._options.allow_rejected:
            return []
        return [f"document {reject.doc_id} was rejected: {reject.reason}" for reject in self._rejected]

    def _view(
        self, view: CompiledView, snapshot: Snapshot, tables: Tables, journal: Journal
    ) -> tuple[IndexState, list[str]]:
        self._lock.check()
        state = self._created(view, snapshot, tables, journal)
        about = LoadedFrom(view.index, state.uuid, snapshot.digest, tables.digest)
        if view.dense is None:
            self._progress.stage(f"load {view.view}")
        report = physical.load(
            self._engine,
            state,
            self._with_vectors(view, snapshot, self._rows(view, snapshot, tables)),
            journal,
            about,
            workers=self._options.workers,
            on_progress=None if view.dense else lambda done: self._progress.advance(f"load {view.view}", done, 0),
        )
        reasons = [f"{view.index}: row {failure.id} was not stored: {failure.reason}" for failure in report.failed]
        self._lock.check()
        self._progress.stage(f"verify {view.view}")
        self._engine.refresh(view.index)
        self._engine.update_settings(view.index, view.served_settings)
        self._engine.wait_started(view.index, START_TIMEOUT_S)
        return state, reasons + physical.verify(self._engine, view.index, journal, vectors=view.dense is not None)

    def _created(self, view: CompiledView, snapshot: Snapshot, tables: Tables, journal: Journal) -> IndexState:
        """A fresh index, or the unfinished one of a run that was killed while loading the very same documents."""
        state = self._engine.get_index(view.index)
        if state is not None:
            if state.aliases or not names.owned(state):
                raise physical.taken(view.index, state)
            if physical.can_resume(journal, LoadedFrom(view.index, state.uuid, snapshot.digest, tables.digest)):
                return state
            self._engine.delete_index(view.index, state.uuid)
        return physical.create(self._engine, view.index, view.index_body)

    def _rows(self, view: CompiledView, snapshot: Snapshot, tables: Tables) -> Iterator[StoredRow]:
        made = stored_rows(
            self._lowered.program,
            [view.view],
            tables,
            snapshot.documents(),
            models=self._writing.steps,
            workers=self._options.workers,
            cache=CacheSettings(self._options.cache / "rows"),
            on_reject=self._rejected.append,
        )
        for _, rows in made:
            self._lock.check()  # a run that was stopped and superseded must not write on
            yield from rows.get(view.view, ())

    def _with_vectors(self, view: CompiledView, snapshot: Snapshot, rows: Iterator[StoredRow]) -> Iterator[StoredRow]:
        """Embedded as they come; the engine loads each batch meanwhile, so embedding is the progress to show."""
        if view.dense is None:
            yield from rows
            return
        stage, total = f"embed {view.view}", 0 if view.many_rows else snapshot.count
        self._progress.stage(stage)
        self._cut[view.view] = 0

        def count(cut: int) -> None:
            self._cut[view.view] += cut

        yield from embedded(
            rows, view.dense, self._options.models, lambda done: self._progress.advance(stage, done, total), count
        )
        self._progress.stage(f"load {view.view}")

    def _tables(self, snapshot: Snapshot, views: Sequence[str]) -> tuple[Tables, TablesRecord | None]:
        """The frozen tables, or new ones: where there are none, or where they are lost and every view is made anew."""
        if not tables_needed(self._lowered.program):
            return EMPTY_TABLES, None
        record = frozen_tables(self._observed, self._lowered)
        name = self._observed.name
        part = len(views) < len(self._lowered.program.views)
        if record is not None and (part or self._store.has_tables(name, record.digest)):
            return Tables.from_json(self._store.tables(name, record.digest)), record
        self._progress.stage("corpus tables")
        tables = build_tables(self._lowered.program, snapshot.documents(), workers=self._options.workers)
        self._store.put_tables(self._observed.name, tables.digest, tables.to_json())
        return tables, TablesRecord(digest=tables.digest, documents=tables.documents, created=self._store.now())


def tables_of(store: StateStore, manifest: Manifest) -> Tables:
    """The frozen tables of a recorded build."""
    if manifest.tables is None:
        return EMPTY_TABLES
    return Tables.from_json(store.tables(manifest.name, manifest.tables.digest))


def new_manifest(
    observed: Observed,
    lowered: Lowered,
    loaded: Loaded,
    plan: Plan,
    options: ApplyOptions,
    who: str,
    report: QualityReport | None,
    now: str,
) -> Manifest:
    """The manifest of what is there now: built views, and reused ones as they were recorded."""
    views = {}
    for view, compiled in lowered.compiled.views.items():
        if view in loaded.views:
            uuid, rows = loaded.views[view]
        elif (known := observed.recorded(compiled.index)) is not None:
            uuid, rows = known.uuid, known.rows
        elif plan.intent.only:
            continue
        else:
            raise BuildError("is part of the build, but not recorded", place=compiled.index, remedy="run apply again")
        views[view] = ViewBuild(index=compiled.index, view_hash=compiled.view_hash, uuid=uuid, rows=rows)
    live = observed.live
    snapshot = loaded.snapshot or _source_of(observed, views, lowered.program.primary)
    tables = loaded.tables or (frozen_tables(observed, lowered) if tables_needed(lowered.program) else None)
    manifest: dict[str, Any] = {
        "build": "",
        "name": observed.name,
        "program": canonical(lowered.program),
        "program_hash": lowered.compiled.program_hash,
        "primary": lowered.program.primary,
        "views": views,
        "generations": dict(lowered.generations),
        "tables": tables,
        "source": snapshot,
        "created": now,
        "by": who,
        "message": options.message,
        "metrics": report.metrics if report else {},
        "previous": live.build if live else None,
        "idxopt": __version__,
        "engine": f"{observed.capabilities.engine} {observed.capabilities.version}",
    }
    return sealed(Manifest(**manifest))


def _source_of(observed: Observed, views: Mapping[str, ViewBuild], primary: str) -> SourceSnapshot:
    """Where reused rows came from: as the live build says of its own, else what the build read that made the primary
    index.
    """
    live = observed.live
    if live is not None and live.primary in views and views[live.primary].index == live.views[live.primary].index:
        return live.source
    for view in sorted(views, key=lambda view: view != primary):
        build = observed.builder(views[view].index)
        if build is not None:
            return build.source
    raise BuildError(
        "no recorded build says where the documents came from", place=observed.name, remedy="apply with --rebuild"
    )


def _record(snapshot: Snapshot) -> SourceSnapshot:
    return SourceSnapshot(
        kind=snapshot.source.kind,
        place=snapshot.source.place,
        marks=snapshot.marks,
        documents=snapshot.count,
        digest=snapshot.digest,
    )
