"""`idxopt refresh`: new corpus tables, what they changed, and nothing to do afterwards."""

import json
from pathlib import Path

import pytest

from idxopt.errors import ExitCode
from tests.e2e.runner import run

TERMS = {"op": "enrich", "with": "prime_terms", "into": "terms"}


@pytest.fixture
def prime(site: Path) -> Path:
    """The current folder; a program with PRIME's terms is live on the embedded engine."""
    (site / "idxopt.toml").write_text('[clusters.local]\nengine = "embedded"\nfolder = "index"\nworkers = 1\n')
    made = json.loads((site / "program.json").read_text())
    made["views"][next(iter(made["views"]))]["steps"] = [TERMS]
    (site / "program.json").write_text(json.dumps(made))
    assert run("apply", "program.json", "--source", "docs.jsonl", "--yes").code == ExitCode.OK
    return site


def name_in(site: Path) -> str:
    return str(json.loads((site / "program.json").read_text())["name"])


def add_documents(site: Path) -> None:
    last = json.loads((site / "docs.jsonl").read_text().splitlines()[-1])
    added = [{**last, "_id": f"added-{number}"} for number in range(5)]
    with (site / "docs.jsonl").open("a") as file:
        file.writelines(json.dumps(one) + "\n" for one in added)


def test_refresh_shows_the_drift_and_leaves_nothing_to_do(prime: Path) -> None:
    name = name_in(prime)
    assert run("refresh", name, "--check").code == ExitCode.OK
    assert "the corpus gives the same tables" in run("refresh", name, "--check").out
    documents = len((prime / "docs.jsonl").read_text().splitlines())
    add_documents(prime)
    checked = run("refresh", name, "--check")
    assert checked.code == ExitCode.CHANGES
    assert f"body (prime): N {documents} -> {documents + 5}" in checked.out
    refreshed = run("refresh", name, "--yes")
    assert refreshed.code == ExitCode.OK, refreshed.err
    assert f"over {documents + 5} documents (N)" in refreshed.out
    assert "IDF moved by more than 0.1" in refreshed.out
    assert run("plan", "program.json").code == ExitCode.OK
    assert f"over {documents + 5} documents (N), frozen 2" in " ".join(run("status", name).out.split())
    assert run("refresh", "program.json", "--check").code == ExitCode.OK


def test_one_json_document(prime: Path) -> None:
    add_documents(prime)
    checked = run("refresh", name_in(prime), "--check", "--json").document
    assert checked["changes"]
    assert checked["frozen"]["documents"] + 5 == checked["documents"]
    assert checked["drift"][0]["stream"] == "prime"
    told = run("refresh", name_in(prime), "--yes", "--json").document
    assert told["frozen"]["documents"] == checked["documents"]
    assert told["digest"] == checked["digest"]
    assert told["build"]


def test_what_cannot_be_refreshed_is_told(prime: Path) -> None:
    unknown = run("refresh", "nobody")
    assert unknown.code == ExitCode.ERROR
    assert "nothing is live under this name" in unknown.err
    refused = run("refresh", name_in(prime), "--json")
    assert refused.code != ExitCode.OK, "somebody must say yes"
    made = json.loads((prime / "program.json").read_text())
    made["views"][next(iter(made["views"]))]["steps"] = []
    (prime / "plain.json").write_text(json.dumps(made))
    without = run("refresh", "plain.json", "--yes")
    assert without.code == ExitCode.ERROR
    assert "no step of the program reads corpus tables" in without.err
