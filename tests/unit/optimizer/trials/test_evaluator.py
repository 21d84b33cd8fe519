"""Trials on the embedded engine: right figures, shared and bounded indices, nothing left behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from idxopt.builds.lock import LockSettings
from idxopt.deploy.destroy import destroy
from idxopt.deploy.observed import observe
from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.port import LoadRow, SearchRequest, SearchResponse
from idxopt.errors import BuildError, EvaluationError, SourceError, Unreachable, UsageError
from idxopt.evaluation.judgments import Query
from idxopt.operators.row import Document
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import METRICS, NDCG, Scores
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.trials import ClusterEvaluator, TrialSettings, embedded_trials
from idxopt.optimizer.trials.marks import PREFIX, mark_of
from tests.deploy import harness
from tests.unit.builds.samples import ManualClock
from tests.unit.optimizer.trials.collection import SLICED, everything, program, programs, small, titled

CORPUS, QUERIES, QRELS = small()


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    opened = EmbeddedEngine(tmp_path / "engine")
    yield opened
    opened.close()


def trials(engine: EmbeddedEngine, corpus: Corpus = CORPUS, clock: Any = None, **settings: Any) -> ClusterEvaluator:
    return ClusterEvaluator(engine, corpus, QUERIES, QRELS, TrialSettings("s1", **settings), clock=clock)


def equal(one: Scores, other: Scores) -> bool:
    return all(np.array_equal(one.values[metric], other.values[metric]) for metric in METRICS)


def test_the_figures_are_those_of_the_evaluator_in_memory(engine):
    exact = IncrementalEvaluator(CORPUS, QUERIES, QRELS)
    with trials(engine) as evaluator:
        for wanted in programs():
            found, other = evaluator.scores(wanted), exact.scores(wanted)
            for metric in METRICS:
                np.testing.assert_allclose(found.values[metric], other.values[metric], atol=1e-12)
            assert found.size == other.size
            assert found.size.rows == evaluator.measure(wanted, most=1).rows
            ids = [query.id for query in QUERIES[:3]]
            mine, theirs = (one.rankings(wanted, ids, 5) for one in (evaluator, exact))
            assert {id: [doc for doc, _ in mine[id]] for id in ids} == {
                id: [doc for doc, _ in theirs[id]] for id in ids
            }


def test_the_ranks_in_legs_are_those_of_the_evaluator_in_memory(engine):
    corpus, queries, qrels = small()
    exact = IncrementalEvaluator(corpus, queries, qrels)
    ids = [query.id for query in queries[:5]]
    with ClusterEvaluator(engine, corpus, queries, qrels, TrialSettings("legs")) as trials:
        for wanted in (program(), program(content=titled(0.5), rows=SLICED)):
            found = trials.leg_ranks(wanted, ids, 10)
            assert found == exact.leg_ranks(wanted, ids, 10)
            for query_id, ranking in exact.rankings(wanted, ids, 10).items():
                assert list(found[query_id]) == [doc_id for doc_id, _ in ranking]
                assert all({*ranks} <= {"content.lexical", "rows.lexical"} for ranks in found[query_id].values())


def test_nothing_is_left_and_nothing_else_was_made(engine):
    engine.create_index("theirs", {"mappings": {"dynamic": False}})
    before = everything(engine)
    with trials(engine) as evaluator:
        evaluator.scores(program(content=titled(0.5), rows=SLICED))
        during = {name for name in everything(engine)["indices"] if name != "theirs"}
        assert during == set(evaluator.indices)
        assert all(name.startswith(f"{PREFIX}s1-") for name in during)
        for name in during:
            state = engine.get_index(name)
            assert state is not None
            assert mark_of(state) is not None
            assert state.aliases == {}
            assert state.settings["index.hidden"] == "true"
            assert state.settings["index.number_of_replicas"] == "0"
    assert everything(engine) == before


def test_nothing_is_left_after_an_error(engine):
    evaluator = trials(engine)
    evaluator.scores(program())
    with pytest.raises(EvaluationError), evaluator:
        evaluator.rankings(program(), ["unknown"], 10)
    assert everything(engine)["indices"] == {}


def test_deployments_neither_see_nor_remove_trials(engine, tmp_path):
    data = harness.write_documents(tmp_path / "docs.jsonl", harness.documents(8))
    deployed = harness.program("handbook", views=2)
    harness.put_live(engine, deployed, data, tmp_path)
    with trials(engine) as evaluator:
        evaluator.scores(program("handbook"))
        trial = {name: engine.get_index(name) for name in evaluator.indices}
        assert harness.plan_of(engine, deployed).empty
        seen = observe(engine, "handbook")
        assert set(seen.indices).isdisjoint(trial)
        gone = destroy(engine, "handbook", settings=LockSettings(heartbeat_s=0.5, ttl_s=2.0))
        assert len(gone.indices) == 2
        assert {name: engine.get_index(name) for name in evaluator.indices} == trial
    assert {name for name in everything(engine)["indices"] if name.startswith(PREFIX)} == set()


def test_a_view_shared_by_programs_is_built_once(engine):
    with trials(engine) as evaluator:
        evaluator.scores(program(content=titled(0.5)))
        built = {name: engine.get_index(name) for name in evaluator.indices}
        light = evaluator.scores(program(content=titled(0.5)))
        heavy = evaluator.scores(program("another-name", content=titled(8.0)))
        assert {name: engine.get_index(name) for name in evaluator.indices} == built
        assert not equal(light, heavy), "the weight counts although no index was built for it"
        evaluator.scores(program(content=titled(0.5), rows=SLICED))
        assert len(evaluator.indices) == 2


def test_the_one_unused_longest_goes(engine):
    one, two, three = program(), program(content=titled(1.0)), program(content=titled(1.0, k1=2.0))
    with trials(engine, max_indices=2) as evaluator:
        evaluator.scores(one)
        [first] = evaluator.indices
        evaluator.scores(two)
        evaluator.scores(one)
        evaluator.scores(three)
        assert len(everything(engine)["indices"]) == 2
        assert first in evaluator.indices, "it was used after the second one was made"
        with pytest.raises(BuildError, match="3 views"):
            evaluator.scores(program(content=titled(0.5), rows=SLICED, more={**SLICED, "steps": []}))


def test_indices_that_a_killed_run_finished_are_taken_up(engine):
    killed = trials(engine)
    scores = killed.scores(program())
    left = everything(engine)["indices"]
    with trials(engine) as evaluator:
        assert equal(evaluator.scores(program()), scores)
        assert everything(engine)["indices"] == left
    assert everything(engine)["indices"] == {}


def unfinished(engine: EmbeddedEngine, name: str) -> None:
    state = engine.get_index(name)
    assert state is not None
    meta = state.mappings["_meta"]["idxopt"]
    trial = {key: value for key, value in meta["trial"].items() if key != "rows"}
    engine.put_mapping(name, {"_meta": {"idxopt": {**meta, "trial": trial}}})


def grown(engine: EmbeddedEngine, name: str) -> None:
    engine.put_document(name, "foreign", {"title": "mark0 flow", "text": "mark0", "idxopt": {"doc_id": "foreign"}})


@pytest.mark.parametrize("spoil", [unfinished, grown])
def test_what_is_unfinished_or_was_written_to_is_built_anew(engine, spoil):
    killed = trials(engine)
    scores = killed.scores(program())
    [name] = killed.indices
    before = engine.get_index(name)
    spoil(engine, name)
    with trials(engine) as evaluator:
        assert equal(evaluator.scores(program()), scores)
        after = engine.get_index(name)
        assert before is not None
        assert after is not None
        assert after.uuid != before.uuid


def test_other_documents_are_other_indices(engine):
    killed = trials(engine)
    killed.scores(program())
    fewer = Corpus.of(CORPUS.documents[:10])
    with trials(engine, fewer) as evaluator:
        assert evaluator.scores(program()).size.rows == 10
        assert set(killed.indices) < set(evaluator.indices)
    assert everything(engine)["indices"] == {}


def test_what_a_killed_run_left_counts_and_goes_at_the_end_though_nobody_needs_it(engine):
    killed = trials(engine)
    for weight in (0.5, 1.0, 2.0):
        killed.scores(program(content={**titled(1.0, k1=1.0 + weight)}))
    broken, *whole = killed.indices
    unfinished(engine, broken)
    foreign = ClusterEvaluator(engine, CORPUS, QUERIES, QRELS, TrialSettings("s1-b"))
    foreign.scores(program())
    with trials(engine, max_indices=2) as evaluator:
        evaluator.scores(program())
        there = {state.name for state in engine.list_indices(f"{PREFIX}s1-*")} - set(foreign.indices)
        assert len(there) == 2
        assert there == set(evaluator.indices)
        assert broken not in there
        assert there & set(whole)
    assert everything(engine)["indices"].keys() == set(foreign.indices)
    foreign.close()
    unused = trials(engine)
    unused.scores(program())
    with trials(engine):
        pass
    assert everything(engine)["indices"] == {}, "also where every score was there already"


def test_an_index_of_somebody_is_left_and_the_study_refused(engine):
    killed = trials(engine)
    killed.scores(program())
    [name] = killed.indices
    killed.close()
    theirs = engine.create_index(name, {"mappings": {"dynamic": False}})
    engine.load(name, theirs.uuid, [LoadRow("a", {"x": 1})])
    with pytest.raises(BuildError, match="no trial of this study"), trials(engine) as evaluator:
        evaluator.scores(program())
    assert engine.get_index(name) == theirs


class _Swept(EmbeddedEngine):
    """Somebody sweeps while the first query is on its way."""

    swept = False

    def search(self, requests: Sequence[SearchRequest]) -> list[SearchResponse]:
        if not self.swept:
            self.swept = True
            for state in self.list_indices(f"{PREFIX}*"):
                self.delete_index(state.name, state.uuid)
        return super().search(requests)


def test_an_index_that_was_swept_in_between_is_built_again(tmp_path, engine):
    with trials(engine) as evaluator:
        wanted = evaluator.scores(program())
    swept = _Swept(tmp_path / "swept")
    with trials(swept) as evaluator:
        assert equal(evaluator.scores(program()), wanted)
    assert swept.swept
    assert everything(swept)["indices"] == {}
    swept.close()


def test_a_document_that_cannot_be_stored_leaves_no_index(engine):
    broken = Corpus.of([*CORPUS.documents, Document("z" * 600, {"title": "a", "text": "b"})])
    with pytest.raises(SourceError), trials(engine, broken) as evaluator:
        evaluator.scores(program())
    assert everything(engine)["indices"] == {}


class _Stubborn(EmbeddedEngine):
    def delete_index(self, name: str, uuid: str) -> None:
        raise Unreachable(f"nobody there to delete {name} ({uuid})", remedy="try again")


def test_an_index_that_could_not_be_deleted_is_told(tmp_path, caplog):
    stubborn = _Stubborn(tmp_path / "stubborn")
    with pytest.raises(Unreachable), trials(stubborn) as evaluator:
        evaluator.scores(program())
    assert "idxopt sweep --study s1" in caplog.text
    stubborn.close()


def test_the_time_to_live_is_renewed_while_it_is_used(engine):
    clock = ManualClock()

    def left_s() -> float:
        [state] = engine.list_indices(f"{PREFIX}*")
        mark = mark_of(state)
        assert mark is not None
        return (mark.expires - clock.now()).total_seconds()

    with trials(engine, clock=clock, ttl_s=100.0, searches=1) as evaluator:
        evaluator.scores(program())
        assert left_s() == pytest.approx(100, abs=1)
        clock.sleep(30)
        evaluator.scores(program())
        assert left_s() == pytest.approx(70, abs=1)
        clock.sleep(30)
        evaluator.scores(program())
        assert left_s() == pytest.approx(100, abs=1)


def test_the_rate_limits_hold(engine):
    clock = ManualClock()
    begun = clock.monotonic()
    with trials(engine, clock=clock, documents_per_s=2.0, queries_per_s=0.5, searches=1) as evaluator:
        evaluator.scores(program())
    taken = clock.monotonic() - begun
    assert taken == pytest.approx((len(CORPUS.documents) - 1) / 2.0 + (len(QUERIES) - 1) / 0.5, abs=0.1)


def test_queries_asked_at_the_same_time_change_nothing(engine):
    with trials(engine, searches=1) as one, trials(engine, searches=4) as four:
        assert equal(one.scores(program(content=titled(0.5))), four.scores(program(content=titled(0.5))))


def test_measured(engine):
    with trials(engine) as evaluator:
        whole = evaluator.measure(program(content={}, rows=SLICED), most=4, repeats=2)
        assert whole.latency.n == 4
        assert 0 < whole.latency.p50_ms <= whole.latency.p95_ms
        assert (whole.views, whole.rows) == (2, evaluator.scores(program(content={}, rows=SLICED)).size.rows)
        assert whole.bytes > evaluator.measure(program()).bytes > 0


def test_bad_input_is_refused(engine):
    with pytest.raises(EvaluationError, match="no judgment"):
        ClusterEvaluator(engine, CORPUS, [*QUERIES, Query("new", "flow")], QRELS, TrialSettings("s1"))
    with trials(engine) as evaluator, pytest.raises(EvaluationError, match="no query"):
        evaluator.rankings(program(), ["new"], 10)
    for wrong in ({"max_indices": 0}, {"searches": 0}, {"workers": 0}, {"ttl_s": 0.0}, {"queries_per_s": -1.0}):
        with pytest.raises(UsageError):
            TrialSettings("s1", **wrong)


def test_an_engine_of_its_own():
    with embedded_trials(CORPUS, QUERIES, QRELS) as evaluator:
        assert float(evaluator.scores(program()).values[NDCG].mean()) > 0.5
