"""Does the gain survive? Baseline and winner behind BM25, then with a dense leg, then reranked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass

from idxopt.evaluation.bootstrap import mean_interval
from idxopt.evaluation.judgments import Qrels, Query
from idxopt.evaluation.metrics import Metric
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import NDCG, RECALL, Scores
from idxopt.optimizer.record import Stage
from idxopt.optimizer.trials.embedded import embedded_trials
from idxopt.program.canonical import canonical, program_hash
from idxopt.program.effects import view_fields
from idxopt.program.model_checks import MAXSIM
from idxopt.program.schema import ModelSpec, Program
from idxopt.program.validate import program_from
from idxopt.search.models import QueryModels

EMBEDDER, RERANKER = "staged-embedder", "staged-reranker"
"""Names of the two models in the programs of the table."""
BM25, DENSE, RERANKED = "BM25", "dense", "reranked"
OpenModels = Callable[[Program], AbstractContextManager[QueryModels]]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Baseline and winner at one stage."""

    name: str
    baseline: Program
    winner: Program
    note: str = ""


def staged_table(
    corpus: Corpus,
    queries: Sequence[Query],
    qrels: Qrels,
    baseline: Program,
    winner: Program,
    *,
    open_models: OpenModels,
    embedder: ModelSpec,
    reranker: ModelSpec | None = None,
    steps: StepModels = NO_MODELS,
) -> tuple[Stage, ...]:
    """nDCG@10 and Recall@100 at each stage, with 95% intervals, and winner - baseline paired by query.

    All are built as trials on an embedded engine in a temporary folder, one after the other. `open_models`: the models
    of a program, closed at the end. Recall@100 after reranking is that before it: only the candidates move.
    Raises ConfigError and ModelError (the models), and what an evaluator raises.
    """
    most = max(len(program.views) for program in (baseline, winner))
    with ExitStack() as stack:
        opened: dict[str, QueryModels] = {}

        def models_of(program: Program) -> QueryModels:
            key = program_hash(program)
            if key not in opened:
                opened[key] = stack.enter_context(open_models(program))
            return opened[key]

        trials = stack.enter_context(
            embedded_trials(corpus, queries, qrels, steps=steps, models_of=models_of, max_indices=max(8, most))
        )
        stages: list[Stage] = []
        for pair in _pairs(baseline, winner, embedder, reranker):
            stages += _stages(pair, trials.scores(pair.baseline), trials.scores(pair.winner))
    return tuple(stages)


def with_dense(program: Program, embedder: ModelSpec) -> Program:
    """The program with a dense leg in its primary view, over the fields that its BM25 leg searches.

    Raw sums (`weighted_sum` without normalisation) become sums of min-max scores: beside BM25, which has no upper
    bound, a cosine would decide nothing.
    """
    plain = canonical(program)
    view = program.views[program.primary]
    if view.dense is None:
        plain.setdefault("models", {})[EMBEDDER] = embedder.model_dump(mode="json", exclude_defaults=True)
        plain["views"][program.primary]["dense"] = {"model": EMBEDDER, "text": _searched(program)}
    if _raw_sum(program):
        plain["fusion"]["normalize"] = "min_max"
    return program_from(plain, "the program with a dense leg")


def with_reranker(program: Program, reranker: ModelSpec, field: str) -> Program:
    """The program with a second stage over one whole field of its primary view. `maxsim:...` means the embedder of
    `with_dense`.
    """
    if reranker.id.startswith(MAXSIM):
        reranker = reranker.model_copy(update={"id": f"{MAXSIM}{EMBEDDER}"})
    plain = canonical(program)
    plain.setdefault("models", {})[RERANKER] = reranker.model_dump(mode="json", exclude_defaults=True)
    plain["rerank"] = {"model": RERANKER, "unit": "document", "field": field}
    return program_from(plain, "the reranked program")


def _pairs(baseline: Program, winner: Program, embedder: ModelSpec, reranker: ModelSpec | None) -> list[_Pair]:
    one, other = (program.model_copy(update={"rerank": None}) for program in (baseline, winner))
    pairs = [_Pair(BM25, one, other)]
    note = "weighted_sum normalised by min-max" if _raw_sum(one) or _raw_sum(other) else ""
    one, other = with_dense(one, embedder), with_dense(other, embedder)
    pairs.append(_Pair(DENSE, one, other, note))
    if reranker is not None:
        field = _field_of_both(baseline, winner)
        one, other = with_reranker(one, reranker, field[0]), with_reranker(other, reranker, field[1])
        about = f"{field[0]} of the first {one.rerank.candidates}" if one.rerank is not None else ""
        pairs.append(_Pair(RERANKED, one, other, about))
    return pairs


def _stages(pair: _Pair, baseline: Scores, winner: Scores) -> list[Stage]:
    return [_stage(pair, metric, baseline, winner) for metric in (NDCG, RECALL)]


def _stage(pair: _Pair, metric: Metric, baseline: Scores, winner: Scores) -> Stage:
    one, other = baseline.values[metric], winner.values[metric]
    return Stage(
        pair.name,
        str(metric),
        mean_interval(one.tolist()),
        mean_interval(other.tolist()),
        mean_interval((other - one).tolist()),
        pair.note,
    )


def _raw_sum(program: Program) -> bool:
    return program.fusion.method == "weighted_sum" and program.fusion.normalize == "none"


def _searched(program: Program) -> list[str]:
    """What BM25 searches in the primary view, or all its text where it searches nothing there."""
    view = program.views[program.primary]
    if view.lexical is not None:
        return list(view.lexical.fields)
    return _texts(program)


def _texts(program: Program) -> list[str]:
    fields = view_fields(program, program.views[program.primary])
    return [name for name in fields.names if name not in fields.structures]


def _field_of_both(baseline: Program, winner: Program) -> tuple[str, str]:
    """The field to rerank by: one that the baseline searches and the winner has too, else each one's first."""
    there = set(_texts(winner))
    both = next((name for name in _searched(baseline) if name in there), None)
    return (both, both) if both is not None else (_searched(baseline)[0], _searched(winner)[0])
