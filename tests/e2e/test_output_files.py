"""Options that name a file to write never lose a file of somebody."""

import json

import pytest

from idxopt.errors import ExitCode
from tests.e2e.runner import run

JUDGED = ("--queries", "queries.jsonl", "--qrels", "qrels.tsv")
PLAN = ("plan", "better.json", "--source", "docs.jsonl")


@pytest.mark.parametrize(
    ("arguments", "file"),
    [
        ((*PLAN, "--out", "better.json"), "better.json"),
        ((*PLAN, "--out", "./better.json"), "better.json"),
        ((*PLAN, "--out", "program.json"), "program.json"),
        ((*PLAN, "--out", "docs.jsonl"), "docs.jsonl"),
        (("rollback", "handbook", "--out", "program.json"), "program.json"),
        (("evaluate", "handbook", *JUDGED, "--run-out", "qrels.tsv"), "qrels.tsv"),
        (("evaluate", "handbook", *JUDGED, "--run-out", "program.json"), "program.json"),
        (("compile", "better.json", "--out", "made"), "made/index_templates/handbook--content.json"),
    ],
)
def test_a_foreign_file_is_refused_and_stays(live, arguments, file):
    path = live / file
    if not path.exists():
        path.parent.mkdir(parents=True)
        path.write_text('{"mine": true}')
    before = path.read_bytes()
    told = run(*arguments)
    assert told.code == ExitCode.USAGE, told.err
    assert file in told.err
    assert "would be lost" in told.err
    assert "another file" in told.err
    assert path.read_bytes() == before


def test_a_folder_is_refused_before_any_work(live):
    told = run(*PLAN, "--out", ".")
    assert told.code == ExitCode.USAGE
    assert told.out == ""


def test_what_the_same_command_wrote_is_replaced(live):
    (live / "plan.json").touch()
    for _ in range(2):
        assert run(*PLAN, "--out", "plan.json").code == ExitCode.CHANGES
        assert json.loads((live / "plan.json").read_text())["schema"] == "idxopt-plan/1"
        assert run("evaluate", "handbook", *JUDGED, "--run-out", "run.trec").code == ExitCode.OK
        assert run("compile", "better.json", "--out", "made").code == ExitCode.OK
