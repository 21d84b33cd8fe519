"""From a program file to a plan, and from a plan file back: what `plan`, `apply` and `show` share."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idxopt.cli.progress import patient
from idxopt.cli.session import Session
from idxopt.errors import BuildError, ProgramError, StalePlanError, UsageError

if TYPE_CHECKING:
    from idxopt.deploy.intent import Plan
    from idxopt.deploy.observed import Observed
    from idxopt.program.schema import Program
    from idxopt.sources.source import Source

PLAN_MARK = b"idxopt-plan/"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What the planning options say."""

    program: Path | Program
    source: str | None = None
    views: tuple[str, ...] = ()
    rebuild: bool = False
    take_over: str | None = None
    refresh: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """A plan with what it was made from."""

    plan: Plan
    observed: Observed
    source: Source | None


def plan_program(work: Session, wanted: Wanted) -> Planned:
    """Plans a program against the session's engine. Reads only."""
    from idxopt.config.load import cache_dir
    from idxopt.config.models import open_models
    from idxopt.deploy.embedding import check_searchable
    from idxopt.deploy.estimate import Known, with_estimate
    from idxopt.deploy.intent import Intent, Layout
    from idxopt.deploy.observed import observe
    from idxopt.deploy.plan import make_plan
    from idxopt.deploy.status import data_lag
    from idxopt.program.canonical import canonical
    from idxopt.program.validate import load_program

    program = load_program(wanted.program) if isinstance(wanted.program, Path) else wanted.program
    place = work.source_place(wanted.source)
    source = work.open_source(place, program) if place is not None else None
    _check_take_over(work, wanted.take_over)
    observed = observe(work.engine, program.name)
    intent = Intent(
        program=canonical(program),
        layout=Layout(shards=work.profile.shards, replicas=work.profile.replicas),
        rebuild=wanted.rebuild,
        refresh=wanted.refresh,
        only=wanted.views,
        take_over=wanted.take_over,
    )
    plan = make_plan(observed, intent, cluster=work.cluster)
    if plan.switches:
        check_searchable(work.models(program), program)
    if source is not None:
        with patient(work.settings, "sampling documents"), open_models(program, work.config) as models:
            plan = with_estimate(plan, program, source, Known(models, cache_dir()))
        plan = plan.model_copy(update={"lag": data_lag(observed.live, source), "source": source.place})
    return Planned(plan, observed, source)


def _check_take_over(work: Session, index: str | None) -> None:
    """Before anything is asked: is the index there at all?"""
    if index is not None and work.engine.get_index(index) is None:
        raise BuildError(
            f"there is no index {index} on {work.cluster}", place="--take-over", remedy="check the name of the index"
        )


def plan_source(work: Session, plan: Plan) -> Source | None:
    """The documents that a saved plan was made for; None when it builds nothing."""
    from idxopt.program.validate import program_from

    if not plan.builds or plan.source is None:
        return None
    return work.open_source(plan.source, program_from(plan.intent.program, "the plan's program"))


def is_plan_file(path: Path) -> bool:
    """True for a file that `plan --out` wrote, judged by its first bytes."""
    try:
        with path.open("rb") as file:
            return PLAN_MARK in file.read(200)
    except OSError:
        return False


def write_plan(plan: Plan, path: Path) -> None:
    """Stores a plan. It holds no secret; the file is replaced whole or not at all, once `outputs` allowed it."""
    text = plan.model_dump_json(by_alias=True, indent=1) + "\n"
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except OSError as error:
        raise BuildError(
            f"the plan cannot be written ({error.strerror or error})",
            place=str(path),
            remedy="choose a file that you may write to",
        ) from error


def read_plan(path: Path) -> Plan:
    """Raises BuildError for a file that is no plan of this version."""
    from pydantic import ValidationError

    from idxopt.deploy.intent import Plan
    from idxopt.program.wording import plain_words

    try:
        return Plan.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BuildError(
            f"cannot be read ({error.strerror or error})", place=str(path), remedy="check the path of the plan"
        ) from error
    except ValidationError as error:
        first: Any = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BuildError(
            f"is no plan of this version of idxopt ({where + ' ' if where else ''}{plain_words(first)[0]})",
            place=str(path),
            remedy="make it anew with `idxopt plan PROGRAM --out FILE`",
        ) from error


def check_cluster(work: Session, plan: Plan) -> None:
    """A saved plan goes to the cluster that it was made on, and to no other."""
    if work.cluster != plan.cluster:
        raise UsageError(
            f"the plan was made for cluster {plan.cluster}, not {work.cluster}",
            place="--cluster",
            remedy=f"leave --cluster out, or plan again with --cluster {work.cluster}",
        )
    here = work.engine.capabilities().cluster_uuid
    if here != plan.cluster_uuid:
        raise StalePlanError(
            f"profile {plan.cluster} leads to another cluster now ({here or 'unknown'}, not {plan.cluster_uuid})",
            place=plan.name,
            remedy="check the profile's address, then run `idxopt plan` again",
        )


def not_a_plan(path: Path) -> ProgramError:
    """For `show` with a file that is something else."""
    return ProgramError("is no plan", place=str(path), remedy="make one with `idxopt plan PROGRAM --out FILE`")
