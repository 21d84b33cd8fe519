"""Studies from their inputs to their record: repeatable, resumable, the same with one worker and two."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from idxopt.errors import BuildError, EvaluationError, LockedError
from idxopt.evaluation.judgments import JudgedQueries
from idxopt.optimizer.baseline import baseline_program
from idxopt.optimizer.ports import NDCG, RECALL, Candidate, Scores, Size
from idxopt.optimizer.record import StudyRecord
from idxopt.optimizer.report.page import render
from idxopt.optimizer.study.folder import StudyFolder
from idxopt.optimizer.study.inputs import Quiet, RunLimits, StudySettings
from idxopt.optimizer.study.latency import MOST_ROWS, Measurable, latencies
from idxopt.optimizer.study.manifest import StudyManifest
from idxopt.optimizer.study.recording import most_moved
from idxopt.optimizer.study.run import run_study
from idxopt.program.schema import Program, Source
from tests.unit.builds.samples import ManualClock
from tests.unit.optimizer.study import making
from tests.unit.optimizer.study.collection import PAGES, write_collection
from tests.unit.optimizer.study.making import COUNTED, found, inputs, scored_programs, trials


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_collection(tmp_path_factory.mktemp("collection") / "small")


@pytest.fixture(scope="module")
def done(collection: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, StudyRecord]:
    """A study that ran to its end undisturbed."""
    folder = tmp_path_factory.mktemp("done") / "study"
    return folder, run_study(inputs(collection), folder).record


class Stopping(Quiet):
    """Raises KeyboardInterrupt after so many programs, as the command line's progress does."""

    def __init__(self, after: int) -> None:
        self.left = after

    def advance(self, what: str, done: int, total: int) -> None:
        if what == "score programs":
            self.left -= 1
            if not self.left:
                raise KeyboardInterrupt


def test_it_finds_the_title(done: tuple[Path, StudyRecord]) -> None:
    folder, record = done
    assert record.path
    assert record.path[0].kind.startswith("title")
    test = next(one for one in record.finals if one.role == "test" and one.metric == str(NDCG))
    assert test.difference.n == PAGES // 4
    assert test.difference.low is not None
    assert test.difference.low > 0
    assert json.loads((folder / "program.json").read_text()) == record.winner
    assert StudyRecord.from_json((folder / "record.json").read_bytes()) == record
    assert "<html" in (folder / "report.html").read_text(encoding="utf-8")[:200]
    assert [query_set.role for query_set in record.sets] == ["dev", "held_out", "test"]
    assert sum(query_set.n for query_set in record.sets) == PAGES


def test_rankings_say_which_leg_found_a_document_and_what_judged_documents_alone_give(
    done: tuple[Path, StudyRecord],
) -> None:
    record = done[1]
    assert record.rankings
    for each in record.rankings:
        for ranked in each.lists.values():
            for place, shown in enumerate(ranked, 1):
                assert shown.legs
                assert min(shown.legs.values()) <= place or len(shown.legs) > 1
    assert {(one.label, one.set) for one in record.coverage} == {
        (label, f"small ({role})") for label in ("baseline", "winner") for role in ("dev", "held-out", "test")
    }
    for one in record.coverage:
        # a page is judged for each query: alone it stands first wherever it is found
        assert one.left_out is not None
        assert one.left_out.mean == pytest.approx(1.0)
        assert one.as_irrelevant.mean < 1 or one.label == "winner"
    assert "nDCG@10, unjudged left out" in (done[0] / "report.html").read_text(encoding="utf-8")
    assert "the objective is" not in record.objective.why


def test_the_queries_that_moved_in_the_objective_come_first() -> None:
    size = Size(1, 1, 1)
    before = Scores({RECALL: np.zeros(4), NDCG: np.zeros(4)}, size)
    after = Scores({RECALL: np.array([0, 0.5, 0, 0]), NDCG: np.array([0.9, 0.1, 0.0, -0.95])}, size)
    assert most_moved(before, after, RECALL) == [1, 3, 0]
    assert most_moved(before, after, NDCG) == [3, 0, 1]


def test_another_run_finds_the_same(collection: Path, done: tuple[Path, StudyRecord], tmp_path: Path) -> None:
    again = run_study(inputs(collection), tmp_path / "again").record
    assert found(again) == found(done[1])
    assert trials(tmp_path / "again") == trials(done[0])


def test_two_workers_find_the_same(collection: Path, done: tuple[Path, StudyRecord], tmp_path: Path) -> None:
    both = run_study(inputs(collection, limits=RunLimits(workers=2)), tmp_path / "both").record
    assert found(both) == found(done[1])
    assert trials(tmp_path / "both") == trials(done[0])


def test_a_finished_study_gives_its_result_again_and_scores_nothing(
    collection: Path, done: tuple[Path, StudyRecord]
) -> None:
    making.SCORED.clear()
    again = run_study(inputs(collection, engine=COUNTED), done[0]).record
    assert making.SCORED == []
    assert found(again) == found(done[1])


@pytest.mark.parametrize("after", [1, 3, 6])
def test_stopped_and_taken_up_again_it_ends_as_if_nothing_had_happened(
    collection: Path, done: tuple[Path, StudyRecord], tmp_path: Path, after: int
) -> None:
    folder = tmp_path / "stopped"
    making.SCORED.clear()
    with pytest.raises(KeyboardInterrupt):
        run_study(inputs(collection, engine=COUNTED), folder, Stopping(after))
    assert all(status != "running" for _, _, status, _, _ in trials(folder))
    record = run_study(inputs(collection, engine=COUNTED), folder).record
    assert found(record) == found(done[1])
    assert trials(folder) == trials(done[0])
    assert len(making.SCORED) == len(set(making.SCORED)), "a program was scored twice"


def test_studies_share_a_store_of_scores(collection: Path, done: tuple[Path, StudyRecord], tmp_path: Path) -> None:
    scores = tmp_path / "scores.sqlite"
    limits = RunLimits(scores=scores)
    run_study(inputs(collection, limits=limits), tmp_path / "one")
    before = scored_programs(scores)
    making.SCORED.clear()
    paper = run_study(
        inputs(collection, limits=limits, engine=COUNTED, search={"rule": "paper"}), tmp_path / "paper"
    ).record
    assert paper.cost is not None
    assert paper.cost.cache_hits > 0
    assert len(making.SCORED) == scored_programs(scores) - before
    again = run_study(inputs(collection, limits=limits), tmp_path / "again").record
    assert found(again) == found(done[1])


def test_out_of_time_it_stops_with_what_it_has_and_goes_on_later(
    collection: Path, done: tuple[Path, StudyRecord], tmp_path: Path
) -> None:
    folder = tmp_path / "late"
    late = run_study(inputs(collection, limits=RunLimits(time_s=0.0)), folder)
    assert late.stopped is not None
    assert not late.record.finished
    assert not late.record.path
    assert late.program == inputs(collection).baseline
    assert {trial.status for trial in late.record.trials} == {"waiting"}
    assert not late.record.tried
    assert late.record.without_change.startswith("stopped before a round was finished")
    assert "Stopped before a round was finished" in render(late.record)
    on = run_study(inputs(collection), folder)
    assert on.stopped is None
    assert found(on.record) == found(done[1])
    assert any(note.kind == "held-out" for note in on.record.notes), "the second look at held-out queries is said"


def test_out_of_time_again_it_keeps_what_was_decided_before(
    collection: Path, done: tuple[Path, StudyRecord], tmp_path: Path
) -> None:
    folder = tmp_path / "again"
    shutil.copytree(done[0], folder)
    again = run_study(inputs(collection, limits=RunLimits(time_s=0.0)), folder)
    assert found(again.record) == found(done[1])
    assert [step.metric for step in again.record.path] == [step.metric for step in done[1].path]
    assert {step.metric for step in again.record.path} <= {"Recall@100", "nDCG@10"}


def test_random_programs_stand_beside_the_search_and_change_nothing_in_it(
    collection: Path, done: tuple[Path, StudyRecord], tmp_path: Path
) -> None:
    folder = tmp_path / "controls"
    record = run_study(inputs(collection, limits=RunLimits(controls=5)), folder).record
    assert len(record.controls) == 5
    assert len({(one.value.mean, one.size.bytes) for one in record.controls}) > 1, "they are different programs"
    assert all(one.value.n == done[1].trials[0].values[str(NDCG)].n for one in record.controls)
    assert {**found(record), "controls": []} == found(done[1])
    assert trials(folder) == trials(done[0])
    again = run_study(inputs(collection, limits=RunLimits(controls=5)), folder).record
    assert again.controls == record.controls
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert all(f"{one.label}: " in page for one in record.controls)
    assert not done[1].controls


def test_latency_is_measured_beside_and_changes_nothing(
    collection: Path, done: tuple[Path, StudyRecord], tmp_path: Path
) -> None:
    record = run_study(inputs(collection, limits=RunLimits(latency_s=60.0)), tmp_path / "timed").record
    assert found(record) == found(done[1])
    assert all(column.p95_ms is not None and column.p95_ms > 0 for column in record.columns)
    assert all(step.p95_ms is not None for step in record.attribution)
    assert all(column.p95_ms is None for column in done[1].columns)


def test_latencies_stop_where_their_time_would_not_do() -> None:
    clock, asked = ManualClock(), []

    def latency(program: Program) -> float:
        asked.append(program.name)
        clock.sleep(4.0)
        return 1.0

    small, large = Size(10, 10, 1), Size(MOST_ROWS + 1, 10, 1)
    source = Source(fields={"title": "title", "body": "text"})
    programs = {name: Candidate.of(baseline_program(source, name)) for name in ("a", "large", "b", "c")}
    wanted = [Measurable(one, large if name == "large" else small) for name, one in programs.items()]
    measured = latencies(latency, [*wanted[:1], *wanted], 11.0, clock, lambda: None)
    assert asked == ["a", "b"]
    assert measured == {programs["a"].hash: 1.0, programs["b"].hash: 1.0}


def test_a_second_process_is_refused(collection: Path, tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    place = StudyFolder(folder)
    place.create()
    with place.exclusive(), pytest.raises(LockedError, match="another process works on this study"):
        run_study(inputs(collection), folder)


def test_other_documents_queries_and_settings_are_refused(
    collection: Path, done: tuple[Path, StudyRecord], tmp_path: Path
) -> None:
    other = write_collection(tmp_path / "other", seed=8)
    with pytest.raises(BuildError, match="other documents: digest was"):
        run_study(inputs(other), done[0])
    with pytest.raises(BuildError, match="other settings: evaluations was 8, is 9"):
        run_study(inputs(collection, evaluations=9), done[0])
    given = inputs(collection)
    judged = given.sets[0].judged
    fewer = replace(given.sets[0], judged=JudgedQueries(judged.queries[1:], judged.qrels))
    with pytest.raises(BuildError, match="other queries or judgments"):
        run_study(replace(given, sets=[fewer]), done[0])


def test_the_same_documents_elsewhere_are_the_same_study(done: tuple[Path, StudyRecord], tmp_path: Path) -> None:
    moved = write_collection(tmp_path / "moved")
    assert found(run_study(inputs(moved), done[0]).record) == found(done[1])


def test_a_damaged_manifest_is_an_error(collection: Path, tmp_path: Path) -> None:
    folder = tmp_path / "damaged"
    run_study(inputs(collection, evaluations=1), folder)
    manifest = folder / "manifest.json"
    whole = manifest.read_text(encoding="utf-8")
    for text, message in (
        (whole[: len(whole) // 2], "cannot be read"),
        (whole.replace('"seed": 0', '"seed": 1', 1), "digest does not agree"),
        (whole.replace("idxopt-study/1", "idxopt-study/9"), "is of schema idxopt-study/9"),
        ("[]", "cannot be read"),
    ):
        manifest.write_text(text, encoding="utf-8")
        with pytest.raises(BuildError, match=message):
            run_study(inputs(collection, evaluations=1), folder)
    manifest.write_text(whole, encoding="utf-8")
    assert StudyManifest.read(manifest).study == "small"


def test_judged_documents_that_are_missing_are_an_error_unless_allowed(collection: Path, tmp_path: Path) -> None:
    given = inputs(collection, evaluations=1)
    judged = given.sets[0].judged
    gone = replace(judged, qrels={**judged.qrels, "q00": {"p00": 1, "nowhere": 1}})
    missing = replace(given, sets=[replace(given.sets[0], judged=gone)])
    with pytest.raises(EvaluationError, match="'nowhere'"):
        run_study(missing, tmp_path / "missing")
    allowed = replace(missing, settings=replace(missing.settings, allow_missing=True))
    record = run_study(allowed, tmp_path / "allowed").record
    assert any(note.kind == "missing" and "nowhere" in note.examples for note in record.notes)


def test_a_query_of_very_many_words_is_noted_and_stops_nothing(collection: Path, tmp_path: Path) -> None:
    given = inputs(collection, evaluations=6)
    judged = given.sets[0].judged
    first, *others = judged.queries
    long = replace(first, text=" ".join([first.text, *(f"word{n}" for n in range(1_100))]))
    sets = [replace(given.sets[0], judged=replace(judged, queries=(long, *others)))]
    record = run_study(replace(given, sets=sets), tmp_path / "long").record
    (note,) = (note for note in record.notes if note.kind == "long queries")
    assert note.examples == (f"{first.id} (1,106 words)",)
    assert len(record.trials) >= 6
    assert not [trial for trial in record.trials if trial.status == "failed"]


def test_a_sample_is_searched_and_everything_measured(collection: Path, tmp_path: Path) -> None:
    given = inputs(collection)
    judged = given.sets[0].judged
    few = JudgedQueries(judged.queries[:24], {query.id: judged.qrels[query.id] for query in judged.queries[:24]})
    sampled = replace(
        given, sets=[replace(given.sets[0], judged=few)], settings=replace(given.settings, sample=40, test=0.0)
    )
    record = run_study(sampled, tmp_path / "sampled").record
    assert record.sampled is not None
    assert (record.sampled.sample_documents, record.sampled.documents) == (40, PAGES)
    gain = next(row for row in record.sampled.rows if row.metric == str(NDCG))
    assert gain.sample.mean > 0
    assert gain.full.mean != gain.sample.mean, "equal figures would mean that one of them was not measured"


def test_slow_programs_are_refused(collection: Path, tmp_path: Path) -> None:
    given = inputs(collection, evaluations=2)
    impossible = replace(given, settings=replace(given.settings, max_p95_ms=1e-6))
    record = run_study(impossible, tmp_path / "slow").record
    assert not record.path
    scored = [trial for trial in record.trials if trial.status == "failed"]
    assert scored
    assert record.columns[0].p95_ms is not None
    assert all("and the limit is 1e-06 ms" in (trial.reason or "") for trial in scored)
    assert all(trial.p95_ms is not None and trial.p95_ms > 0 for trial in scored)


def test_two_dev_sets_and_a_test_set(collection: Path, tmp_path: Path) -> None:
    given = inputs(collection)
    judged = given.sets[0].judged
    parts = [judged.queries[start::3] for start in range(3)]
    sets = [
        replace(
            given.sets[0],
            name=name,
            judged=JudgedQueries(queries, {query.id: judged.qrels[query.id] for query in queries}),
            test=name == "unseen",
        )
        for name, queries in zip(("one", "two", "unseen"), parts, strict=True)
    ]
    settings = StudySettings(given.settings.search, test=0.0)
    record = run_study(replace(given, sets=sets, settings=settings), tmp_path / "sets").record
    roles = {(each.name, each.role): each.n for each in record.sets}
    assert roles["unseen", "test"] == len(parts[2])
    assert {("one", "dev"), ("two", "dev"), ("one", "held_out"), ("two", "held_out")} <= roles.keys()
    assert all(np.isfinite(final.difference.mean) for final in record.finals)
