"""`idxopt optimize` and `idxopt study` as a user runs them: killed, resumed, stopped, looked at."""

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.runner import call, run, spawn
from tests.unit.optimizer.study.collection import documents, write_collection
from tests.unit.optimizer.study.making import trials

ENOUGH_S = 120.0
OPTIONS = ("small", "--evaluations", "8", "--test-share", "0.25")


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the small collection, and a study of it that ran undisturbed."""
    folder = tmp_path_factory.mktemp("optimize")
    write_collection(folder / "small")
    (folder / "bare").mkdir()
    lines = (folder / "small" / "corpus.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "bare" / "corpus.jsonl").write_text("".join(lines[:60]), encoding="utf-8")
    ran = call("optimize", *OPTIONS, "--out", "whole", "--json", folder=folder)
    assert ran.code == 0, ran.err
    (folder / "whole.json").write_text(ran.out, encoding="utf-8")
    return folder


def ending(text: str) -> dict[str, Any]:
    """What must be equal for equal studies: no times, no places."""
    plain: dict[str, Any] = json.loads(text)
    for gone in ("cost", "files", "plan", "study", "notes"):
        del plain[gone]
    return plain


def running(folder: Path) -> int | None:
    """The number of a trial that runs now."""
    if not (folder / "study.sqlite").exists():
        return None
    try:
        with contextlib.closing(
            sqlite3.connect(f"file:{folder / 'study.sqlite'}?mode=ro", uri=True, timeout=5.0)
        ) as connection:
            rows = connection.execute("SELECT min(number) FROM trials WHERE status = 'running'").fetchall()
    except sqlite3.Error:  # not made yet
        return None
    return rows[0][0] if rows else None


def kill_inside_a_trial(place: Path, out: str, least: int, options: Sequence[str] = OPTIONS) -> int:
    """Starts the study, kills it with -9 while a trial of at least that number runs, and returns which."""
    process = spawn("optimize", *options, "--out", out, folder=place)
    until = time.monotonic() + ENOUGH_S
    try:
        while time.monotonic() < until and process.poll() is None:
            number = running(place / out)
            if number is not None and number >= least:
                return number
            time.sleep(0.001)
    finally:
        process.kill()
        process.communicate()
    pytest.fail(f"no trial from number {least} on was seen running")


def test_h19_killed_inside_a_trial_three_times_it_ends_as_undisturbed(place: Path) -> None:
    """cases.md H19: resume: 0 running, exactly N finished, nothing done twice."""
    for least in (0, 1, 5):
        kill_inside_a_trial(place, "killed", least)
    ran = call("optimize", *OPTIONS, "--out", "killed", "--json", folder=place)
    assert ran.code == 0, ran.err
    assert ending(ran.out) == ending((place / "whole.json").read_text(encoding="utf-8"))
    assert trials(place / "killed") == trials(place / "whole")
    assert all(status != "running" for _, _, status, _, _ in trials(place / "killed"))
    assert (place / "killed" / "program.json").read_bytes() == (place / "whole" / "program.json").read_bytes()


def test_killed_at_random_moments_it_ends_as_undisturbed(place: Path) -> None:
    chance = random.Random(20_240_229)
    for _ in range(4):
        process = spawn("optimize", *OPTIONS, "--out", "anywhere", "--workers", "2", folder=place)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=chance.uniform(0.3, 6.0))
        process.kill()
        process.communicate()
    ran = call("optimize", *OPTIONS, "--out", "anywhere", "--json", folder=place, variables={"PYTHONHASHSEED": "7"})
    assert ran.code == 0, ran.err
    assert ending(ran.out) == ending((place / "whole.json").read_text(encoding="utf-8"))
    assert trials(place / "anywhere") == trials(place / "whole")


def test_the_first_ctrl_c_ends_it_after_the_program_that_is_scored(place: Path) -> None:
    process = spawn("optimize", *OPTIONS, "--out", "stopped", folder=place)
    until = time.monotonic() + ENOUGH_S
    while time.monotonic() < until and running(place / "stopped") is None and process.poll() is None:
        time.sleep(0.001)
    os.kill(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=ENOUGH_S)
    assert process.returncode == 130, err
    assert "stopping after this step" in err
    assert "what was scored is kept" in err
    assert all(status != "running" for _, _, status, _, _ in trials(place / "stopped"))
    ran = call("optimize", *OPTIONS, "--out", "stopped", "--json", folder=place)
    assert ending(ran.out) == ending((place / "whole.json").read_text(encoding="utf-8"))


def test_a_second_process_exits_3(place: Path) -> None:
    process = spawn("optimize", *OPTIONS, "--out", "busy", "--evaluations", "40", folder=place)
    try:
        until = time.monotonic() + ENOUGH_S
        while time.monotonic() < until and running(place / "busy") is None and process.poll() is None:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGSTOP)  # it holds the lock for as long as it takes to look
        ran = call("optimize", *OPTIONS, "--out", "busy", folder=place)
        assert ran.code == 3, ran.err
        assert "another process works on this study" in ran.err
        listed = call("study", "list", "busy", "--json", folder=place).document
        assert [one["state"] for one in listed] == ["running"]
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def here(place: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(place)
    return place


def test_it_ends_with_figures_warnings_files_and_the_plan_line(here: Path) -> None:
    ran = run("optimize", *OPTIONS, "--out", "whole")
    assert ran.code == 0, ran.err
    for words in (
        "Accepted changes",
        "small (test)",
        "small (held-out)",
        "Judged@10",
        "the objective is",
        "report: whole/report.html",
        "idxopt plan whole/program.json --source small --cluster local",
        "idxopt apply whole/program.json --source small --cluster local",
        "95% of queries take up to",
    ):
        assert words in ran.out
    assert run("plan", "whole/program.json", "--source", "small", "--cluster", "local").code == 2


def test_time_that_is_used_up_exits_6_with_what_there_is(here: Path) -> None:
    ran = run("optimize", *OPTIONS, "--out", "late", "--time-limit", "1ms", "--json")
    assert ran.code == 6, ran.err
    assert ran.document["finished"] is False
    assert "time of this run is used up" in ran.document["stopped"]
    shown = run("study", "show", "late", "--json").document
    assert {trial["status"] for trial in shown["trials"]} == {"waiting"}
    text = run("study", "show", "late").out
    assert "0 programs tried, 0 kept" in text
    assert "of an unfinished round wait for the next run" in text


def test_list_show_export_and_diagnose(here: Path) -> None:
    listed = run("study", "list")
    assert "whole" in listed.out
    row = next(one for one in run("study", "list", "--json").document if one["study"] == "whole")
    assert row["best"]["low"] <= row["best"]["mean"] <= row["best"]["high"]
    assert row["n"] == row["best"]["n"]
    shown = run("study", "show", "whole")
    assert "Not kept" in shown.out
    assert "--- baseline/docs.json" in shown.out
    assert run("study", "show", "whole", "--diff").out.startswith("--- baseline/docs.json")
    assert run("study", "show", "whole", "--json").document["winner"]["name"] == "docs"
    winner = json.loads((here / "whole" / "program.json").read_text(encoding="utf-8"))
    assert run("study", "export", "whole").document == winner
    assert run("study", "export", "whole", "--point", "0").document != winner
    assert run("study", "export", "whole", "--out", "mine.json").code == 0
    assert json.loads((here / "mine.json").read_text(encoding="utf-8")) == winner
    assert run("validate", "mine.json").code == 0
    diagnosed = run("study", "diagnose", "whole", "--of", "baseline", "--queries-shown", "2")
    assert "kind of failure" in diagnosed.out
    assert "relevant p" in diagnosed.out
    assert run("study", "diagnose", "whole", "--json").document["n"] > 0


def test_the_report_is_written_again_from_the_record(here: Path) -> None:
    report = here / "whole" / "report.html"
    text = report.read_text(encoding="utf-8")
    report.unlink()
    assert run("study", "report", "whole").out == "report: whole/report.html\n"
    assert report.read_text(encoding="utf-8") == text
    for _ in range(2):  # an older report is replaced
        assert run("study", "report", "whole", "--out", "there.html", "--json").document == {"report": "there.html"}
    assert (here / "there.html").read_text(encoding="utf-8") == text
    (here / "page.html").write_text("<!doctype html><title>mine</title>", encoding="utf-8")
    refused = run("study", "report", "whole", "--out", "page.html")
    assert refused.code == 64
    assert "is not a report; it would be lost" in refused.err


def test_synthetic_judgments_are_called_so_everywhere(here: Path) -> None:
    """From `queries make` to every report of a study, beside sets that somebody judged."""
    pages = [
        {**page, "title": f"{page['title']} explained to new operators, part {number}"}
        for number, page in enumerate(documents())
    ]
    (here / "pages.jsonl").write_text("".join(f"{json.dumps(page)}\n" for page in pages), encoding="utf-8")
    made = run("queries", "make", "pages.jsonl", "--out", "made", "--from", "titles")
    assert made.code == 0, made.err
    sets = ("--dev", "made", "--dev", "small", "--test-share", "0.2")
    whole = run("optimize", "pages.jsonl", *sets, "--out", "synthetic")
    assert whole.code == 64, "the documents still have the texts of the queries"
    assert "give made as the documents" in whole.err
    assert not (here / "synthetic").exists()
    ran = run("optimize", "made", *sets, "--evaluations", "2", "--out", "synthetic")
    assert ran.code == 0, ran.err
    words = "made: synthetic judgments (known-item from titles"
    assert f"! {words}" in ran.out
    again = run("optimize", "made", *sets, "--evaluations", "2", "--out", "synthetic", "--json")
    assert words in again.document["synthetic"]
    record = json.loads((here / "synthetic" / "record.json").read_text(encoding="utf-8"))
    assert words in record["synthetic"]
    assert {(each["name"], each["role"], each["synthetic"]) for each in record["sets"]} == {
        (name, role, name == "made") for name in ("made", "small") for role in ("dev", "held_out", "test")
    }
    page = (here / "synthetic" / "report.html").read_text(encoding="utf-8")
    assert "Synthetic judgments" in page
    assert words in page
    assert f"! {words}" in run("study", "show", "synthetic").out
    listed = {one["study"]: one["synthetic"] for one in run("study", "list", "--json").document}
    assert (listed["synthetic"], listed["whole"]) == (["made"], [])
    assert "(synthetic" in run("study", "list", "synthetic").out
    kill_inside_a_trial(here, "begun-synthetic", 1, ("made", "--evaluations", "4"))
    assert "! synthetic judgments: made" in run("study", "show", "begun-synthetic").out


def test_the_winner_has_the_name_that_was_asked_for(here: Path) -> None:
    given = json.loads((here / "whole" / "program.json").read_text(encoding="utf-8"))
    asked = ("optimize", "small", "--program", "whole/program.json", "--evaluations", "1", "--no-latency")
    ran = run(*asked, "--name", "handbook", "--out", "named", "--json")
    assert ran.code == 0, ran.err
    assert "the program is called handbook here and in its winner, not docs" in ran.err
    assert ran.document["winner"]["name"] == "handbook"
    assert json.loads((here / "named" / "record.json").read_text("utf-8"))["baseline"] == {**given, "name": "handbook"}
    kept = run(*asked, "--out", "kept", "--json")
    assert kept.document["winner"]["name"] == "docs"
    assert "is called" not in kept.err
    assert run(*asked, "--name", "No Name", "--out", "x").code == 64


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("optimize", "small", "--out", "x", "--searcher", "cami"), 64, "no searcher 'cami'"),
        (("optimize", "small", "--out", "x", "--rule", "lucky"), 64, "use guarded, paper"),
        (("optimize", "small", "--out", "x", "--proposer", "oracle"), 64, "no proposer 'oracle'"),
        (("optimize", "small", "--out", "x", "--proposer", "llm"), 64, "name one with --model ID"),
        (("optimize", "small", "--out", "x", "--sample", "20"), 64, "80 documents are judged"),
        (("optimize", "small", "--out", "x", "--engine", "nowhere"), 1, 'there is no cluster "nowhere"'),
        (("optimize", "small/corpus.jsonl", "--out", "x"), 64, "add --dev FOLDER"),
        (("optimize", "small", "--out", "small"), 64, "holds other files"),
        (("optimize", "small", "--out", "x", "--test", "nowhere"), 1, "is not a folder"),
        (("optimize", *OPTIONS, "--out", "whole", "--seed", "1"), 1, "begun with other settings: seed was 0, is 1"),
        (("optimize", "small", "--out", "x", "--dev", "small", "--split", "test"), 64, "not used with --dev"),
        (("optimize", "small", "--out", "x", "--dev", "small", "--dataset", "small"), 64, "exclude each other"),
        (("optimize", "small", "--out", "x", "--dev", "small", "--dev", "./small"), 64, "given twice"),
        (("optimize", "small", "--out", "x", "--dev", "small", "--test", "small"), 64, "given as --test too"),
        (("optimize", "small", "--out", "x", "--test", "small", "--test-share", "0.2"), 64, "leave one of them out"),
        (("optimize", "small", "--out", "x", "--dataset", "small", "--test", "small"), 1, "also in a test set"),
        (("optimize", "small/corpus.jsonl", "--out", "x"), 64, "idxopt queries make"),
        (("optimize", "bare", "--out", "x"), 1, "--dev FOLDER; `idxopt queries make`"),
        (("optimize", "bare", "--dev", "small", "--out", "x"), 1, "--allow-missing"),
        (("optimize", "bare", "--dev", "small", "--out", "x"), 1, "error: small: "),
        (("optimize", "small", "--out", "bare/corpus.jsonl"), 64, "is a file"),
        (("optimize", "small", "--out", "x", "--name", "Bad Name"), 64, "error: --name: "),
        (("optimize", "small", "--out", "x", "--program", "whole/program.json", "--name", "A"), 64, "error: --name: "),
        (("optimize", "small", "--out", "x", "--max-p95", "abc"), 64, "50ms"),
        (("optimize", "small", "--out", "x", "--field", "body=nosuch"), 1, "--field"),
        (("optimize", *OPTIONS, "--out", "whole", "--evaluations", "9"), 1, "--scores whole/scores.sqlite"),
        (("canary", "stop", "nobody", "--yes"), 1, "nothing was built under this name"),
        (("canary", "status", "nobody"), 1, "idxopt apply program.json"),
        (("study", "show", "small"), 64, "is no folder of a study"),
        (("study", "export", "whole", "--point", "999"), 64, "no program of trial 999"),
        (("study", "export", "whole", "--out", "small/qrels/test.tsv"), 64, "it would be lost"),
        (("study", "diagnose", "whole", "--of", "both"), 64, "use winner or baseline"),
        (("study", "list", "nowhere"), 64, "is no folder"),
    ],
)
def test_wrong_use_says_what_to_do(here: Path, arguments: tuple[str, ...], code: int, words: str) -> None:
    ran = run(*arguments)
    assert ran.code == code, ran.err
    assert words in ran.err
    assert "remedy: " in ran.err
    refused = run(*arguments, "--json")
    assert refused.code == code
    assert refused.document["error"]["message"]
    assert not (here / "x" / "study.sqlite").exists()


def test_a_damaged_study_does_not_hide_the_others(here: Path) -> None:
    damaged = here / "several" / "damaged"
    shutil.copytree(here / "whole", here / "several" / "good")
    shutil.copytree(here / "whole", damaged)
    (damaged / "record.json").write_text("{", encoding="utf-8")
    listed = run("study", "list", "several")
    assert listed.code == 0
    assert "! several/damaged is damaged: " in listed.out
    states = {one["study"]: one["state"] for one in run("study", "list", "several", "--json").document}
    assert states == {"several/good": "finished", "several/damaged": "damaged"}


def test_a_study_in_which_nothing_happened_yet_can_be_looked_at(here: Path) -> None:
    kill_inside_a_trial(here, "begun", 1)
    shown = run("study", "show", "begun")
    assert shown.code == 0
    assert "no result yet" in shown.out
    assert run("study", "export", "begun").code == 1
    assert run("study", "export", "begun", "--point", "0").code == 0
    assert "has no result yet" in run("study", "diagnose", "begun").err
    assert run("study", "report", "begun").code == 1


def test_scored_on_an_engine_of_a_profile_the_figures_are_the_same_and_nothing_is_left(here: Path) -> None:
    (here / "idxopt.toml").write_text(
        'default = "local"\n[clusters.local]\nengine = "embedded"\nfolder = ".idxopt/local"\n'
        '[clusters.other]\nengine = "embedded"\nfolder = "other"\n',
        encoding="utf-8",
    )
    try:
        paces = ("--documents-per-second", "400", "--queries-per-second", "0")
        ran = run("optimize", *OPTIONS, "--out", "on-other", "--engine", "other", *paces, "--json")
        assert ran.code == 0, ran.err
        whole = json.loads((here / "whole.json").read_text(encoding="utf-8"))
        assert ran.document["winner"] == whole["winner"]
        assert ran.document["finals"] == whole["finals"]
        assert len((here / "on-other" / "study.id").read_text(encoding="utf-8").split()[0]) == 8
        assert not (here / "whole" / "study.id").exists()
        swept = run("sweep", "--cluster", "other", "--all", "--yes", "--json")
        assert swept.document["deleted"] == []
    finally:
        (here / "idxopt.toml").unlink()
