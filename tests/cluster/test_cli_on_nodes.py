"""The command line on real nodes: the flow of a user, and the example of an index that already exists."""

import json
import secrets
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from idxopt.errors import ExitCode
from tests.conftest import ROOT
from tests.e2e.runner import program, run, sections, write_json, write_site

TIMEOUT_S = 30


@pytest.fixture
def name(cluster_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A free name; the current folder has programs of that name and a configuration for the node."""
    made = f"t{secrets.token_hex(4)}"
    monkeypatch.chdir(write_site(tmp_path))
    write_json(tmp_path / "program.json", program(made))
    write_json(tmp_path / "better.json", sections(made))
    config = f'default = "node"\n[clusters.node]\nurl = "{cluster_url}"\nsource = "docs.jsonl"\nworkers = 1\n'
    (tmp_path / "idxopt.toml").write_text(config)
    yield made
    assert run("destroy", made, "--confirm", made).code == ExitCode.OK


def test_the_flow(name: str, cluster_url: str) -> None:
    assert run("plan", "program.json").code == ExitCode.CHANGES
    assert run("apply", "program.json", "--yes").code == ExitCode.OK
    assert run("plan", "program.json").code == ExitCode.OK
    better = run("plan", "better.json", "-v", "--out", "plan.json")
    assert better.code == ExitCode.CHANGES
    assert "view sections: body, path" in better.out, "what writes through the alias will lack"
    assert run("apply", "plan.json").code == ExitCode.OK
    found = run("search", name, "marker3", "--json").document["hits"]
    assert found[0]["id"] == "d3"
    assert set(found[0]["legs"]) == {"content.lexical", "sections.lexical"}
    judged = ("--queries", "queries.jsonl", "--qrels", "qrels.tsv")
    assert run("evaluate", name, *judged, "--json").document["metrics"]["nDCG@10"]["mean"] == 1.0
    assert run("compare", "program.json", name, *judged).code == ExitCode.OK
    assert run("explain", name, "marker3", "d3", "--json").document["rank"] == 1
    assert run("rollback", name, "--yes").code == ExitCode.OK
    assert "nothing was changed by others" in run("status", name, "--check").out


def test_drift_by_hand_is_told_and_mended(name: str, cluster_url: str) -> None:
    assert run("apply", "program.json", "--yes").code == ExitCode.OK
    settings = {"index.refresh_interval": "42s"}
    requests.put(f"{cluster_url}/{name}/_settings", json=settings, timeout=TIMEOUT_S).raise_for_status()
    drifted = run("status", name, "--check")
    assert drifted.code == ExitCode.CHANGES
    assert "42s -> 1s" in drifted.out
    assert run("plan", "program.json").code == ExitCode.CHANGES
    assert run("apply", "program.json", "--yes").code == ExitCode.OK
    assert run("status", name, "--check").code == ExitCode.OK


def test_the_example_of_an_existing_index(name: str, cluster_url: str, tmp_path: Path) -> None:
    """`examples/existing-index`, with the node's address and free names instead of its own."""
    assert run("apply", "program.json", "--yes").code == ExitCode.OK  # so that the fixture has something to remove
    example = ROOT / "examples/existing-index"
    shutil.copytree(example, tmp_path / "example")
    articles, better = f"{name}-articles", f"{name}-better"
    wanted = json.loads((example / "program.json").read_text(encoding="utf-8"))
    write_json(tmp_path / "example.json", {**wanted, "name": better})
    for number in range(5):
        article = {
            "headline": f"getShard{number}",
            "content": f"<h2>Allocation</h2><p>About shard allocation number{number}. More.</p>",
            "lang": "en",
            "updated": "2026-01-01",
        }
        url = f"{cluster_url}/{articles}/_doc/a{number}?refresh=true"
        requests.put(url, json=article, timeout=TIMEOUT_S).raise_for_status()
    before = requests.get(f"{cluster_url}/{articles}", timeout=TIMEOUT_S).json()
    try:
        source = ("--source", f"index:{articles}")
        assert f"/_ingest/pipeline/{better}--content--" in run("plan", "example.json", *source, "--curl").out
        applied = run("apply", "example.json", *source, "--yes")
        assert applied.code == ExitCode.OK, applied.err
        assert "view content: terms" in applied.out
        clause = ("--filter", '{"term": {"lang": "en"}}')
        found = run("search", better, "shard allocation number3", *clause, "--json").document["hits"]
        assert found[0]["id"] == "a3"
        new = {"headline": "maxRetryCount", "content": "<p>A new article.</p>", "lang": "de", "updated": "2026-02-01"}
        requests.put(f"{cluster_url}/{better}/_doc/new?refresh=true", json=new, timeout=TIMEOUT_S).raise_for_status()
        assert run("search", better, "retry", "--json").document["hits"][0]["id"] == "new", "the pipeline ran"
        assert requests.get(f"{cluster_url}/{articles}", timeout=TIMEOUT_S).json() == before
    finally:
        run("destroy", better, "--confirm", better)
        requests.delete(f"{cluster_url}/{articles}", timeout=TIMEOUT_S)
