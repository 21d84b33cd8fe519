"""Wrong usage (64), names that are not there, damaged files, and destructive names with wildcards."""

import pytest

from idxopt.errors import ExitCode
from tests.e2e.bad import Bad, text
from tests.e2e.outcome import refused
from tests.e2e.runner import run

JUDGED = ("--queries", "queries.jsonl", "--qrels", "qrels.tsv")
APPLY = ("apply", "better.json", "--source", "docs.jsonl", "--yes")


def usage(id_: str, *arguments: str, says: str, remedy: str = "", write=None) -> Bad:
    return Bad(id_, arguments, (says,), remedy, ExitCode.USAGE, write)


def plan_file(folder) -> None:
    assert run("plan", "better.json", "--source", "docs.jsonl", "--out", "plan.json").code == ExitCode.CHANGES


USAGE = [
    usage("unknown option", "plan", "--bogus", says="no such option: --bogus", remedy="idxopt plan --help"),
    usage("unknown command", "plna", "program.json", says="Did you mean 'plan'", remedy="idxopt --help"),
    usage("unknown subcommand", "preset", "lst", says="list"),
    usage("no argument", "plan", says="PROGRAM", remedy="idxopt plan --help"),
    usage("an argument too many", "validate", "program.json", "better.json", says="better.json"),
    usage("number that is none", "search", "handbook", "keys", "-k", "ten", says="'-k'"),
    usage("k of 0", "search", "handbook", "keys", "-k", "0", says="'-k'"),
    usage("negative offset", "search", "handbook", "keys", "--offset", "-1", says="--offset"),
    usage("unknown form of diff", "plan", "program.json", "--diff", "side", says="side"),
    usage("unknown engine", "compile", "program.json", "--engine", "solr", says="solr"),
    usage(
        "filter that is no JSON", "search", "handbook", "keys", "--filter", "lang:en", says="--filter", remedy="term"
    ),
    usage("filter that is a list", "search", "handbook", "keys", "--filter", "[]", says="--filter", remedy="term"),
    usage(
        "unknown kind of filter",
        "search",
        "handbook",
        "k",
        "--filter",
        '{"fuzzy": {"a": "b"}}',
        says="fuzzy",
        remedy="term",
    ),
    usage(
        "filter on an unknown field",
        "search",
        "handbook",
        "k",
        "--filter",
        '{"term": {"lnag": "en"}}',
        says="lnag",
        remedy="lang",
    ),
    usage("time that is none", *APPLY, "--lock-timeout", "soon", says="--lock-timeout", remedy="30s"),
    usage(
        "carry and discard", *APPLY, "--carry-writes", "--discard-writes", says="--carry-writes", remedy="one of them"
    ),
    usage("requirement without judgments", *APPLY, "--require", "MRR>=.5", says="--require", remedy="--qrels"),
    usage("queries without judgments", *APPLY, "--queries", "queries.jsonl", says="--queries", remedy="give both"),
    usage("requirement without number", *APPLY, *JUDGED, "--require", "nDCG@10", says="nDCG@10", remedy="nDCG@10>=.4"),
    usage("requirement in per cent", *APPLY, *JUDGED, "--require", "nDCG@10>=40", says="above 1", remedy=".4"),
    usage("unknown metric", "evaluate", "handbook", *JUDGED, "--metric", "nDGC@10", says="nDGC@10", remedy="nDCG"),
    usage(
        "metric without depth", "evaluate", "handbook", *JUDGED, "--metric", "Recall", says="depth", remedy="Recall@10"
    ),
    usage("margin above 1", *APPLY, *JUDGED, "--margin", "2", says="--margin", remedy=".02"),
    usage("judgments from nowhere", "evaluate", "handbook", says="--qrels", remedy="--dataset"),
    usage("both forms of judgments", "evaluate", "handbook", *JUDGED, "--dataset", ".", says="--dataset"),
    usage("nobody to ask", "apply", "better.json", "--source", "docs.jsonl", says="asked", remedy="add --yes"),
    usage("nobody to ask on rollback of nothing", "destroy", "handbook", says="asked", remedy="--confirm handbook"),
    usage("unknown view", "plan", "better.json", "--view", "sectoins", says="sectoins", remedy="sections"),
    usage("curl as JSON", "compile", "program.json", "--curl", "--out", "x", says="--curl"),
    usage("unknown preset", "preset", "show", "identfiers", says="identfiers", remedy="identifiers"),
    usage("field without path", "preset", "show", "fields", "--field", "body", says="--field", remedy="FIELD=PATH"),
    usage("operand that is nothing", "compare", "handbook", "Hand Book", *JUDGED, says="Hand Book", remedy="run file"),
    usage("saved plan with planning", "apply", "plan.json", "--rebuild", says="--rebuild", write=plan_file),
    usage("saved plan with a source", "apply", "plan.json", "--source", "x", says="--source", write=plan_file),
    usage("destroy everything", "destroy", "*", says="'*'", remedy="exactly"),
    usage("destroy by pattern", "destroy", "hand*", "--confirm", "hand*", says="'hand*'", remedy="exactly"),
    usage("destroy a list", "destroy", "handbook,other", "--confirm", "handbook,other", says="handbook,other"),
    usage("destroy a hidden index", "destroy", ".idxopt-builds", says=".idxopt-builds", remedy="exactly"),
    usage("roll back by pattern", "rollback", "*", "--yes", says="'*'", remedy="exactly"),
    usage("search by pattern", "search", "*", "keys", says="'*'", remedy="exactly"),
]

NAMES = [
    Bad("name that is not live", ("search", "hndbook", "keys"), ("hndbook", "no live build"), "idxopt apply"),
    Bad("rollback of nothing", ("rollback", "other", "--yes"), ("other", "no live build")),
    Bad("rollback without an earlier build", ("rollback", "handbook", "--yes"), ("no earlier build",), "--keep"),
    Bad("rollback to an unknown build", ("rollback", "handbook", "--to", "00000000"), ("00000000",), "kept builds"),
    Bad("destroy of nothing", ("destroy", "other", "--confirm", "other"), ("other", "nothing of ours")),
    Bad(
        "destroy with another name",
        ("destroy", "handbook", "--confirm", "other"),
        ("other is not handbook",),
        "--confirm",
    ),
    Bad("unlock of nothing", ("unlock", "1234abcd", "--yes"), ("1234abcd",), "status"),
    Bad("document that is not there", ("explain", "handbook", "keys", "d99"), ("d99",), "search"),
    Bad("build that is not there", ("compare", "handbook@00000000", "handbook", *JUDGED), ("00000000",), "history"),
    Bad("name without a build", ("evaluate", "other", *JUDGED), ("other",), "handbook"),
    Bad(
        "program that was not applied",
        ("compare", "better.json", "handbook", *JUDGED),
        ("better.json",),
        "idxopt apply",
    ),
    Bad(
        "plan file that is no JSON",
        ("apply", "plan.json"),
        ("plan.json",),
        write=text("plan.json", '{"schema":"idxopt-plan/1"'),
    ),
    Bad(
        "plan file of the future",
        ("show", "plan.json"),
        ("plan.json",),
        write=text("plan.json", '{"schema":"idxopt-plan/9"}'),
    ),
    Bad("show of a program", ("show", "program.json"), ("program.json", "no plan"), "--out"),
    Bad("plan into no folder", ("plan", "better.json", "--out", "no/plan.json"), ("no/plan.json",), "write to"),
    Bad("artifacts into a file", ("compile", "program.json", "--out", "docs.jsonl"), ("docs.jsonl",), "write to"),
    Bad("run file into no folder", ("evaluate", "handbook", *JUDGED, "--run-out", "no/x"), ("no/x",), "write to"),
]


@pytest.mark.parametrize("case", [*USAGE, *NAMES], ids=lambda case: case.id)
def test_bad_usage(live, case):
    refused(live, case)


def test_the_demo_leaves_a_foreign_folder_alone(live):
    told = run("demo", "--folder", ".")
    assert told.code == ExitCode.ERROR
    assert "was not made by the demo" in told.err
    assert "another --folder" in told.err
    assert not (live / "corpus").exists()
    assert run("demo", "--json", "--folder", "new").code == ExitCode.USAGE
    assert not (live / "new").exists()
