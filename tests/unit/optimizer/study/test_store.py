"""The databases of a study: trials and events, and scores that studies share."""

import contextlib
import dataclasses
import multiprocessing
import sqlite3
from pathlib import Path

import numpy as np
import pytest

from idxopt.errors import BuildError
from idxopt.evaluation.judgments import Query
from idxopt.operators.registry import FORMS
from idxopt.optimizer.edits import EDITS, edited
from idxopt.optimizer.ports import METRICS, NDCG, Candidate, Proposal, Scores, Size
from idxopt.optimizer.study import scores as scores_of_studies
from idxopt.optimizer.study.scores import ScoreStore, Setting, StoredScores, judged_digest
from idxopt.optimizer.study.store import Decision, StudyStore
from tests.unit.optimizer.proposing import baseline

SETTING = Setting("corpus", "judged", "embedded")


def candidate() -> Candidate:
    edits = EDITS.validate_python([{"edit": "search_field", "view": "content", "field": "title", "weight": 0.5}])
    return Candidate.of(edited(baseline(), edits), Proposal(tuple(edits), "title", "titles are distinct", "test"))


def scores(value: float = 0.5, n: int = 3) -> StoredScores:
    values = {metric: np.linspace(0.0, value, n) for metric in METRICS}
    return StoredScores(Scores(values, Size(10, 1_000, 1)), 1.5)


def test_trials_come_back_as_they_were(tmp_path: Path) -> None:
    store = StudyStore.open(tmp_path / "study.sqlite")
    store.begin(1, 1, candidate(), "embedded", "before")
    store.scored(1, seconds=2.0, p95_ms=3.0, cached=True)
    store.decide([Decision(1, "refused", "it gains nothing", 0.001, 0.6, "nDCG@10")])
    store.close()
    again = StudyStore.open(tmp_path / "study.sqlite")
    (trial,) = again.trials()
    assert trial.proposal == candidate().proposal
    assert (trial.status, trial.reason, trial.gain, trial.confidence) == ("refused", "it gains nothing", 0.001, 0.6)
    assert trial.metric == "nDCG@10"
    assert (trial.seconds, trial.p95_ms, trial.cached, trial.against) == (2.0, 3.0, True, "before")
    again.close()


def test_a_database_from_before_metrics_were_kept_gets_their_column(tmp_path: Path) -> None:
    StudyStore.open(tmp_path / "study.sqlite").close()
    with contextlib.closing(sqlite3.connect(tmp_path / "study.sqlite")) as old:
        old.execute("ALTER TABLE trials DROP COLUMN metric")
    store = StudyStore.open(tmp_path / "study.sqlite")
    assert store.begin(1, 1, candidate(), "embedded").metric is None
    store.close()


def test_a_running_trial_is_dropped_and_a_decided_one_stays(tmp_path: Path) -> None:
    store = StudyStore.open(tmp_path / "study.sqlite")
    store.begin(0, 0, Candidate.of(baseline()), "embedded")
    store.decide([Decision(0, "complete")])
    store.begin(1, 1, candidate(), "embedded", "before")
    assert store.drop_running() == 1
    assert [trial.number for trial in store.trials()] == [0]
    assert store.begin(0, 0, Candidate.of(baseline()), "embedded").status == "complete"
    store.close()


def test_a_search_that_does_not_repeat_itself_is_an_error(tmp_path: Path) -> None:
    store = StudyStore.open(tmp_path / "study.sqlite")
    store.begin(0, 0, Candidate.of(baseline()), "embedded")
    with pytest.raises(BuildError, match="does not repeat itself"):
        store.begin(0, 0, candidate(), "embedded")
    store.close()


def test_an_event_is_noted_once(tmp_path: Path) -> None:
    store = StudyStore.open(tmp_path / "study.sqlite")
    for _ in range(2):
        store.note_once("refused answer", "round 1")
        store.note("resumed", "again")
    assert [event.kind for event in store.events()] == ["refused answer", "resumed", "resumed"]
    store.close()


def test_scores_come_back_bit_for_bit_and_stay(tmp_path: Path) -> None:
    store = ScoreStore.open(tmp_path / "scores.sqlite")
    assert store.get(SETTING, "a") is None
    store.put(SETTING, "a", scores(1 / 3))
    store.put(SETTING, "a", scores(0.9))
    found = store.get(SETTING, "a")
    assert found is not None
    assert found.scores.size == Size(10, 1_000, 1)
    assert all(np.array_equal(found.scores.values[metric], scores(1 / 3).scores.values[metric]) for metric in METRICS)
    for other in (Setting("other", "judged", "embedded"), Setting("corpus", "judged", "opensearch 3")):
        assert store.get(other, "a") is None
    store.close()


def test_a_latency_is_added_once(tmp_path: Path) -> None:
    store = ScoreStore.open(tmp_path / "scores.sqlite")
    store.put(SETTING, "a", scores())
    for p95 in (7.0, 9.0):
        store.put(SETTING, "a", StoredScores(scores().scores, 1.5, p95))
    found = store.get(SETTING, "a")
    assert found is not None
    assert found.p95_ms == 7.0
    store.close()


@pytest.mark.parametrize("blob", [b"\0" * 16, b"\0" * 23, "text"])
def test_damaged_scores_are_an_error(tmp_path: Path, blob: bytes | str) -> None:
    path = tmp_path / "scores.sqlite"
    store = ScoreStore.open(path)
    store.put(SETTING, "a", scores())
    store.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE metric_values SET by_query = ? WHERE metric = ?", (blob, str(NDCG)))
    connection.close()
    again = ScoreStore.open(path)
    with pytest.raises(BuildError, match="are damaged"):
        again.get(SETTING, "a")
    again.close()


@pytest.mark.parametrize("opened", [ScoreStore.open, StudyStore.open])
def test_other_files_are_refused(tmp_path: Path, opened: object) -> None:
    path = tmp_path / "file.sqlite"
    path.write_bytes(b"no database at all, and long enough to look like one" * 100)
    with pytest.raises(BuildError, match="cannot be used as"):
        opened(path)  # type: ignore[operator]
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(BuildError, match="version 99"):
        opened(path)  # type: ignore[operator]


def _puts(path: str, start: int) -> None:
    store = ScoreStore.open(Path(path))
    for number in range(start, start + 20):
        store.put(SETTING, f"program {number}", scores(number / 100))
    store.close()


def test_processes_share_a_store(tmp_path: Path) -> None:
    path = tmp_path / "scores.sqlite"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_puts, args=(str(path), start)) for start in (0, 10)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(timeout=120)
    assert [worker.exitcode for worker in workers] == [0, 0]
    store = ScoreStore.open(path)
    assert len(store) == 30
    store.close()


def test_the_digest_of_judged_queries_sees_text_grade_and_order() -> None:
    queries = [Query("1", "one"), Query("2", "two")]
    qrels = {"1": {"a": 1}, "2": {"b": 2}}
    digests = {
        judged_digest(queries, qrels),
        judged_digest(queries[::-1], qrels),
        judged_digest([Query("1", "ONE"), queries[1]], qrels),
        judged_digest(queries, {**qrels, "2": {"b": 1}}),
    }
    assert len(digests) == 4


def test_scores_of_steps_with_another_meaning_are_not_taken(monkeypatch) -> None:
    before = SETTING.scored_by
    changed = {name: dataclasses.replace(form, version=form.version + 1) for name, form in FORMS.items()}
    monkeypatch.setattr(scores_of_studies, "FORMS", changed)
    scores_of_studies._meaning.cache_clear()
    try:
        assert SETTING.scored_by != before
    finally:
        scores_of_studies._meaning.cache_clear()
