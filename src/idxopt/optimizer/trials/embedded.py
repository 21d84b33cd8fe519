"""Trials in a temporary folder: the embedded engine for latency, bytes, and programs with models."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from idxopt.engines.embedded import EmbeddedEngine
from idxopt.evaluation.judgments import Qrels, Query
from idxopt.operators.step_models import NO_MODELS, StepModels
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.trials.evaluator import ClusterEvaluator
from idxopt.optimizer.trials.indices import ModelsOf
from idxopt.optimizer.trials.settings import TrialSettings


@contextmanager
def embedded_trials(
    corpus: Corpus,
    queries: Sequence[Query],
    qrels: Qrels,
    *,
    steps: StepModels = NO_MODELS,
    models_of: ModelsOf | None = None,
    max_indices: int = 8,
) -> Iterator[ClusterEvaluator]:
    """An evaluator on an embedded engine of its own, which is gone afterwards."""
    settings = TrialSettings("local", max_indices=max_indices, searches=1)
    with tempfile.TemporaryDirectory(prefix="idxopt-trials-") as folder:
        engine = EmbeddedEngine(Path(folder) / "engine")
        try:
            with ClusterEvaluator(
                engine, corpus, queries, qrels, settings, steps=steps, models_of=models_of
            ) as evaluator:
                yield evaluator
        finally:
            engine.close()
