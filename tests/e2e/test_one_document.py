"""With `--json` there is one document, or a clear refusal; the options of every command stand anywhere."""

import pytest

from idxopt.errors import ExitCode
from tests.e2e.runner import program, run, write_json

JUDGED = ("--queries", "queries.jsonl", "--qrels", "qrels.tsv")


@pytest.mark.parametrize(
    "arguments",
    [
        ("preset", "--json", "list"),
        ("--json", "preset", "list"),
        ("preset", "list", "--json"),
        ("preset", "--json", "show", "fields"),
        ("--version", "--json"),
        ("--json", "--version"),
        ("plan", "better.json", "--diff", "json", "--json"),
    ],
)
def test_one_document(live, arguments):
    ran = run(*arguments)
    assert ran.code in (ExitCode.OK, ExitCode.CHANGES), ran.err
    assert ran.document
    assert ran.err == ""


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (("--json",), "--json"),
        (("preset", "--json"), "--json"),
        (("--json", "preset"), "--json"),
        (("plan", "better.json", "--diff", "unified", "--json"), "--diff unified"),
        (("plan", "better.json", "--curl", "--json"), "--curl"),
    ],
)
def test_or_wrong_usage_that_is_one_document_too(live, arguments, place):
    ran = run(*arguments)
    assert ran.code == ExitCode.USAGE
    assert ran.document["error"]["path"] == place
    assert ran.document["error"]["remedy"]


def test_a_group_alone_shows_its_help(live):
    told = run("preset")
    assert told.code == ExitCode.OK
    assert "list" in told.out


def dataset(live, *splits):
    (live / "data/qrels").mkdir(parents=True)
    (live / "data/queries.jsonl").write_bytes((live / "queries.jsonl").read_bytes())
    for split in splits:
        (live / f"data/qrels/{split}.tsv").write_bytes((live / "qrels.tsv").read_bytes())


def test_a_split_that_was_asked_for_must_exist(live):
    dataset(live, "dev")
    told = run("evaluate", "handbook", "--dataset", "data", "--split", "tset")
    assert told.code == ExitCode.ERROR
    assert "no judgments for split 'tset' (found: dev)" in told.err
    only = run("evaluate", "handbook", "--dataset", "data")
    assert only.code == ExitCode.OK
    assert "judgments of split dev" in only.out
    assert run("compare", "handbook", "program.json", "--dataset", "data", "--json").document["split"] == "dev"
    assert run("evaluate", "handbook", "--dataset", "data", "--json").document["split"] == "dev"
    assert run("evaluate", "handbook", *JUDGED, "--split", "dev").code == ExitCode.USAGE


def test_a_build_compared_with_itself_is_told(live):
    assert "A and B are the same build" in run("compare", "handbook", "program.json", *JUDGED).out
    assert run("compare", "handbook", "handbook", *JUDGED, "--json").document["same_build"] is True
    changed = {**program(), "fusion": {"k": 10}}
    write_json(live / "other.json", changed)
    assert run("apply", "other.json", "--yes").code == ExitCode.OK
    assert "same build" not in run("compare", "program.json", "handbook", *JUDGED).out
