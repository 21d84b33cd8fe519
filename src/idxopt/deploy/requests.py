"""The requests that an apply would send, for an administrator to review (`plan --curl`, `apply --dry-run`). Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from idxopt.builds import names
from idxopt.compiler.curl import Request
from idxopt.compiler.lowered import CompiledView
from idxopt.compiler.pipeline_tables import lacks_tables, without_terms
from idxopt.deploy import aliases
from idxopt.deploy.commit import present_in_namespace
from idxopt.deploy.intent import Plan
from idxopt.deploy.lowering import compile_plan
from idxopt.deploy.observed import Observed
from idxopt.deploy.plan import NEW_BUILD
from idxopt.deploy.steps import BuildIndex, PutPipeline, PutTemplate, RestoreMeta, RestoreSettings, Step, Switch
from idxopt.deploy.templates import wanted_template
from idxopt.engines.port import AliasAction


def requests(observed: Observed, plan: Plan, *, full: bool = False) -> list[Request]:
    """In order, without the lock, the records and the rows themselves.

    The id of a build that does not exist yet is zeros. Corpus tables in a pipeline are told by number and digest,
    unless `full`; those of a first build or a refresh exist only once apply has counted.
    """
    lowered = compile_plan(observed, plan)
    made: list[Request] = []
    for step in plan.steps:
        made += _requests(observed, lowered.compiled.views, step, full=full)
    for build in plan.builds:
        view = lowered.compiled.views[build.view]
        made.append(Request("POST", (view.index, "_refresh")))
        made.append(Request("PUT", (view.index, "_settings"), dict(view.served_settings)))
    if plan.switches:
        made.append(Request("POST", ("_aliases",), {"actions": list(_switch(observed, plan))}))
    return made


def shortened_note(observed: Observed, plan: Plan, *, full: bool) -> str:
    """What to say of `requests` where corpus tables are not printed, or cannot be yet."""
    compiled = compile_plan(observed, plan).compiled
    put = {step.view for step in plan.steps if isinstance(step, PutPipeline)}
    views = [compiled.views[view] for view in put if compiled.views[view].pipeline_tables]
    if not views:
        return ""
    if any(view.pipeline is not None and lacks_tables(view.pipeline) for view in views):
        return "; the corpus tables of the pipeline are counted by apply"
    return "" if full else "; the corpus tables of the pipeline are left out, --full prints them"


def _requests(observed: Observed, views: Mapping[str, CompiledView], step: Step, *, full: bool) -> list[Request]:
    match step:
        case PutTemplate(view=view, name=name):
            return [Request("PUT", ("_index_template", name), wanted_template(observed, views[view]).body)]
        case PutPipeline(view=view, name=name):
            body = views[view].pipeline
            shown = body if full or body is None else without_terms(body)
            return [Request("PUT", ("_ingest", "pipeline", name), shown)]
        case BuildIndex(view=view, index=index):
            return [Request("PUT", (index,), views[view].index_body)]
        case RestoreSettings(index=index, settings=settings):
            return [Request("PUT", (index, "_settings"), settings)]
        case RestoreMeta(view=view, index=index):
            found = observed.indices[index].mappings.get("_meta") or {}
            own = views[view].index_body["mappings"]["_meta"]
            return [Request("PUT", (index, "_mapping"), {"_meta": {**found, **own}})]
        case Switch():
            return []


def _switch(observed: Observed, plan: Plan) -> Iterator[dict[str, Any]]:
    lowered = compile_plan(observed, plan)
    build = next(step.build for step in plan.steps if isinstance(step, Switch)) or NEW_BUILD
    views = {view: aliases.ViewIndex(item.index, item.many_rows) for view, item in lowered.compiled.views.items()}
    then = aliases.wanted(plan.name, lowered.program.primary, build, views)
    fence = AliasAction("remove", names.STATE_INDEX, names.lock_alias(plan.name, "TOKEN"))
    for action in [*aliases.switch_actions(present_in_namespace(observed), then), fence]:
        body: dict[str, Any] = {"index": action.index, "alias": action.alias, **action.options}
        if action.kind == "remove":
            body["must_exist"] = True
        yield {action.kind: body}
