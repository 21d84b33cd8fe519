"""From nothing to a live build, a better one, back, and away: every command on the embedded engine."""

import json
import os
from pathlib import Path

import pytest

from idxopt.errors import ExitCode
from tests.e2e.runner import call, documents, program, run, sections, write_json, write_lines


def test_plan_apply_plan_again(site):
    first = run("plan", "program.json", "--source", "docs.jsonl")
    assert first.code == ExitCode.CHANGES
    assert "+   index handbook--content--" in first.out
    assert (
        first.out.rstrip()
        .splitlines()[-1]
        .startswith("Plan: 1 index to build, 0 to change, readers move; 12 documents")
    )
    assert "from 12 sampled documents" in first.out
    assert not (site / ".idxopt").exists(), "plan only reads"

    applied = run("apply", "program.json", "--source", "docs.jsonl", "--yes", "-m", "the first")
    assert applied.code == ExitCode.OK, applied.err
    assert "built content: 12 rows" in applied.out

    again = run("plan", "program.json", "--source", "docs.jsonl")
    assert again.code == ExitCode.OK
    assert again.out.rstrip().splitlines()[-1] == "No changes: handbook is as the program says."


def test_a_better_program_reuses_what_it_can_and_can_go_back(live):
    plan = run("plan", "better.json", "--source", "docs.jsonl", "-v")
    assert plan.code == ExitCode.CHANGES
    assert "+   index handbook--sections--" in plan.out
    assert "=   view content" in plan.out
    assert "+ views.sections:" in plan.out
    assert "REINDEX: decides what is stored" in plan.out
    assert "0 reorganize sections: client (" in plan.out

    before = run("search", "handbook", "rotation", "--json").document
    assert run("apply", "better.json", "--source", "docs.jsonl", "-y").code == ExitCode.OK
    better = run("search", "handbook", "marker3", "--json").document
    assert better["hits"][0]["id"] == "d3"
    assert set(better["hits"][0]["legs"]) == {"content.lexical", "sections.lexical"}

    shown = run("rollback", "handbook", "--plan")
    assert shown.code == ExitCode.CHANGES
    assert "readers move" in shown.out
    assert run("rollback", "handbook", "--yes", "-m", "back").code == ExitCode.OK
    assert run("search", "handbook", "rotation", "--json").document == before

    events = run("history", "handbook", "--json").document["events"]
    assert [event["what"] for event in events] == ["apply", "apply", "rollback"]
    assert [event["current"] for event in events] == [False, False, True]
    assert events[-1]["message"] == "back"


def test_a_query_only_change_builds_nothing(live):
    changed = program()
    changed["views"]["content"]["lexical"]["fields"]["title"] = {"weight": 3.0}
    write_json(live / "weights.json", changed)
    plan = run("plan", "weights.json", "--source", "docs.jsonl")
    assert plan.code == ExitCode.CHANGES
    assert "views.content.lexical.fields.title.weight: 3.0" in plan.out
    assert "QUERY_ONLY: read at query time" in plan.out
    assert plan.out.rstrip().splitlines()[-1] == "Plan: 0 indices to build, 1 to change, readers move."
    assert run("apply", "weights.json", "-y").code == ExitCode.OK


def test_new_data_is_lag_and_no_change(live):
    write_lines(live / "docs.jsonl", documents(20))
    plan = run("plan", "program.json", "--source", "docs.jsonl")
    assert plan.code == ExitCode.OK
    assert "has changed since build" in plan.out
    assert "apply --rebuild" in plan.out
    assert run("apply", "program.json", "--source", "docs.jsonl", "--rebuild", "-y").code == ExitCode.OK
    assert run("search", "handbook", "marker19", "--json").document["hits"][0]["id"] == "d19"


def test_a_saved_plan_is_applied_as_it_is(live):
    assert run("plan", "better.json", "--source", "docs.jsonl", "--out", "plan.json").code == ExitCode.CHANGES
    stored = json.loads((live / "plan.json").read_text())
    assert stored["schema"] == "idxopt-plan/1"
    assert stored["cluster_uuid"]
    shown = run("show", "plan.json")
    assert shown.code == ExitCode.OK
    assert "+   index handbook--sections--" in shown.out
    applied = run("apply", "plan.json")
    assert applied.code == ExitCode.OK, applied.err
    assert "built sections: 24 rows" in applied.out
    again = run("apply", "plan.json")
    assert again.code == ExitCode.STALE
    assert "moved since the plan was made" in again.err
    assert "idxopt plan" in again.err


def test_json_is_one_document_and_says_whether_there_are_changes(live):
    assert run("plan", "better.json", "--source", "docs.jsonl", "--json").document["changes"] is True
    document = run("plan", "program.json", "--source", "docs.jsonl", "--json").document
    assert document["changes"] is False
    applied = run("apply", "better.json", "--source", "docs.jsonl", "--json", "--yes").document
    assert applied["changes"] is True
    assert applied["rows"] == {"sections": 24}
    assert run("status", "handbook", "--json").document["live"]["build"] == applied["build"]


def test_status_tells_drift_by_its_exit_code(live):
    assert run("status", "handbook", "--check").code == ExitCode.OK
    from idxopt.engines.embedded import EmbeddedEngine

    engine = EmbeddedEngine(live / "index")
    engine.delete_template("handbook--content")
    engine.close()
    drifted = run("status", "handbook", "--check")
    assert drifted.code == ExitCode.CHANGES
    assert "template handbook--content: put back" in drifted.out
    assert run("apply", "program.json", "--source", "docs.jsonl", "-y").code == ExitCode.OK
    assert run("status", "handbook", "--check").code == ExitCode.OK


def test_status_works_where_the_documents_are_gone(live):
    config = live / "idxopt.toml"
    config.write_text(config.read_text() + 'source = "gone.jsonl"\n')
    told = run("status", "handbook")
    assert told.code == ExitCode.OK
    assert "warning: gone.jsonl" in told.err
    assert run("status", "handbook", "--source", "gone.jsonl").code == ExitCode.ERROR


def test_destroy_wants_the_name(live):
    refused = run("destroy", "handbook", "--no-input")
    assert refused.code == ExitCode.USAGE
    assert "add --confirm handbook" in refused.err
    assert run("destroy", "handbook", typed="yes\n").code == ExitCode.ERROR
    assert run("search", "handbook", "keys").code == ExitCode.OK
    gone = run("destroy", "handbook", typed="handbook\n")
    assert gone.code == ExitCode.OK, gone.err
    assert "its history stays" in gone.out
    assert [event["what"] for event in run("history", "handbook", "--json").document["events"]] == ["apply", "destroy"]
    assert run("status", "handbook").out == "handbook: nothing is live\n"


def test_filters_reach_every_leg(live):
    assert run("apply", "better.json", "--source", "docs.jsonl", "-y").code == ExitCode.OK
    found = run("search", "handbook", "page", "--filter", '{"term": {"lang": "en"}}', "-k", "12", "--json").document
    assert {hit["source"]["lang"] for hit in found["hits"]} == {"en"}
    assert len(found["hits"]) == 6


def test_explain_names_ranks_and_terms(live):
    told = run("explain", "handbook", "marker4 absent", "d4", "--json").document
    assert told["rank"] == 1
    leg = told["legs"][0]
    assert leg["leg"] == "content.lexical"
    assert {match["term"] for matches in leg["terms"].values() for match in matches} == {"marker4"}
    text = run("explain", "handbook", "marker4 absent", "d4")
    assert "d4: rank 1" in text.out
    assert "marker4 1 / 1" in text.out


def test_evaluate_and_compare(live):
    judged = ["--queries", "queries.jsonl", "--qrels", "qrels.tsv"]
    assert run("apply", "better.json", "--source", "docs.jsonl", "-y").code == ExitCode.OK
    figures = run("evaluate", "handbook", *judged, "--run-out", "run.trec", "--json").document
    assert figures["n"] == 8
    assert figures["metrics"]["nDCG@10"]["mean"] == 1.0
    from_file = run("evaluate", "run.trec", *judged, "--json").document
    assert from_file["metrics"] == figures["metrics"]
    first = run("history", "handbook", "--json").document["events"][0]["build"]
    for a in (f"handbook@{first}", first, "program.json"):
        compared = run("compare", a, "handbook", *judged)
        assert compared.code == ExitCode.OK, compared.err
        assert "no clear difference" in compared.out
        assert "n = 8 shared judged queries" in compared.out
    assert run("compare", "program.json", "run.trec", *judged, "--json").document["n"] == 8


def test_the_quality_gate_refuses_and_the_old_build_serves(live):
    live_before = run("status", "handbook", "--json").document["live"]["build"]
    judged = ["--queries", "queries.jsonl", "--qrels", "qrels.tsv"]
    refused = run("apply", "better.json", "--source", "docs.jsonl", "-y", *judged, "--require", "P@5>=.9")
    assert refused.code == ExitCode.REFUSED
    assert "P@5>=0.9 is required, the mean is 0.2000 (n = 8)" in refused.err
    assert run("status", "handbook", "--json").document["live"]["build"] == live_before
    passed = run("apply", "better.json", "--source", "docs.jsonl", "-y", *judged, "--require", "nDCG@10>=.9")
    assert passed.code == ExitCode.OK, passed.err
    assert "nDCG@10: 1.0000" in passed.out


def test_requests_for_an_administrator(live):
    script = run("plan", "better.json", "--source", "docs.jsonl", "--curl")
    assert script.code == ExitCode.CHANGES
    assert '"$URL"/_index_template/handbook--sections' in script.out
    assert '"$URL"/_aliases' in script.out
    dry = run("apply", "better.json", "--source", "docs.jsonl", "--dry-run", "--json").document
    assert [request["path"] for request in dry["requests"]][-1] == "_aliases"
    assert run("plan", "better.json", "--source", "docs.jsonl").code == ExitCode.CHANGES, "nothing was sent"


def test_diff_forms(live):
    unified = run("plan", "better.json", "--diff", "unified")
    assert '+    "sections": {' in unified.out
    assert "live/handbook.json" in unified.out
    parts = run("plan", "better.json", "--diff", "json").document
    assert [part["path"] for part in parts] == ["views.sections"]
    outside = call(
        "plan", "better.json", "--diff", "unified", folder=live, variables={"IDXOPT_EXTERNAL_DIFF": "diff -u0"}
    )
    assert outside.code == ExitCode.CHANGES
    assert "sections" in outside.out
    broken = call(
        "plan", "better.json", "--diff", "unified", folder=live, variables={"IDXOPT_EXTERNAL_DIFF": "/no/tool"}
    )
    assert broken.code == ExitCode.ERROR
    assert "IDXOPT_EXTERNAL_DIFF" in broken.err


def test_compile_and_validate_need_no_cluster(site):
    assert "valid; 2 views, 1 step" in run("validate", "better.json").out
    done = run("compile", "better.json", "--out", "artifacts")
    assert done.code == ExitCode.OK
    template = json.loads(Path("artifacts/index_templates/handbook--content.json").read_text())
    assert template["index_patterns"] == ["handbook--content--*"]
    assert Path("artifacts/ingest_pipelines/handbook--content.json").is_file()
    assert '"$URL"/_ingest/pipeline/handbook--content--' in run("compile", "better.json", "--curl").out
    kinds = {engine: run("compile", "better.json", "--engine", engine).code for engine in ("opensearch-2", "embedded")}
    assert set(kinds.values()) == {ExitCode.OK}
    assert not Path(".idxopt").exists()


def test_every_preset_is_a_program(site):
    names = [preset["name"] for preset in run("preset", "list", "--json").document]
    assert {"full-text", "fields", "identifiers", "sections"} <= set(names)
    for name in names:
        Path(f"{name}.json").write_text(run("preset", "show", name, "--name", "handbook").out, encoding="utf-8")
        assert run("validate", f"{name}.json").code == ExitCode.OK


def test_a_view_alone_is_built_and_readers_stay(live):
    plan = run("apply", "better.json", "--source", "docs.jsonl", "--view", "sections", "-y")
    assert plan.code == ExitCode.OK, plan.err
    write_json(
        live / "three.json", sections(views={**sections()["views"], "titles": {"lexical": {"fields": {"title": {}}}}})
    )
    some = run("plan", "three.json", "--source", "docs.jsonl", "--view", "titles")
    assert "--view limits what is built" in some.out


@pytest.mark.parametrize("output", ["ascii", "utf-8"])
def test_any_encoding_of_the_terminal_will_do(live, output):
    write_lines(live / "docs.jsonl", [{"_id": "ü→1", "title": "Größe – 大小", "text": "marker"}])
    assert run("apply", "program.json", "--source", "docs.jsonl", "--rebuild", "-y").code == ExitCode.OK
    environment = {"PYTHONIOENCODING": output, "PYTHONUTF8": "0"}
    found = call("search", "handbook", "marker", folder=live, variables=environment)
    assert found.code == ExitCode.OK, found.err
    assert ("Größe" if output == "utf-8" else r"Gr\xf6\xdfe") in found.out
    if output == "ascii":
        assert found.out.isascii()
    assert os.linesep in found.out


def test_a_rollback_over_a_shared_index_names_the_views_that_lack_writes(live):
    assert run("apply", "better.json", "--source", "docs.jsonl", "-y").code == ExitCode.OK
    assert run("apply", "program.json", "--source", "docs.jsonl", "-y").code == ExitCode.OK
    assert "comes back without" not in run("rollback", "handbook", "--plan").out
    from idxopt.engines.embedded import EmbeddedEngine

    engine = EmbeddedEngine(live / "index")
    index = next(iter(engine.aliases("handbook")["handbook"]))
    engine.put_document(index, "late", {"title": "Late", "text": "# Late\n\nWritten by an application."})
    engine.refresh(index)
    engine.close()
    told = run("rollback", "handbook", "--plan")
    assert told.code == ExitCode.CHANGES
    assert (
        "! 1 write of applications: kept in the index that both builds share, but view sections comes back" in told.out
    )
    document = run("rollback", "handbook", "--plan", "--json").document
    assert (document["writes"], document["shared_writes"], document["lacking"]) == (0, 1, ["sections"])
