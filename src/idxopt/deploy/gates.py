"""Gates:

what must hold before readers move. Each returns the reasons why it does not; the old build serves on meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from idxopt.builds.resolver import LiveBuild
from idxopt.compiler.lowered import Compiled, CompiledView
from idxopt.compiler.pipelines import marking_failures_only
from idxopt.deploy.drift import index_drift
from idxopt.deploy.embedding import vectors_agree
from idxopt.deploy.options import QualityGate
from idxopt.deploy.remaking import Remaking
from idxopt.engines.port import Reader
from idxopt.errors import GateRefused
from idxopt.evaluation.comparison import Evaluation, answer_queries, evaluate_run, non_inferior
from idxopt.evaluation.metrics import DEFAULT_METRICS, Metric, parse_metric
from idxopt.models.opening import Models
from idxopt.operators.row import Document, row_digest
from idxopt.search.searcher import Searcher

DEPTH = 100
"""Documents a query that quality is measured on."""


@dataclass(frozen=True, slots=True)
class QualityReport:
    """Evaluation of the new build, and of the live one where there is one."""

    new: Evaluation
    live: Evaluation | None

    @property
    def metrics(self) -> dict[str, float]:
        return {str(metric): result.interval.mean for metric, result in self.new.results.items()}


def effective_gate(reader: Reader, compiled: Compiled, built: Sequence[str]) -> list[str]:
    """The index as it is now must be the compiled one, in every setting and field that we emitted."""
    reasons = []
    for view in built:
        wanted = compiled.views[view]
        state = reader.get_index(wanted.index)
        if state is None:
            reasons.append(f"{wanted.index} is gone")
            continue
        drift = index_drift(state, wanted)
        if drift.mapping is not None:
            reasons.append(f"{wanted.index}: mapping differs at {drift.mapping}")
        reasons += [f"{wanted.index}: {difference}" for difference in drift.settings]
        if drift.meta:
            reasons.append(f"{wanted.index}: our mark in _meta is not as written")
    return reasons


def sample_gate(
    reader: Reader, remaking: Remaking, views: Mapping[str, CompiledView], sample: Sequence[Document]
) -> list[str]:
    """Sampled documents, transformed and embedded anew, must equal what is stored, and what the view's ingest pipeline
    makes of them. Vectors are compared by their cosine.
    """
    reasons = []
    for compiled in views.values():
        rows = remaking.rows(compiled.view, sample)
        stored = reader.get_documents(compiled.index, list(rows))
        for id, row in rows.items():
            if id not in stored or row_digest(stored[id].source) != row_digest(row.body):
                reasons.append(f"{compiled.index}: row {id} is not stored as the program makes it")
            elif not vectors_agree(stored[id].source, row.body):
                reasons.append(f"{compiled.index}: row {id} is not stored with the vector that the model gives")
        if compiled.pipeline is not None and set(compiled.lost_on_write) <= {"vector"}:
            reasons += _pipeline(reader, compiled, sample, {row.doc_id: row.body for row in rows.values()})
    return reasons


def _pipeline(
    reader: Reader, view: CompiledView, sample: Sequence[Document], wanted: Mapping[str, Mapping[str, object]]
) -> list[str]:
    assert view.pipeline is not None
    made = reader.simulate_pipeline(
        marking_failures_only(view.pipeline),
        [{"_index": view.index, "_id": document.id, "_source": dict(document.source)} for document in sample],
    )
    return [
        f"{view.pipeline_name}: the pipeline makes another document of {document.id} than the program"
        for document, source in zip(sample, made, strict=True)
        if not _incomplete(source) and row_digest(source) != row_digest(wanted[document.id])
    ]


def _incomplete(source: Mapping[str, object]) -> bool:
    own = source.get("idxopt")
    return isinstance(own, Mapping) and bool(own.get("incomplete"))


def quality_gate(
    reader: Reader, new: LiveBuild, live: LiveBuild | None, gate: QualityGate, models: Models | None = None
) -> tuple[QualityReport, list[str]]:
    """Judged queries against the new build, and against the live one for non-inferiority. `models`: of the new one."""
    metrics = _metrics(gate)
    report = QualityReport(
        evaluate_build(reader, new, gate, metrics, models),
        evaluate_build(reader, live, gate, metrics, models) if live is not None else None,
    )
    reasons = [
        f"{requirement} is required, the mean is {report.new.mean(requirement.metric):.4f} (n = {report.new.n})"
        for requirement in gate.requirements
        if not requirement.met(report.new)
    ]
    if report.live is not None:
        verdict = non_inferior(report.new, report.live, gate.metric, gate.margin)
        if verdict.outcome == "failed" or (verdict.outcome == "undecided" and not gate.accept_undecided):
            bound = "unknown" if verdict.lower is None else f"{verdict.lower:+.4f}"
            reasons.append(
                f"{verdict.metric} new - live is {verdict.difference:+.4f}, "
                f"one-sided 95% lower bound {bound} (n = {verdict.n}); "
                f"at least -{verdict.margin:g} is wanted: {verdict.outcome}"
            )
    if reasons and gate.judged.synthetic_note is not None:
        reasons.append(f"measured with {gate.judged.synthetic_note}")
    return report, reasons


def evaluate_build(
    reader: Reader, build: LiveBuild, gate: QualityGate, metrics: Sequence[Metric], models: Models | None = None
) -> Evaluation:
    """The judged queries on one build; a failed query is an error, never a zero."""
    with nullcontext() if models is None else models.for_specs(build.program.models) as own:
        searcher = Searcher(reader, build, models=own)
        run = answer_queries(gate.judged.queries, lambda query: searcher.ranking(query.text, DEPTH))
    return evaluate_run(run, gate.judged, metrics, label=build.manifest.build)


def refuse(name: str, reasons: Sequence[str], remedy: str) -> None:
    """Raises GateRefused when there are reasons."""
    if reasons:
        more = f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""
        raise GateRefused("; ".join(reasons[:3]) + more, place=name, remedy=remedy)


def _metrics(gate: QualityGate) -> list[Metric]:
    metrics = list(DEFAULT_METRICS)
    for wanted in (parse_metric(gate.metric), *(requirement.metric for requirement in gate.requirements)):
        if wanted not in metrics:
            metrics.append(wanted)
    return metrics
