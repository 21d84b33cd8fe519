"""Trial indices of one study on one engine: built, reused while they are kept, deleted by name and uuid."""

from __future__ import annotations

import datetime as dt
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from idxopt.builds import physical
from idxopt.builds.clock import Clock
from idxopt.builds.journal import Journal, LoadedFrom
from idxopt.builds.vectors import with_vectors
from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import CompiledView, Target
from idxopt.engines.port import Engine, IndexState
from idxopt.errors import BuildError, IdxoptError
from idxopt.hashing import digest
from idxopt.models.ports import Embedder
from idxopt.operators.cache import CacheSettings
from idxopt.operators.interpreter import stored_rows
from idxopt.operators.row import StoredRow
from idxopt.operators.step_models import StepModels
from idxopt.operators.tables import Tables
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.trials.marks import PREFIX, Loaded, Mark, mark_of, trial_index
from idxopt.optimizer.trials.pace import Pace
from idxopt.optimizer.trials.settings import TrialSettings
from idxopt.program.effects import reads_tables, step_model
from idxopt.program.schema import Program
from idxopt.search.models import QueryModels, given

ModelsOf = Callable[[Program], QueryModels]


@dataclass(frozen=True, slots=True)
class TrialIndex:
    """A trial index that is there, loaded and verified."""

    uuid: str
    mark: Mark

    @property
    def name(self) -> str:
        return self.mark.index

    @property
    def loaded(self) -> Loaded:
        assert self.mark.loaded is not None  # made after verification
        return self.mark.loaded


class TrialIndices:
    """Not for several threads at once. What a killed run of the study left counts as this object's own; `close` deletes
    all of it.
    """

    def __init__(
        self,
        engine: Engine,
        corpus: Corpus,
        settings: TrialSettings,
        *,
        clock: Clock,
        steps: StepModels,
        models_of: ModelsOf | None,
    ) -> None:
        self._engine = engine
        self._corpus = corpus
        self._settings = settings
        self._clock = clock
        self._steps = steps
        self._models_of = models_of
        self._pace = Pace(settings.documents_per_s, clock)
        self._kept: OrderedDict[str, TrialIndex] = OrderedDict()
        self._taken_over = False
        found = engine.capabilities()
        # The interpreter makes every row on the client: a trial has neither pipeline nor template.
        self._target = Target(found.engine, found.bm25_factor, pipelines=False)

    @property
    def names(self) -> tuple[str, ...]:
        """The indices kept now, the one unused longest first."""
        return tuple(trial.name for trial in self._kept.values())

    def built(self, program: Program) -> dict[str, TrialIndex]:
        """The trial index of every view, built where it is not kept.

        Raises ProgramError, BuildError (the cluster has no room, the name is somebody's, rows were not stored).
        """
        if len(program.views) > self._settings.max_indices:
            raise BuildError(
                f"the program has {len(program.views)} views, and only {self._settings.max_indices} trial indices may "
                "be there at once",
                place=program.name,
                remedy="allow more trial indices, or search for fewer views",
            )
        self._take_over()
        compiled = lower(program, self._target, {}).views
        tables = self._corpus.tables(program)
        keys = {view: self._key(program, one, tables) for view, one in compiled.items()}
        for key in keys.values():
            if key in self._kept:
                self._kept.move_to_end(key)
        for view, key in keys.items():
            self._ensure(program, compiled[view], key, tables, keep=frozenset(keys.values()))
        return {view: self._kept[key] for view, key in keys.items()}

    def close(self) -> list[tuple[str, IdxoptError]]:
        """Deletes what is kept, and what a killed run left; (index, error) for each that could not be deleted."""
        failed: list[tuple[str, IdxoptError]] = []
        going = {trial.name: trial.uuid for trial in self._kept.values()}
        self._kept.clear()
        try:
            going |= {state.name: state.uuid for state, _ in self._of_this_study()}
        except IdxoptError as error:
            failed.append((f"{PREFIX}{self._settings.study}-*", error))
        for name, uuid in going.items():
            try:
                self._engine.delete_index(name, uuid)
            except IdxoptError as error:
                failed.append((name, error))
        return failed

    def _of_this_study(self) -> list[tuple[IndexState, Mark]]:
        """All that carry the study's mark and that nobody uses by an alias."""
        states = self._engine.list_indices(f"{PREFIX}{self._settings.study}-*")
        marked = [(state, mark_of(state)) for state in states if not state.aliases]
        return [(state, mark) for state, mark in marked if mark is not None and mark.study == self._settings.study]

    def _take_over(self) -> None:
        """Once, before the first program: what a killed run finished is kept, so that it counts as one of
        `max_indices`; what it did not finish goes.
        """
        if self._taken_over:
            return
        for state, mark in self._of_this_study():
            if self._usable(state, mark, None):
                self._kept[mark.key] = TrialIndex(state.uuid, mark)
            else:
                self._engine.delete_index(state.name, state.uuid)
        self._taken_over = True

    def _key(self, program: Program, compiled: CompiledView, tables: Tables) -> str:
        view = program.views[compiled.view]
        named = sorted({name for step in view.steps if (name := step_model(step)) is not None})
        return digest(
            {
                "view": compiled.view_hash,
                "corpus": self._corpus.digest,
                "tables": tables.digest if any(reads_tables(step) for step in view.steps) else None,
                "steps": [self._steps.identity(name, program.models) for name in named],
                "embedder": None if view.dense is None else self._embedder(program, view.dense.model).identity.key,
            }
        )

    def _ensure(self, program: Program, compiled: CompiledView, key: str, tables: Tables, keep: frozenset[str]) -> None:
        name = trial_index(self._settings.study, key)
        state = self._engine.get_index(name)
        if state is not None:
            mark = self._ours(state, key)
            if self._usable(state, mark, self._kept.get(key)):
                self._kept[key] = self._renewed(TrialIndex(state.uuid, mark))
                return
            self._engine.delete_index(name, state.uuid)  # unfinished, or changed since it was loaded
        self._kept.pop(key, None)
        self._make_room(keep)
        self._kept[key] = self._build(program, compiled, key, tables)

    def _ours(self, state: IndexState, key: str) -> Mark:
        """The mark of an index under a name that this study needs. Raises BuildError where it is not the study's."""
        mark = mark_of(state)
        if mark is None or state.aliases or mark.key != key:
            raise BuildError(
                "an index of this name exists that is no trial of this study",
                place=state.name,
                remedy="rename or delete it yourself, or give the study another id",
            )
        return mark

    def _usable(self, state: IndexState, mark: Mark, kept: TrialIndex | None) -> bool:
        """Whole, and as it was when it was verified: a killed run of this study may have left it, so look."""
        if mark.loaded is None:
            return False
        if kept is not None and kept.uuid == state.uuid:
            return True
        self._engine.refresh(state.name)
        stats = self._engine.stats(state.name)
        checkpoint = max(stats.checkpoints.values(), default=-1)
        return (stats.documents, stats.deleted, checkpoint) == (mark.loaded.rows, 0, mark.loaded.checkpoint)

    def _renewed(self, trial: TrialIndex) -> TrialIndex:
        """With a new time to live, once half of it is over."""
        if trial.mark.expires - self._clock.now() > dt.timedelta(seconds=self._settings.ttl_s / 2):
            return trial
        return self._marked(trial.uuid, trial.mark.renewed(self._expiry()))

    def _marked(self, uuid: str, mark: Mark) -> TrialIndex:
        self._engine.put_mapping(mark.index, {"_meta": mark.meta()})
        return TrialIndex(uuid, mark)

    def _expiry(self) -> dt.datetime:
        return self._clock.now().astimezone(dt.UTC) + dt.timedelta(seconds=self._settings.ttl_s)

    def _make_room(self, keep: frozenset[str]) -> None:
        """Deletes those unused longest until one more is allowed. Raises BuildError where the cluster has no room."""
        while len(self._kept) >= self._settings.max_indices or not self._room():
            key = next((key for key in self._kept if key not in keep), None)
            if key is None:
                raise BuildError(
                    "the cluster has no room for another shard (cluster.max_shards_per_node)",
                    place="trials",
                    remedy="delete indices that are not needed, run `idxopt sweep`, raise that setting, or search on "
                    "the embedded engine",
                )
            trial = self._kept.pop(key)
            self._engine.delete_index(trial.name, trial.uuid)

    def _room(self) -> bool:
        room = self._engine.shard_room()
        return room is None or room >= 1

    def _build(self, program: Program, compiled: CompiledView, key: str, tables: Tables) -> TrialIndex:
        now = self._clock.now().astimezone(dt.UTC)
        mark = Mark(self._settings.study, key, compiled.view_hash, now, self._expiry())
        mappings = {**compiled.index_body["mappings"], "_meta": mark.meta()}
        state = physical.create(self._engine, mark.index, {**compiled.index_body, "mappings": mappings})
        try:
            return self._loaded(program, compiled, state, mark, tables)
        except BaseException:
            with suppress(IdxoptError):
                self._engine.delete_index(state.name, state.uuid)
            raise

    def _loaded(
        self, program: Program, compiled: CompiledView, state: IndexState, mark: Mark, tables: Tables
    ) -> TrialIndex:
        counted = _Counted()
        rows = self._pace.paced(counted.counting(self._rows(program, compiled, tables)))
        about = LoadedFrom(state.name, state.uuid, self._corpus.digest, tables.digest)
        with tempfile.TemporaryDirectory(prefix="idxopt-trial-") as folder, Journal(Path(folder) / "rows") as journal:
            report = physical.load(self._engine, state, rows, journal, about, workers=self._settings.workers)
            problems = [f"row {failure.id} was not stored: {failure.reason}" for failure in report.failed]
            problems += physical.verify(self._engine, state.name, journal, vectors=compiled.dense is not None)
        if problems:
            raise BuildError(
                "; ".join(problems[:3]), place=state.name, remedy="look at the program and at the cluster's health"
            )
        checkpoint = max(self._engine.stats(state.name).checkpoints.values(), default=-1)
        return self._marked(state.uuid, replace(mark, loaded=Loaded(counted.rows, checkpoint)))

    def _rows(self, program: Program, compiled: CompiledView, tables: Tables) -> Iterator[StoredRow]:
        cache = self._settings.cache
        made = stored_rows(
            program,
            [compiled.view],
            tables,
            self._corpus.documents,
            models=self._steps,
            cache=None if cache is None else CacheSettings(cache),
        )
        rows = (row for _, by_view in made for row in by_view.get(compiled.view, ()))
        if compiled.dense is None:
            return rows
        return with_vectors(rows, compiled.dense, self._embedder(program, compiled.dense.model))

    def _embedder(self, program: Program, name: str) -> Embedder:
        models = None if self._models_of is None else self._models_of(program)
        return given(models, name).embedder(name)


class _Counted:
    """Rows, counted as they pass."""

    def __init__(self) -> None:
        self.rows = 0

    def counting(self, rows: Iterable[StoredRow]) -> Iterator[StoredRow]:
        for row in rows:
            self.rows += 1
            yield row
