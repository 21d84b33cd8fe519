"""What a program becomes on this engine, with the generations that the observed state calls for. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from idxopt.builds.manifest import Generation, Manifest, TablesRecord
from idxopt.compiler.lower import lower
from idxopt.compiler.lowered import Compiled, Generations, Target
from idxopt.deploy.drift import drift_of
from idxopt.deploy.intent import Intent, Plan
from idxopt.deploy.observed import Observed
from idxopt.operators.tables import Tables, tables_needed
from idxopt.program.schema import Program
from idxopt.program.validate import program_from


@dataclass(frozen=True, slots=True)
class Lowered:
    """The program of an intent, lowered with the generations that the observed state calls for.

    `damaged`: views whose live mapping somebody changed, so that they must be built anew.
    """

    program: Program
    compiled: Compiled
    generations: Mapping[str, Generation]
    damaged: Mapping[str, str] = field(default_factory=dict)


def target_of(observed: Observed, intent: Intent) -> Target:
    """What lowering must know of this engine and layout."""
    capabilities = observed.capabilities
    return Target(
        engine=capabilities.engine,
        bm25_factor=capabilities.bm25_factor,
        pipelines=capabilities.pipelines,
        shards=intent.layout.shards,
        replicas=intent.layout.replicas,
    )


def lower_intent(observed: Observed, intent: Intent) -> Lowered:
    """Lowers the program; a view whose live mapping was changed by somebody gets the next build generation."""
    program = program_from(intent.program, "the plan")
    target = target_of(observed, intent)
    generations = _base_generations(observed, program, intent)
    compiled = lowered_with(program, target, generations)
    damaged = _damaged(observed, compiled)
    for view in damaged:
        above = max(_next(observed, view).build, generations[view].build + 1)
        generations[view] = generations[view].model_copy(update={"build": above})
    if damaged:
        compiled = lowered_with(program, target, generations)
    lowered = Lowered(program, compiled, generations, damaged)
    return with_frozen(observed, lowered, frozen_tables(observed, lowered))


def _damaged(observed: Observed, compiled: Compiled) -> dict[str, str]:
    """Views whose index exists, but with another mapping than the compiled one, with what differs."""
    damaged = {}
    for view, wanted in compiled.views.items():
        if observed.recorded(wanted.index) is not None:
            difference = drift_of(observed, wanted).mapping
            if difference is not None:
                damaged[view] = difference
    return damaged


def compile_plan(observed: Observed, plan: Plan) -> Lowered:
    """The artifacts that a plan stands for (its generations are fixed)."""
    program = program_from(plan.intent.program, "the plan")
    compiled = lowered_with(program, target_of(observed, plan.intent), plan.generations)
    lowered = Lowered(program, compiled, plan.generations)
    target = observed.builds.get(plan.target)
    return with_frozen(observed, lowered, target.tables if target else frozen_tables(observed, lowered))


def lowered_with(
    program: Program, target: Target, generations: Mapping[str, Generation], tables: Tables | None = None
) -> Compiled:
    """The program lowered with given generations. `tables`: for pipelines that carry them."""
    counters = {view: Generations(build=g.build, table=g.table) for view, g in generations.items()}
    return lower(program, target, counters, tables)


def with_tables(lowered: Lowered, tables: Tables) -> Lowered:
    """With the tables in the pipelines that carry some."""
    if not any(view.pipeline_tables for view in lowered.compiled.views.values()):
        return lowered
    compiled = lowered_with(lowered.program, lowered.compiled.target, lowered.generations, tables)
    return replace(lowered, compiled=compiled)


def with_frozen(observed: Observed, lowered: Lowered, record: TablesRecord | None) -> Lowered:
    """With recorded tables, which are read only where a pipeline carries them: they may have many megabytes."""
    if not any(view.pipeline_tables for view in lowered.compiled.views.values()):
        return lowered
    tables = observed.frozen.read(record)
    return lowered if tables is None else with_tables(lowered, tables)


def frozen_tables(observed: Observed, lowered: Lowered) -> TablesRecord | None:
    """The tables of this generation: those of the live build, or those that existing rows of the program were made with
    (a kept build, or views built one by one with `--view`).
    """
    builders = [observed.builder(view.index) for view in lowered.compiled.views.values()]
    for build in (observed.live, *builders):
        if build is not None and build.tables is not None and _same_table_generation(build, lowered):
            return build.tables
    return None


def _same_table_generation(build: Manifest, lowered: Lowered) -> bool:
    return tables_suffice(build, lowered.program) and all(
        build.generations[view].table == generation.table
        for view, generation in lowered.generations.items()
        if view in build.generations
    )


def _base_generations(observed: Observed, program: Program, intent: Intent) -> dict[str, Generation]:
    """Those of the live build, raised by `--rebuild`, and by a program that needs other corpus tables than are frozen.

    Tables are one frozen set a build: when some are made anew, every view that reads any is. Raised is above every
    build that readers have used: after a rollback a later one is still there, and must not be taken for the new one.
    """
    live = observed.live
    frozen = next((one for one in (live, *reversed(observed.served)) if one is not None and one.tables), None)
    refreeze = intent.refresh or (frozen is not None and not tables_suffice(frozen, program))
    generations = {}
    for view in program.views:
        known = live.generations.get(view, Generation()) if live else Generation()
        again = intent.rebuild and live is not None and (not intent.only or view in intent.only)
        raised = _next(observed, view)
        generations[view] = Generation(
            build=raised.build if again else known.build, table=raised.table if refreeze else known.table
        )
    return generations


def _next(observed: Observed, view: str) -> Generation:
    """The first generations of a view that no build had which readers have used; tables have one for all views."""
    used = [(one, generation) for build in observed.served for one, generation in build.generations.items()]
    return Generation(
        build=max((generation.build for one, generation in used if one == view), default=-1) + 1,
        table=max((generation.table for _, generation in used), default=-1) + 1,
    )


def tables_suffice(live: Manifest, program: Program) -> bool:
    """True when the frozen tables of a build hold all that a program reads."""
    frozen, needed = tables_needed(program_from(live.program, f"build {live.build}")), tables_needed(program)
    return bool(
        needed.frequencies.items() <= frozen.frequencies.items()
        and needed.lines.items() <= frozen.lines.items()
        and needed.titles <= frozen.titles
    )
