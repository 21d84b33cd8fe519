"""Planning:

what would have to change so that a program is live. Read-only and pure over what was observed (contract 6).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from idxopt.builds import names
from idxopt.builds.manifest import Manifest
from idxopt.compiler.lowered import Compiled, CompiledView
from idxopt.compiler.pipeline_tables import lacks_tables
from idxopt.deploy import aliases
from idxopt.deploy.beside import with_canary_note
from idxopt.deploy.changes import Change, Cost, diff_programs
from idxopt.deploy.drift import drift_of
from idxopt.deploy.embedding import refuse_without_knn
from idxopt.deploy.intent import Intent, Plan
from idxopt.deploy.lowering import Lowered, lower_intent, lowered_with, target_of, with_frozen
from idxopt.deploy.observed import Observed, fingerprint
from idxopt.deploy.steps import BuildIndex, PutPipeline, PutTemplate, Step, Switch
from idxopt.deploy.templates import template_priority, wanted_template
from idxopt.errors import BuildError, UsageError
from idxopt.program.advice import warnings
from idxopt.program.canonical import canonical, program_hash
from idxopt.program.schema import Program
from idxopt.program.validate import program_from

NEW_BUILD = "00000000"
"""Stands for the id of a build that does not exist yet."""


@dataclass
class Draft:
    """A plan in the making: changes to show and steps to walk, in order."""

    changes: list[Change] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def add(self, change: Change, *steps: Step) -> None:
        self.changes.append(change)
        self.steps.extend(step for step in steps if step not in self.steps)


def make_plan(observed: Observed, intent: Intent, *, cluster: str) -> Plan:
    """The plan for an intent. Raises BuildError where something that is not ours stands in the way."""
    lowered = lower_intent(observed, intent)
    program, compiled, live = lowered.program, lowered.compiled, observed.live
    refuse_without_knn(observed.capabilities, program, observed.name)
    _check_only(intent, program)
    draft = Draft()
    _public_name(observed, intent, draft)
    for view, compiled_view in compiled.views.items():
        if not intent.only or view in intent.only or observed.recorded(compiled_view.index):
            _plan_view(observed, lowered, compiled_view, draft)
    unbuilt = [
        view
        for view, compiled_view in compiled.views.items()
        if intent.only and view not in intent.only and not observed.recorded(compiled_view.index)
    ]
    if unbuilt:
        draft.notes.append(
            f"--view builds {', '.join(intent.only)} only; readers stay where they are until {', '.join(unbuilt)} "
            "are built too (apply without --view)"
        )
    else:
        _plan_switch(observed, lowered, intent, draft)
    rebuilt = frozenset(step.view for step in draft.steps if isinstance(step, BuildIndex))
    if draft.steps:
        draft.notes.extend(f"! {warning}" for warning in warnings(program))
    plan = Plan(
        name=observed.name,
        cluster=cluster,
        cluster_uuid=observed.capabilities.cluster_uuid,
        intent=intent,
        program_hash=program_hash(program),
        live=live.build if live else "",
        generations=dict(lowered.generations),
        program_changes=diff_programs(live.program if live else None, canonical(program), rebuilt),
        changes=tuple(draft.changes),
        steps=tuple(draft.steps),
        marks=fingerprint(observed),
        notes=tuple(draft.notes),
        lost_on_write=_lost_on_write(observed, compiled),
    )
    return with_canary_note(plan, observed)


def _lost_on_write(observed: Observed, compiled: Compiled) -> dict[str, tuple[str, ...]]:
    """What documents written through the alias will lack; nobody writes to the embedded engine but idxopt."""
    if observed.capabilities.engine == "embedded":
        return {}
    return {view: item.lost_on_write for view, item in compiled.views.items() if item.lost_on_write}


def _check_only(intent: Intent, program: Program) -> None:
    unknown = [view for view in intent.only if view not in program.views]
    if unknown:
        raise UsageError(
            f"the program has no view {unknown[0]}", place="--view", remedy=f"choose from {', '.join(program.views)}"
        )


def _public_name(observed: Observed, intent: Intent, draft: Draft) -> None:
    """The public name must be free, ours, or given to us by `--take-over`."""
    if observed.concrete is not None:
        raise BuildError(
            "an index (not an alias) has the public name of the program",
            place=observed.name,
            remedy="give the program another name, or put that index behind an alias first",
        )
    holders = [index for index in observed.aliases.get(observed.name, {}) if not observed.owned(index)]
    if not holders:
        return
    if holders != [intent.take_over]:
        raise BuildError(
            f"the alias is in use for {', '.join(sorted(holders))}, which idxopt did not make",
            place=observed.name,
            remedy=f"`--take-over {min(holders)}` moves the alias to the new build (the index itself stays untouched)"
            if len(holders) == 1
            else "leave the alias on one index, or give the program another name",
        )
    draft.notes.append(
        f"! alias {observed.name} is taken over from {intent.take_over}; that index itself is not changed"
    )


def _plan_view(observed: Observed, lowered: Lowered, view: CompiledView, draft: Draft) -> None:
    live = observed.live
    if view.index in observed.indices and not observed.owned(view.index):
        raise BuildError(
            "an index of that name exists and is not ours",
            place=view.index,
            remedy="delete or rename that index, then plan again",
        )
    builder = observed.builder(view.index)
    if builder is None:
        _plan_around(observed, view, draft)
        _plan_build(observed, lowered, view, draft)
        return
    if live is not None and not _serves(live, view):
        draft.notes.append(
            f"! {view.index} is used as build {builder.build} made it ({builder.created}, from "
            f"{builder.source.place}); --rebuild reads the documents again"
        )
    _plan_present(observed, view, draft)


def _serves(live: Manifest | None, view: CompiledView) -> bool:
    return live is not None and view.view in live.views and live.views[view.view].index == view.index


def place_again(observed: Observed, intent: Intent, build: Manifest) -> Draft:
    """What a kept build needs beside its indices: templates, pipelines and settings as its program compiles them."""
    program = program_from(build.program, f"build {build.build}")
    lowered = Lowered(program, lowered_with(program, target_of(observed, intent), build.generations), build.generations)
    compiled = with_frozen(observed, lowered, build.tables).compiled
    draft = Draft()
    for view, place in build.views.items():
        # An index that another version of idxopt compiled is left as it is.
        if compiled.views[view].index == place.index and compiled.views[view].view_hash == place.view_hash:
            _plan_present(observed, compiled.views[view], draft)
    return draft


def _plan_around(observed: Observed, view: CompiledView, draft: Draft) -> None:
    _plan_template(observed, view, draft, _serves(observed.live, view))
    _plan_pipeline(observed, view, draft, _serves(observed.live, view))


def _plan_present(observed: Observed, view: CompiledView, draft: Draft) -> None:
    _plan_around(observed, view, draft)
    drift = drift_of(observed, view)
    for change, step in drift.repairs(view, foreign=_serves(observed.live, view)):
        draft.add(change, step)
    draft.notes.extend(drift.notes)


def _plan_build(observed: Observed, lowered: Lowered, view: CompiledView, draft: Draft) -> None:
    serving = observed.live.views.get(view.view) if observed.live else None
    foreign = True
    if view.view in lowered.damaged:
        why = f"the existing index was changed in a way that cannot be undone ({lowered.damaged[view.view]})"
    elif serving is not None and serving.index == view.index:
        why = (
            "the live index was deleted"
            if view.index not in observed.indices
            else "the live index was replaced by another"
        )
    else:
        foreign = False
        why = "first build" if observed.live is None else "new view" if serving is None else "stored rows change"
        if serving is not None and observed.live is not None:
            known = observed.live.generations.get(view.view)
            if known != lowered.generations[view.view] and observed.live.program_hash == lowered.compiled.program_hash:
                why = "asked for"
    what = "build" if serving is None else "build beside the live one, then switch"
    if view.index in observed.indices:
        what += " (takes up an unfinished index of ours)"
    draft.add(
        Change(
            symbol="+" if serving is None else "+/-",
            kind="index",
            subject=view.index,
            view=view.view,
            what=what,
            cost=Cost.REINDEX,
            why=why,
            foreign=foreign,
        ),
        BuildIndex(view=view.view, index=view.index),
    )


def _plan_template(observed: Observed, view: CompiledView, draft: Draft, reused: bool) -> None:
    wanted = wanted_template(observed, view)
    found = observed.templates.get(view.template_name)
    if found is not None and not names.ours(found.body.get("_meta")):
        raise BuildError(
            "an index template of that name exists and is not ours",
            place=view.template_name,
            remedy="rename that template, or give the program another name",
        )
    if wanted.matches(found):
        return
    step = PutTemplate(view=view.view, name=view.template_name, priority=template_priority(observed, view))
    if reused:
        what = "restore" if found is not None else "put back"
        draft.add(
            Change(
                symbol="~",
                kind="template",
                subject=view.template_name,
                view=view.view,
                what=what,
                cost=Cost.UPDATE_IN_PLACE,
                why=wanted.why(found),
                foreign=True,
            ),
            step,
        )
    else:
        draft.steps.append(step)


def _plan_pipeline(observed: Observed, view: CompiledView, draft: Draft, reused: bool) -> None:
    if view.pipeline_name is None or view.pipeline is None:
        return
    found = observed.pipelines.get(view.pipeline_name)
    if found is not None and not names.our_pipeline(found):
        raise BuildError(
            "an ingest pipeline of that name exists and is not ours",
            place=view.pipeline_name,
            remedy="delete it or put it under another name, then plan again",
        )
    lost = lacks_tables(view.pipeline) and observed.recorded(view.index) is not None
    same = found is not None and dict(found) == dict(view.pipeline)
    if lost:
        what = "cannot be compared" if found is not None and not same else "leaves out what needs corpus tables"
        draft.notes.append(
            f"! pipeline {view.pipeline_name} {what}: those that belong in it are lost; "
            f"`idxopt refresh {observed.name}` makes new ones"
        )
    if same or (lost and found is not None):
        return
    step = PutPipeline(view=view.view, name=view.pipeline_name)
    if reused:
        why = "its body was changed" if found is not None else "it was deleted: every write through the alias fails"
        draft.add(
            Change(
                symbol="~",
                kind="pipeline",
                subject=view.pipeline_name,
                view=view.view,
                what="restore",
                cost=Cost.UPDATE_IN_PLACE,
                why=why,
                foreign=True,
            ),
            step,
        )
    else:
        draft.steps.append(step)


def _strays(
    observed: Observed, intent: Intent, then: Mapping[aliases.AliasKey, Mapping[str, object]]
) -> Iterator[Change]:
    """Aliases of our namespace that somebody put where no build of ours wants them: the switch takes them away too."""
    live = observed.live
    known: Mapping[aliases.AliasKey, object] = {}
    if live is not None:
        places = {view: aliases.ViewIndex(built.index, False) for view, built in live.views.items()}
        known = aliases.wanted(observed.name, live.primary, live.build, places)
    for alias, index in sorted(aliases.present(observed.aliases)):
        expected = (
            (alias, index) in known or (alias, index) in then or (alias, index) == (observed.name, intent.take_over)
        )
        if not expected:
            yield Change(
                symbol="-",
                kind="alias",
                subject=f"{alias} -> {index}",
                what="remove",
                cost=Cost.UPDATE_IN_PLACE,
                why="moved or added by somebody",
                foreign=True,
            )


def _plan_switch(observed: Observed, lowered: Lowered, intent: Intent, draft: Draft) -> None:
    """The commit: repairs of single aliases while the build stays, or the switch to a new build."""
    live, compiled = observed.live, lowered.compiled
    building = any(isinstance(step, BuildIndex) for step in draft.steps)
    same = (
        live is not None
        and not building
        and live.program_hash == compiled.program_hash
        and all(live.generations.get(view) == generation for view, generation in lowered.generations.items())
    )
    build = live.build if live is not None and same else NEW_BUILD
    views = {view: aliases.ViewIndex(item.index, item.many_rows) for view, item in compiled.views.items()}
    then = aliases.wanted(observed.name, lowered.program.primary, build, views)
    now = aliases.present(observed.aliases)
    if same:
        for alias, index in aliases.differences(now, then):
            why = (
                "missing"
                if (alias, index) not in now
                else "moved or added by somebody"
                if (alias, index) not in then
                else "changed"
            )
            draft.add(
                Change(
                    symbol="~",
                    kind="alias",
                    subject=f"{alias} -> {index}",
                    what="restore",
                    cost=Cost.UPDATE_IN_PLACE,
                    why=why,
                    foreign=True,
                ),
                Switch(build=build),
            )
        return
    for change in _strays(observed, intent, then):
        draft.changes.append(change)
    if building:
        draft.steps.append(Switch())  # the changes of the indices already say that readers move
        return
    draft.add(
        Change(
            symbol="~",
            kind="build",
            subject=observed.name,
            what="switch to a new build of the same indices",
            cost=Cost.QUERY_ONLY,
            why="no stored row changes",
        ),
        Switch(),
    )
