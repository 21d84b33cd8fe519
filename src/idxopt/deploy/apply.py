"""Apply:

walks the steps of a plan under the lock (contract 7). Killed at any point, the old build serves and apply again
finishes.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from idxopt.builds.lock import Lock
from idxopt.builds.manifest import Manifest
from idxopt.builds.resolver import live_build
from idxopt.builds.state import Event, StateWriter
from idxopt.compiler.lowered import Compiled, CompiledView
from idxopt.deploy import aliases
from idxopt.deploy.aliases import AliasKey
from idxopt.deploy.beside import drop_stale, end_canary, refuse_beside
from idxopt.deploy.collect import collect, find_garbage
from idxopt.deploy.commit import present_in_namespace, switch
from idxopt.deploy.embedding import check_plan
from idxopt.deploy.gates import QualityReport, effective_gate, quality_gate, refuse
from idxopt.deploy.intent import Plan
from idxopt.deploy.loading import Loaded, Loader, new_manifest
from idxopt.deploy.lowering import Lowered, compile_plan
from idxopt.deploy.observed import BUILT, Observed, fingerprint, moved, observe
from idxopt.deploy.options import Applied, ApplyOptions, Progress, Quiet
from idxopt.deploy.steps import (
    BuildIndex,
    PutPipeline,
    PutTemplate,
    RestoreMeta,
    RestoreSettings,
    Step,
    Switch,
    touches,
)
from idxopt.deploy.templates import wanted_template
from idxopt.deploy.transfer import Transfer
from idxopt.engines.port import Engine
from idxopt.errors import BuildError, IdxoptError, StalePlanError
from idxopt.program.effects import view_fields
from idxopt.program.validate import program_from
from idxopt.sources.source import Source


def apply_plan(
    engine: Engine, plan: Plan, options: ApplyOptions, *, source: Source | None = None, progress: Progress | None = None
) -> Applied:
    """Does what the plan shows, or refuses before its first write.

    `source` is needed when the plan builds an index. Raises StalePlanError (something that the plan names moved),
    LockedError, GateRefused (the old build still serves), ModelError and engine errors; running it again goes on where
    it stopped.
    """
    started = time.monotonic()
    if plan.empty:
        return Applied(build=plan.live, previous=None)
    check_apply(engine, plan, options, source)
    operation = "rollback" if plan.target else "apply"
    with Lock(engine, plan.name, operation, settings=options.lock, on_wait=options.on_wait) as lock:
        applied = ApplyRun(engine, plan, options, source, progress or Quiet(), lock).run()
    return replace(applied, seconds=time.monotonic() - started)


def check_apply(engine: Engine, plan: Plan, options: ApplyOptions, source: Source | None) -> None:
    """What can be refused before the lock is taken."""
    if plan.builds and source is None:
        raise BuildError(
            "the plan builds an index, but no documents were named",
            place=plan.name,
            remedy="give --source PLACE, or set `source` in the cluster's profile",
        )
    check_plan(plan, options, engine.capabilities())


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that comes before the switch. `manifest` None: no readers will move. `present`: the aliases as they are."""

    loaded: Loaded
    report: QualityReport | None
    manifest: Manifest | None
    present: Mapping[AliasKey, Mapping[str, Any]]


class ApplyRun:
    """One apply under the lock."""

    def __init__(
        self, engine: Engine, plan: Plan, options: ApplyOptions, source: Source | None, progress: Progress, lock: Lock
    ) -> None:
        self.engine = engine
        self.plan = plan
        self.options = options
        self.source = source
        self.progress = progress
        self.lock = lock
        self.store = StateWriter(engine)
        self.observed: Observed = observe(engine, plan.name)
        self._unmoved(self.observed, frozenset())
        self.lowered: Lowered = compile_plan(self.observed, plan)
        self.transfer = Transfer(engine, self.store, self.observed.live, options, self.progress)

    @property
    def compiled(self) -> Compiled:
        return self.lowered.compiled

    def run(self) -> Applied:
        """All steps in order; the switch last."""
        refuse_beside(self.observed, self.plan)
        prepared = self.prepare()
        loaded, report, manifest = prepared.loaded, prepared.report, prepared.manifest
        if manifest is None:
            return self._finish_without_switch(loaded)
        self._switch(manifest, prepared.present)
        warnings = [*loaded.warnings, *self._of_judgments(report), *self._after_commit(manifest)]
        collected = self._collect(warnings)
        return Applied(
            build=manifest.build,
            previous=self.plan.live or None,
            rows=loaded.rows,
            writes=self.transfer.writes,
            collected=collected,
            metrics=report.metrics if report else {},
            warnings=tuple(warnings),
            generated=loaded.generated,
        )

    def prepare(self) -> Prepared:
        """Everything before the switch: built, checked, recorded. A refusal puts the templates back."""
        plan = self.plan
        if plan.switches:
            self.transfer.check(self._primary_index())
        self.store.ensure()
        self.lock.check()
        drop_stale(self.engine, self.observed)
        for step in plan.steps:
            self.lock.check()
            self._in_place(step)
        try:
            loaded = self._load()
            report = self._quality(loaded)
            manifest = self._manifest(loaded, report) if plan.switches else None
            present = self._record(manifest, loaded) if manifest is not None else {}
        except BaseException:
            self._put_templates_back()
            raise
        return Prepared(loaded, report, manifest, present)

    # Before the commit.

    def _unmoved(self, observed: Observed, ignore: frozenset[str]) -> None:
        changed = moved(self.plan.marks, fingerprint(observed), ignore)
        if changed:
            more = f" and {len(changed) - 5} more" if len(changed) > 5 else ""
            raise StalePlanError(
                f"moved since the plan was made: {', '.join(changed[:5])}{more}",
                place=self.plan.name,
                remedy="nothing was switched; run `idxopt plan` again and look at what changed",
            )

    def _in_place(self, step: Step) -> None:
        """Steps that are one request. Builds and the switch have their own places in `run`."""
        match step:
            case PutTemplate(view=view, name=name):
                self.engine.put_template(name, wanted_template(self.observed, self.compiled.views[view]).body)
            case PutPipeline(view=view, name=name):
                self._put_pipeline(self.compiled.views[view], name)
            case RestoreSettings(index=index, settings=settings):
                self.engine.update_settings(index, settings)
            case RestoreMeta(view=view, index=index):
                state = self.observed.indices[index]
                own = self.compiled.views[view].index_body["mappings"]["_meta"]
                self.engine.put_mapping(index, {"_meta": {**(state.mappings.get("_meta") or {}), **own}})
            case BuildIndex() | Switch():
                pass

    def _put_pipeline(self, view: CompiledView, name: str) -> None:
        """Those that carry tables are put by the loader, which has or makes the tables."""
        built = any(step.view == view.view for step in self.plan.builds)
        if view.pipeline is not None and not (view.pipeline_tables and built):
            self.engine.put_pipeline(name, view.pipeline)

    def _put_templates_back(self) -> None:
        """After a refusal: templates as they were, so that nothing of the serving build looks changed by others."""
        with contextlib.suppress(IdxoptError):
            self.lock.confirm()
            for step in self.plan.steps:
                if not isinstance(step, PutTemplate):
                    continue
                before = self.observed.templates.get(step.name)
                if before is None:
                    self.engine.delete_template(step.name)
                else:
                    self.engine.put_template(step.name, before.body)

    def _load(self) -> Loaded:
        builds = self.plan.builds
        if not builds:
            return Loaded()
        assert self.source is not None  # checked before the first write
        loader = Loader(self.engine, self.store, self.lowered, self.observed, self.options, self.progress, self.lock)
        loaded = loader.load(self.source, [step.view for step in builds])
        self.progress.stage("gates")
        reasons = [*loaded.reasons, *effective_gate(self.engine, self.compiled, [step.view for step in builds])]
        if reasons:
            self._drop_unfit(loaded)
        refuse(self.plan.name, reasons, "the old build still serves; mend the cause and run apply again")
        return loaded

    def _drop_unfit(self, loaded: Loaded) -> None:
        """What a gate refused is not taken up again: the next run starts afresh."""
        self.lock.check()  # another holder may have taken up these very indices
        for view, (uuid, _) in loaded.views.items():
            self.engine.delete_index(self.compiled.views[view].index, uuid)

    def _quality(self, loaded: Loaded) -> QualityReport | None:
        gate = self.options.quality
        if gate is None or not self.plan.switches:
            return None
        self.progress.stage("quality gate")
        candidate = live_build(self._manifest(loaded, None), self.engine)
        live = live_build(self.observed.live, self.engine) if self.observed.live else None
        report, reasons = quality_gate(self.engine, candidate, live, gate, self.options.models)
        refuse(
            self.plan.name,
            reasons,
            "the old build still serves; improve the program, or --accept-undecided where the verdict is undecided",
        )
        return report

    def _of_judgments(self, report: QualityReport | None) -> list[str]:
        note = report.new.synthetic_note if report is not None else None
        return [] if note is None else [f"the quality gate was passed with {note}"]

    def _manifest(self, loaded: Loaded, report: QualityReport | None) -> Manifest:
        if self.plan.target:
            return self._target()
        if self._same_build():
            assert self.observed.live is not None
            return self.observed.live
        return new_manifest(
            self.observed, self.lowered, loaded, self.plan, self.options, self.lock.record.who, report, self.store.now()
        )

    def _same_build(self) -> bool:
        return any(isinstance(step, Switch) and step.build and step.build == self.plan.live for step in self.plan.steps)

    def _target(self) -> Manifest:
        """The build that a rollback goes to; all its indices must still be what was recorded."""
        manifest = self.observed.builds.get(self.plan.target)
        if manifest is None:
            raise BuildError(
                f"there is no build {self.plan.target}", place=self.plan.name, remedy="see `idxopt history`"
            )
        for view in manifest.views.values():
            state = self.observed.indices.get(view.index)
            if state is None or state.uuid != view.uuid:
                raise BuildError(
                    f"build {manifest.build} is no longer whole: {view.index} is gone",
                    place=self.plan.name,
                    remedy="apply its program again",
                )
        return manifest

    def _primary_index(self) -> str:
        if self.plan.target:
            target = self._target()
            return target.views[target.primary].index
        return self.compiled.views[self.lowered.program.primary].index

    # The commit.

    def _record(self, manifest: Manifest, loaded: Loaded) -> dict[AliasKey, dict[str, Any]]:
        """Writes carried, build and switch recorded, everything that the plan names looked at once more: the aliases as
        they are now.
        """
        if not self._same_build():
            self.progress.stage("record")
            self.lock.confirm()
            self.transfer.carry(manifest)
            self.store.put_manifest(manifest)
            self.transfer.record(manifest, loaded.ledger)
        now_observed = observe(self.engine, self.plan.name)
        ignore = frozenset(key for step in self.plan.steps for key in touches(step))
        self.lock.confirm()  # whoever took over has moved things too: the lost lock is what to tell
        self._unmoved(now_observed, ignore)
        return present_in_namespace(now_observed)

    def _switch(self, manifest: Manifest, present: Mapping[AliasKey, Mapping[str, Any]]) -> None:
        self.lock.check()
        self.progress.stage("switch")
        views = {
            view: aliases.ViewIndex(built.index, self._many_rows(manifest, view))
            for view, built in manifest.views.items()
        }
        then = aliases.wanted(self.plan.name, manifest.primary, manifest.build, views)
        switch(self.engine, self.plan.name, present, then, self.lock)

    def _many_rows(self, manifest: Manifest, view: str) -> bool:
        program = program_from(manifest.program, f"build {manifest.build}")
        return view_fields(program, program.views[view]).many_rows

    # After it.

    def _after_commit(self, manifest: Manifest) -> list[str]:
        """History and late writes; trouble here is told, not raised: readers have moved."""
        warnings = []
        try:
            self.transfer.carry_late(manifest)
        except IdxoptError as error:
            warnings.append(f"writes that came during the switch could not be carried: {error.message}")
        try:
            what = "rollback" if self.plan.target else "repair" if self._same_build() else "apply"
            self._tell(what, manifest, previous=self.plan.live or None)
        except IdxoptError as error:
            warnings.append(f"the history could not be written: {error.message}")
        return warnings + self._without_canary(manifest)

    def _without_canary(self, manifest: Manifest) -> list[str]:
        """Its incumbent is live no more, so it is out of force already; now its record goes."""
        canary = self.observed.canary
        if canary is None or canary.incumbent == manifest.build:
            return []
        try:
            end_canary(self.engine, self.store, canary, self.lock.record.who, f"build {manifest.build} went live")
        except IdxoptError as error:
            return [f"the record of the canary could not be removed: {error.message}"]
        return [f"the canary of build {canary.candidate} has ended"]

    def _tell(self, what: str, manifest: Manifest, *, previous: str | None) -> None:
        event = Event(
            name=self.plan.name,
            what=what,
            at=self.store.now(),
            who=self.lock.record.who,
            build=manifest.build,
            previous=previous,
            message=self.options.message,
            details={"writes": self.transfer.writes.total, "metrics": manifest.metrics},
        )
        self.store.append(event)

    def _finish_without_switch(self, loaded: Loaded) -> Applied:
        """Repairs in place, or `--view`: what was built is recorded, so that the next plan can use it."""
        if loaded.rows:
            manifest = new_manifest(
                self.observed,
                self.lowered,
                loaded,
                self.plan,
                self.options,
                self.lock.record.who,
                None,
                self.store.now(),
            )
            self.store.put_manifest(manifest)
            self._tell(BUILT, manifest, previous=None)
        elif self.observed.live is not None:
            self._tell("repair", self.observed.live, previous=None)
        return Applied(
            build=self.plan.live,
            previous=self.plan.live or None,
            rows=loaded.rows,
            warnings=loaded.warnings,
            generated=loaded.generated,
        )

    def _collect(self, warnings: list[str]) -> tuple[str, ...]:
        self.progress.stage("collect")
        try:
            observed = observe(self.engine, self.plan.name)
            garbage = find_garbage(
                observed,
                keep=self.options.keep,
                grace_s=self.options.grace_s,
                now=dt.datetime.now(dt.UTC),
                wanted=[view.index for view in self.compiled.views.values()],
            )
            kept: Mapping[str, Manifest] = {id: b for id, b in observed.builds.items() if id not in garbage.builds}
            return collect(self.engine, self.store, self.plan.name, garbage, kept)
        except IdxoptError as error:
            warnings.append(f"old indices could not be collected: {error.message}")
            return ()
