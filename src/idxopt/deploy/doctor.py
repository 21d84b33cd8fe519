"""Doctor: what idxopt sees of a configuration and a cluster, with a remedy for whatever is amiss. Read-only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

from idxopt.builds import names
from idxopt.builds.canary import read_canary
from idxopt.builds.resolver import Resolver
from idxopt.builds.state import StateStore
from idxopt.engines.port import Capabilities, Reader
from idxopt.errors import BuildError, IdxoptError
from idxopt.models.configured import Secret, check_settings
from idxopt.models.opening import Models
from idxopt.models.settings import ModelSettings
from idxopt.program.effects import searching_models
from idxopt.program.schema import Program

Verdict = Literal["ok", "warning", "failed"]


@dataclass(frozen=True, slots=True)
class Check:
    """One finding."""

    what: str
    verdict: Verdict
    detail: str
    remedy: str = ""


def examine(reader: Reader) -> list[Check]:
    """Checks an engine that could be connected to."""
    capabilities = reader.capabilities()
    checks = [
        Check("engine", "ok", f"{capabilities.engine} {capabilities.version}, cluster {capabilities.cluster_uuid}"),
        Check("nodes", "ok", "unknown" if capabilities.nodes is None else str(capabilities.nodes)),
        Check("plugins", "ok", ", ".join(sorted(capabilities.plugins)) or "none"),
        Check(
            "scores",
            "ok",
            "BM25 carries the factor k1 + 1" if capabilities.bm25_factor else "BM25 without the factor k1 + 1",
        ),
        Check(
            "limits",
            "ok",
            f"{capabilities.max_clauses} clauses, window {capabilities.max_result_window}, "
            f"{capabilities.max_request_bytes // 2**20} MB a request",
        ),
    ]
    checks.append(_vectors(capabilities))
    checks += [Check("probe", "warning", note) for note in capabilities.notes]
    checks += [_tried("aliases", lambda: reader.aliases("*"), "the user needs indices:admin/aliases/get")]
    checks += [_tried("templates", reader.templates, "the user needs indices:admin/index_template/get")]
    checks += [
        _tried("pipelines", lambda: reader.list_pipelines("*"), "the user needs cluster:admin/ingest/pipeline/get")
    ]
    checks += [_tried("state", lambda: StateStore(reader).names(), f"the user needs to read {names.BUILDS_INDEX}")]
    return checks


def examine_settings(settings: Mapping[str, ModelSettings], secret: Secret) -> list[Check]:
    """Each `[models."ID"]` table: can the model be opened, as far as that is known without weights and network?"""
    return [
        _opened(id_, chosen.provider, partial(check_settings, id_, chosen, secret))
        for id_, chosen in sorted(settings.items())
    ]


def examine_live(reader: Reader, models_of: Callable[[Program], Models]) -> list[Check]:
    """What a search of each live build needs, rerankers too; and records of canaries that cannot be read."""
    checks = []
    for name in StateStore(reader).names():
        try:
            live = Resolver(reader, name).live()
        except IdxoptError as error:
            checks.append(Check(name, "failed", error.message, error.remedy or ""))
            continue
        checks += _canary(reader, name)
        if live is None:
            continue
        with models_of(live.program) as models:
            for model in searching_models(live.program):
                spec = live.program.models[model]
                what = f'{name}: "{model}" ({spec.id})'
                checks.append(_opened(what, f"{spec.kind} of the live build", partial(models.check, model)))
    return checks


def _canary(reader: Reader, name: str) -> list[Check]:
    try:
        read_canary(reader, name)
    except BuildError as error:
        return [Check(f"{name}: canary", "warning", error.message, error.remedy or "")]
    return []


def _opened(what: str, detail: str, check: Callable[[], None]) -> Check:
    try:
        check()
    except IdxoptError as error:
        place = f"{error.place}: " if error.place else ""
        return Check(f"model {what}", "failed", f"{place}{error.message}", error.remedy or "")
    return Check(f"model {what}", "ok", detail)


def _vectors(capabilities: Capabilities) -> Check:
    """No k-NN is no fault until a program has a dense leg; a plan for one is refused then."""
    if capabilities.engine == "embedded":
        return Check("vectors", "ok", "exact kNN, HNSW graphs in large indices")
    remedy = "programs with `dense` legs need the plugin opensearch-knn on every node"
    match capabilities.knn:
        case True:
            return Check("vectors", "ok", "k-NN plugin on every node; indices are made with its engine lucene")
        case False:
            return Check("vectors", "warning", "the k-NN plugin is missing on some node", remedy)
        case None:
            return Check("vectors", "warning", "unknown, the plugins could not be read", remedy)


def _tried(what: str, read: object, remedy: str) -> Check:
    assert callable(read)
    try:
        found = read()
    except IdxoptError as error:
        return Check(what, "failed", error.message, error.remedy or remedy)
    listed = sorted(found) if isinstance(found, list | dict) and what == "state" else []
    return Check(what, "ok", ", ".join(listed) if listed else f"{len(found)} readable")
