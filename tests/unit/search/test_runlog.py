"""The run log: bounded, rotated, and never in the way of a search."""

import json
import threading
from pathlib import Path

from idxopt.search.query import DocumentHit, SearchQuery, SearchResult
from idxopt.search.runlog import RunLog, key_hash, read_run_log
from idxopt.search.split import split_key


def result(number: int = 1, **changes: object) -> SearchResult:
    hits = tuple(DocumentHit(f"d{n}", 1.0, {}) for n in range(number))
    return SearchResult(hits, number, True, "b" * 8, **changes)  # type: ignore[arg-type]


def test_what_a_line_says(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "logs/run.jsonl")
    log.record(SearchQuery("Rotate keys", session_key="s1"), result(2, arm="candidate"), 12.34567)
    log.record(SearchQuery("x", arm="incumbent"), result(0, arm="incumbent", fallback="gone"), 1.0)
    log.close()
    text = (tmp_path / "logs/run.jsonl").read_text()
    assert "Rotate" not in text
    assert "s1" not in text
    first, second = read_run_log(tmp_path / "logs/run.jsonl")
    assert (first.arm, first.build, first.docs, first.total, first.ms) == (
        "candidate",
        "b" * 8,
        ("d0", "d1"),
        2,
        12.346,
    )
    assert first.query == key_hash(split_key("rotate keys", None))
    assert first.key == key_hash(split_key("", "s1"))
    assert (first.fallback, first.chosen, second.fallback, second.chosen) == (False, False, True, True)


def test_texts_where_asked_for(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "run.jsonl", texts=True)
    log.record(SearchQuery("Rotate keys " + "x" * 5_000), result(500), 1.0)
    (entry,) = read_run_log(tmp_path / "run.jsonl")
    assert entry.query.startswith("Rotate keys x")
    assert len(entry.query) == 1_000
    assert len(entry.docs) == 100


def test_bounded_and_rotated(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    log = RunLog(path, max_bytes=2_000, files=3)
    for number in range(100):
        log.record(SearchQuery(f"query {number}"), result(), float(number))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run.jsonl", "run.jsonl.1", "run.jsonl.2"]
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 6_000
    times = [entry.ms for entry in read_run_log(path)]
    assert times == sorted(times)
    assert times[-1] == 99.0
    assert log.failed == 0


def test_what_cannot_be_written_is_counted(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    log = RunLog(tmp_path / "file/run.jsonl")
    log.record(SearchQuery("query"), result(), 1.0)
    assert log.failed == 1
    texts = RunLog(tmp_path / "run.jsonl", texts=True)
    texts.record(SearchQuery("lone \ud800 surrogate"), result(), 1.0)
    assert texts.failed == 1
    assert list(read_run_log(tmp_path / "run.jsonl")) == []


def test_lines_that_are_no_entry_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    log = RunLog(path)
    log.record(SearchQuery("query"), result(), 1.0)
    whole = path.read_text()
    path.write_text(whole[:20] + "\n" + "[]\n1\n" + json.dumps({"at": "x"}) + "\n\xff\n" + whole, encoding="latin-1")
    assert len(list(read_run_log(path))) == 1


def test_shared_between_threads(tmp_path: Path) -> None:
    log = RunLog(tmp_path / "run.jsonl", max_bytes=20_000, files=50)

    def write() -> None:
        for _ in range(200):
            log.record(SearchQuery("query"), result(), 1.0)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(list(read_run_log(tmp_path / "run.jsonl"))) == 800
