"""The staged table: the programs of each stage, and the figures with real models on a slice of a collection."""

from __future__ import annotations

from pathlib import Path

import pytest

from idxopt.errors import ConfigError
from idxopt.evaluation.bootstrap import mean_interval
from idxopt.models.opening import Models
from idxopt.optimizer.ports import NDCG, RECALL
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.staged import EMBEDDER, RERANKER, staged_table, with_dense, with_reranker
from idxopt.program.schema import ModelSpec, Program
from tests.models_support.minilm import minilm_settings, minilm_spec
from tests.unit.optimizer.trials.collection import SLICED, cranfield, program, small, titled

MAXSIM = ModelSpec(kind="reranker", id="maxsim:any")


def test_the_dense_leg_reads_what_bm25_searches():
    made = with_dense(program(content=titled(2.0), rows=SLICED), minilm_spec())
    dense = made.views["content"].dense
    assert dense is not None
    assert (dense.model, dense.text) == (EMBEDDER, ["body", "title"])
    assert made.views["rows"].dense is None
    assert made.fusion.normalize == "none"
    unsearched = with_dense(program(content={}, rows=SLICED), minilm_spec()).views["content"].dense
    assert unsearched is not None
    assert unsearched.text == ["body", "title"]
    summed = with_dense(program(content=titled(1.0), rows=SLICED, fusion={"method": "weighted_sum"}), minilm_spec())
    assert summed.fusion.normalize == "min_max"
    assert with_dense(made, minilm_spec()) == made, "a dense leg of its own stays"


def test_the_reranker_scores_whole_fields():
    made = with_reranker(with_dense(program(), minilm_spec()), MAXSIM, "body")
    assert made.rerank is not None
    assert (made.rerank.model, made.rerank.unit, made.rerank.field) == (RERANKER, "document", "body")
    assert made.models[RERANKER].id == f"maxsim:{EMBEDDER}"


def test_the_stages_of_baseline_and_winner(shared: Path, minilm: Path, tmp_path: Path) -> None:
    assert minilm.is_dir()
    corpus, queries, qrels = cranfield(shared, documents=50, most=8)
    opened: list[Program] = []

    def open_models(wanted: Program) -> Models:
        opened.append(wanted)
        return Models(wanted.models, minilm_settings(), cache=tmp_path / "vectors", secret=lambda reference: reference)

    baseline, winner = program(), program(content=titled(0.5))
    stages = staged_table(
        corpus,
        queries,
        qrels,
        baseline,
        winner,
        open_models=open_models,
        embedder=minilm_spec(),
        reranker=MAXSIM,
    )
    names = [(stage.name, stage.metric) for stage in stages]
    assert names == [(name, metric) for name in ("BM25", "dense", "reranked") for metric in ("nDCG@10", "Recall@100")]
    exact = IncrementalEvaluator(corpus, queries, qrels)
    for stage, metric in zip(stages[:2], (NDCG, RECALL), strict=True):
        one, other = exact.scores(baseline).values[metric], exact.scores(winner).values[metric]
        assert stage.baseline.mean == pytest.approx(one.mean())
        assert stage.winner.mean == pytest.approx(other.mean())
        wanted = mean_interval((other - one).tolist())
        found = (stage.difference.mean, stage.difference.low, stage.difference.high)
        assert found == pytest.approx((wanted.mean, wanted.low, wanted.high))
    for stage in stages:
        assert stage.difference.n == 8
        assert stage.difference.mean == pytest.approx(stage.winner.mean - stage.baseline.mean)
    ndcg = {stage.name: stage.baseline.mean for stage in stages if stage.metric == "nDCG@10"}
    assert ndcg["dense"] > ndcg["BM25"], "all-MiniLM-L6-v2 helps on Cranfield"
    assert len({*ndcg.values()}) == 3
    assert {one.rerank is not None for one in opened} == {True, False}
    assert "body" in stages[-1].note


def test_a_model_that_is_nowhere_is_told():
    corpus, queries, qrels = small()

    def open_models(wanted: Program) -> Models:
        return Models(wanted.models, {}, cache=None, secret=lambda reference: reference)

    with pytest.raises(ConfigError, match="all-MiniLM"):
        staged_table(corpus, queries, qrels, program(), program(), open_models=open_models, embedder=minilm_spec())
