"""`idxopt canary`: a share of the queries to another build, from the start to the promotion."""

import json
from contextlib import closing
from pathlib import Path

from idxopt.builds.names import BUILDS_INDEX
from idxopt.config import connect, load_config
from idxopt.errors import ExitCode
from tests.e2e.runner import Ran, program, run, sections, write_json

SHARE = ("--share", "50%", "--source", "docs.jsonl")


def started(*more: str) -> Ran:
    ran = run("canary", "start", "better.json", *SHARE, "--log", "run.jsonl", "--yes", *more)
    assert ran.code == ExitCode.OK, ran.err
    return ran


def test_from_start_to_promotion(live: Path) -> None:
    before = run("status", "handbook", "--json").document
    ran = started("-m", "sections")
    assert "answers 50% of the queries beside build" in ran.out
    status = run("status", "handbook", "--check", "--json")
    assert status.code == ExitCode.OK  # nothing of the live build looks changed
    assert status.document["live"] == before["live"]
    assert status.document["canary"]["incumbent"] == before["live"]["build"]
    assert "answers 50% of the queries" in run("status", "handbook").out
    assert run("plan", "program.json", "--source", "docs.jsonl").code == ExitCode.OK
    candidate = status.document["canary"]["candidate"]

    arms = {}
    for number in range(12):
        ran = run("search", "handbook", f"marker{number}", "--log", "run.jsonl", "--json")
        arms[number] = ran.document["arm"]
        build = candidate if ran.document["arm"] == "candidate" else before["live"]["build"]
        assert ran.document["build"] == build
        assert [hit["id"] for hit in ran.document["hits"]] == [f"d{number}"]
    assert set(arms.values()) == {"incumbent", "candidate"}
    assert (
        run("search", "handbook", "marker1", "--arm", "candidate", "--log", "run.jsonl", "--json").document["build"]
        == candidate
    )
    assert "sections.lexical" in run("explain", "handbook", "marker1", "d1", "--arm", "candidate").out
    assert "sections.lexical" not in run("explain", "handbook", "marker1", "d1").out
    evaluated = run("evaluate", "handbook", "--queries", "queries.jsonl", "--qrels", "qrels.tsv", "--json")
    assert evaluated.document["label"].endswith(before["live"]["build"])

    told = run("canary", "status", "handbook")
    assert told.code == ExitCode.OK, told.err
    assert "too few to tell: candidate:" in told.out
    figures = run("canary", "status", "handbook", "--json").document["log"]
    assert figures["candidate"]["answers"] == sum(arm == "candidate" for arm in arms.values())
    assert figures["incumbent"]["answers"] == sum(arm == "incumbent" for arm in arms.values())
    assert figures["candidate"]["zero"]["mean"] == 0.0

    promoted = run("apply", "better.json", "--source", "docs.jsonl", "--yes")
    assert promoted.code == ExitCode.OK, promoted.err
    assert "built" not in promoted.out.partition("Plan:")[2]
    assert f"! the canary of build {candidate} has ended" in promoted.out
    assert run("canary", "status", "handbook", "--json").document["canary"] is None
    assert run("search", "handbook", "marker1", "--json").document["arm"] is None
    history = run("history", "handbook", "--json").document
    assert [event["what"] for event in history["events"]] == ["apply", "canary start", "apply", "canary end"]
    assert [event["current"] for event in history["events"]] == [False, False, True, False]


def test_a_second_start_and_another_apply_are_refused(live: Path) -> None:
    started()
    again = run("canary", "start", "better.json", *SHARE, "--yes")
    assert again.code == ExitCode.ERROR
    assert "idxopt canary stop handbook" in again.err
    other = program()
    other["views"]["content"]["lexical"]["fields"]["title"] = {"weight": 3.0}
    write_json(live / "other.json", other)
    planned = run("plan", "other.json", "--source", "docs.jsonl")
    assert planned.code == ExitCode.CHANGES
    assert "apply is refused until `idxopt canary stop handbook`" in planned.out
    refused = run("apply", "other.json", "--source", "docs.jsonl", "--yes")
    assert refused.code == ExitCode.REFUSED
    assert "idxopt canary stop handbook" in refused.err
    assert run("canary", "stop", "handbook").code == ExitCode.USAGE  # nobody can be asked
    stopped = run("canary", "stop", "handbook", "--yes", "--json")
    assert stopped.document["stopped"]["share"] == 0.5
    assert run("canary", "stop", "handbook", "--yes").code == ExitCode.ERROR
    assert run("apply", "other.json", "--source", "docs.jsonl", "--yes").code == ExitCode.OK


def test_stopped_and_started_with_a_larger_share_nothing_is_built_again(live: Path) -> None:
    started()
    first = run("canary", "status", "handbook", "--json").document["canary"]
    assert run("canary", "stop", "handbook", "--yes").code == ExitCode.OK
    ran = run("canary", "start", "better.json", "--share", ".8", "--yes", "--source", "docs.jsonl", "--json")
    assert ran.code == ExitCode.OK, ran.err
    assert ran.document["rows"] == {}
    assert ran.document["canary"]["salt"] == first["salt"]


def test_judgments_and_clicks(live: Path) -> None:
    started()
    qrels = live / "judged/qrels"
    qrels.mkdir(parents=True)
    (live / "judged/queries.jsonl").write_text((live / "queries.jsonl").read_text())
    (qrels / "test.tsv").write_text((live / "qrels.tsv").read_text())
    rows = [f"words {n},d{n % 12},1,{int(n % 3 == 0)},s{n}" for n in range(200)]
    (live / "clicks.csv").write_text("query,document,position,clicks,session\n" + "\n".join(rows) + "\n")
    asked = ("canary", "status", "handbook", "--judgments", "judged", "--clicks", "clicks.csv")
    told = run(*asked)
    assert told.code == ExitCode.OK, told.err
    assert "n = 8 shared judged queries" in told.out
    assert "Clicks, split by session" in told.out
    found = run(*asked, "--json").document
    assert sum(found["clicks"]["units"].values()) == 200
    assert {one["metric"] for one in found["clicks"]["metrics"]} == {"clicks@1", "CTR", "click MRR"}
    assert run(*asked, "--by", "query", "--json").document["clicks"]["by"] == "query"
    few = "\n".join(rows[:20])
    (live / "clicks.csv").write_text(f"query,document,position,clicks,session\n{few}\n")
    assert "! too few to tell: candidate:" in run(*asked).out


def test_wrong_usage(live: Path) -> None:
    for share in ("0", "100%", "1", "five", "-5%"):
        ran = run("canary", "start", "better.json", f"--share={share}", "--source", "docs.jsonl", "--yes")
        assert ran.code == ExitCode.USAGE, share
    assert run("canary", "start", "program.json", *SHARE, "--yes").code == ExitCode.ERROR  # live already
    assert run("canary", "stop", "handbook", "--yes").code == ExitCode.ERROR
    assert run("canary", "status", "handbook").out == "handbook: no canary is running\n"
    assert run("search", "handbook", "marker1", "--arm", "candidate").code == ExitCode.ERROR
    assert run("search", "handbook", "marker1", "--arm", "both").code == ExitCode.USAGE
    assert run("canary", "status", "handbook", "--by", "query").code == ExitCode.USAGE
    write_json(live / "new.json", sections("unknown"))
    nothing = run("canary", "start", "new.json", *SHARE, "--yes")
    assert nothing.code == ExitCode.ERROR
    assert "idxopt apply" in nothing.err
    assert json.loads(run("canary", "status", "handbook", "--json").out) == {"name": "handbook", "canary": None}


def test_a_damaged_record_of_a_name_without_builds_can_be_stopped(live: Path) -> None:
    with closing(connect(*load_config().profile(None))) as engine:
        damaged = {"kind": "canary", "name": "other", "build": "?"}
        engine.put_document(BUILDS_INDEX, "canary:other", damaged, create=True, refresh=True)
    write_json(live / "other.json", sections("other"))
    assert "it lacks 'canary'" in run("status", "other").out
    planned = run("plan", "other.json", "--source", "docs.jsonl")
    assert "it lacks 'canary'" in planned.out, planned.err
    assert run("apply", "other.json", "--source", "docs.jsonl", "--yes").code == ExitCode.REFUSED
    assert run("canary", "stop", "other", "--yes").code == ExitCode.OK
    assert run("apply", "other.json", "--source", "docs.jsonl", "--yes").code == ExitCode.OK
