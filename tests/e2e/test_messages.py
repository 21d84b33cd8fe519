"""Mistakes of newcomers: each message says what to do, in plain words."""

import http.server
import json
import threading

import pytest

from idxopt.errors import ExitCode
from tests.e2e.runner import run, sections, write_json

APPLY = ("apply", "better.json", "--source", "docs.jsonl", "--yes")


@pytest.mark.parametrize(
    ("arguments", "code", "cause", "remedy"),
    [
        (("validate", "bettr.json"), 1, "bettr.json: no such file", 'did you mean "better.json"?'),
        (("validate", "nothing-like-it.json"), 1, "no such file", "check the path"),
        (("search", "handbok", "x"), 1, "there is no live build", 'did you mean "handbook"?'),
        (("search", "zzz", "x"), 1, "there is no live build", "live here: handbook"),
        (("explain", "handbok", "x", "d1"), 1, "there is no live build", 'did you mean "handbook"?'),
        (("rollback", "handbok", "--yes"), 1, "no live build to go back from", 'did you mean "handbook"?'),
        (("destroy", "handbok", "--confirm", "handbok"), 1, "nothing of ours", 'did you mean "handbook"?'),
        (("search", "handbook", "rotate", "keys"), 64, "an argument too many: keys", "quote the query, as in"),
        (("search", "handbook", ""), 64, "the query is empty", "give words in quotes"),
        (("explain", "handbook", " ", "d1"), 64, "the query is empty", "give words in quotes"),
        (("status", "program.json"), 64, "'program.json' is a file, no name", "give the name in it: handbook"),
        (("search", "handbook", "x", "-k", "ten"), 64, "is no whole number", "idxopt search --help"),
        ((*APPLY, "--take-over", "nothere"), 1, "there is no index nothere on local", "check the name"),
        (("plan", "better.json", "--source", "pages/index.md"), 1, "is one page", "name its folder: pages"),
    ],
)
def test_what_is_said(live, arguments, code, cause, remedy):
    (live / "pages").mkdir()
    (live / "pages/index.md").write_text("# A page\n")
    told = run(*arguments)
    assert told.code == code, told.err
    error, last = told.err.splitlines()[-2:]
    assert cause in error
    assert error.startswith("error: ")
    assert remedy in last
    for foreign in ("Input should", "Value error", "validation"):
        assert foreign not in told.err


def test_take_over_is_checked_before_anybody_is_asked(live):
    told = run("apply", "better.json", "--source", "docs.jsonl", "--take-over", "nothere", typed="handbook\n")
    assert told.code == ExitCode.ERROR
    assert "Type" not in told.err


@pytest.mark.parametrize("command", ["status", "history"])
def test_a_name_without_anything_gets_a_suggestion(live, command):
    told = run(command, "handbok")
    assert told.code == ExitCode.OK
    assert 'did you mean "handbook"?' in told.err


@pytest.mark.parametrize(
    ("path", "value", "cause", "remedy"),
    [
        ("views", {}, "views: {} is empty", "give at least 1 entry"),
        ("fusion.k", "10", 'fusion.k: "10" is no whole number', "without quotes"),
        ("fusion.k", 0, "fusion.k: 0 is too small", "use 1 or more"),
        ("fusion.k", None, "fusion.k: null is no whole number", "write a whole number"),
        ("views.content.lexical.fields.title.b", 2, "title.b: 2 is too large", "use 1 or less"),
        ("source.id", "", 'source.id: "" is empty', "at least 1 character"),
        ("name", "x" * 70, "is too long", "at most 64 characters"),
        ("source.fields.Body", "text", '"Body" is no valid name', "underscores"),
        (
            "views.content.steps",
            [{"op": "enrich", "with": "lead", "into": "s"}],
            "give either sentences or words",
            "only one",
        ),
    ],
)
def test_a_value_of_a_program(live, path, value, cause, remedy):
    made = json.loads(json.dumps(sections()))
    here = made
    *above, last = path.split(".")
    for part in above:
        here = here.setdefault(part, {})
    here[last] = value
    write_json(live / "bad.json", made)
    told = run("validate", "bad.json")
    assert told.code == ExitCode.ERROR
    error, what_to_do = told.err.splitlines()
    assert cause in error
    assert remedy in what_to_do


@pytest.mark.parametrize(
    ("lines", "cause", "remedy"),
    [
        ('engine = "embedded', "idxopt.toml:2:", "correct that line"),
        ('engine = "embedded"\nfolder = "x"\nworkers = "two"', "workers: is no whole number", "without quotes"),
        ('engine = "embeded"', "engine: is unknown", "'embedded' or 'opensearch'"),
        ('engine = "embedded"\nfolder = "x"\nworkers = 0', "workers: is too small", "use 1 or more"),
    ],
)
def test_a_value_of_the_configuration(site, lines, cause, remedy):
    (site / "idxopt.toml").write_text(f"[clusters.local]\n{lines}\n")
    told = run("status", "handbook")
    assert told.code == ExitCode.ERROR
    error, what_to_do = told.err.splitlines()
    assert cause in error
    assert remedy in what_to_do


def test_a_damaged_plan(site):
    write_json(site / "plan.json", {"schema": "idxopt-plan/1", "name": 5})
    told = run("show", "plan.json")
    assert told.code == ExitCode.ERROR
    assert "(name is no text)" in told.err


def test_utf_16(site):
    (site / "wide.json").write_bytes((site / "program.json").read_text().encode("utf-16"))
    told = run("validate", "wide.json")
    assert "wide.json: is UTF-16 text" in told.err
    assert "remedy: save the file as UTF-8\n" in told.err


def test_an_unknown_level_of_the_log_is_told(live, monkeypatch):
    monkeypatch.setenv("IDXOPT_LOG", "loud")
    told = run("status", "handbook")
    assert told.code == ExitCode.OK
    assert "warning: IDXOPT_LOG=loud names no level; use debug" in told.err


def test_https_to_a_port_that_speaks_http(site):
    with http.server.HTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        (site / "idxopt.toml").write_text(
            f'[clusters.local]\nurl = "https://127.0.0.1:{server.server_port}"\ntimeout_s = 5\n'
        )
        told = run("status", "handbook")
        server.shutdown()
    assert told.code == ExitCode.ERROR
    assert "speaks plain HTTP" in told.err
    assert "http:// instead of https://" in told.err


def test_a_search_shows_title_and_matching_text_and_names_its_score(live):
    told = run("search", "handbook", "marker4")
    for part in ("rrf score", "title", "excerpt", "Page 4 on aliases", "Here stands marker4"):
        assert part in told.out
