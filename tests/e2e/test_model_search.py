"""Programs with models through the command line: all-MiniLM-L6-v2 for dense legs, MaxSim over it for reranking."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.runner import run
from tests.models_support import MINILM_ID, minilm_toml

PAGES = {
    "keys": "# Keys\n\nHow secrets are managed.\n\n## Rotation\n\nReplace a credential every ninety days.\n\n"
    "## Storage\n\nKeep it in a vault.\n",
    "backup": "# Backups\n\nSnapshots of the cluster.\n\n## Schedule\n\nTaken nightly at two.\n\n"
    "## Restore\n\nBring an old copy back after a disaster.\n",
    "garden": "# Garden\n\nTomatoes and beans.\n\n## Watering\n\nIn the morning, before the sun is hot.\n",
}
PROGRAM: dict[str, Any] = {
    "schema": "idxopt/1",
    "name": "site",
    "source": {"fields": {"title": "title", "body": "text"}, "markup": "markdown"},
    "models": {
        "minilm": {"kind": "embedder", "id": MINILM_ID, "dimension": 384, "similarity": "cosine", "max_tokens": 256},
        "maxsim": {"kind": "reranker", "id": "maxsim:minilm"},
    },
    "views": {
        "content": {
            "lexical": {"fields": {"title": {"analyzer": "english"}, "body": {"analyzer": "english"}}},
            "dense": {"model": "minilm", "text": ["title", "body"]},
        }
    },
    "rerank": {"model": "maxsim", "candidates": 3, "sections": 2},
}


@pytest.fixture
def applied(minilm: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the program live on the embedded engine."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDXOPT_CACHE_DIR", str(tmp_path / "cache"))
    config = 'default = "local"\n[clusters.local]\nengine = "embedded"\nfolder = "index"\nworkers = 1\n'
    Path("idxopt.toml").write_text(config + minilm_toml())
    Path("program.json").write_text(json.dumps(PROGRAM))
    lines = [json.dumps({"_id": name, "title": name, "text": text}) for name, text in PAGES.items()]
    Path("docs.jsonl").write_text("\n".join(lines))
    ran = run("apply", "program.json", "--source", "docs.jsonl", "--yes")
    assert ran.code == 0, ran.err
    return tmp_path


def test_search_explain_and_evaluate_with_models(applied: Path) -> None:
    query = "change passwords regularly"  # no word of it is in any page
    found = run("--json", "search", "site", query).document
    assert found["reranked"]
    assert found["hits"][0]["id"] == "keys"
    assert found["hits"][0]["legs"].keys() == {"content.dense"}
    best = found["hits"][0]["sections"][0]
    assert best["path"] == ["Rotation"]
    assert PAGES["keys"][best["start"] : best["end"]] == best["text"]
    assert found["sections"][0] == best
    assert len(found["sections"]) == 2
    fused = run("--json", "search", "site", query, "--no-rerank").document
    assert not fused["reranked"]
    assert fused["sections"] == []
    shown = run("search", "site", query).out
    assert "Rotation: " in shown
    explained = run("--json", "explain", "site", query, "keys").document
    assert explained["sections"][0]["path"] == ["Rotation"]
    assert next(leg for leg in explained["legs"] if leg["leg"] == "content.dense")["k"] == 100
    assert "reranked: rank 1" in run("explain", "site", query, "keys").out
    Path("queries.jsonl").write_text(json.dumps({"_id": "q", "text": query}))
    Path("qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\tkeys\t1\n")
    measured = run("--json", "evaluate", "site", "--queries", "queries.jsonl", "--qrels", "qrels.tsv")
    assert measured.code == 0, measured.err


def test_a_model_without_settings_is_told(applied: Path) -> None:
    Path("idxopt.toml").write_text('default = "local"\n[clusters.local]\nengine = "embedded"\nfolder = "index"\n')
    ran = run("--json", "search", "site", "passwords")
    assert ran.code == 1
    error = ran.document["error"]
    assert MINILM_ID in error["message"] + error["remedy"]


def test_a_server_that_is_down(applied: Path) -> None:
    profile = 'default = "local"\n[clusters.local]\nengine = "embedded"\nfolder = "index"\n'
    server = f'[models."{MINILM_ID}"]\nprovider = "http"\nurl = "http://127.0.0.1:9"\nretries = 0\ntimeout_s = 2\n'
    Path("idxopt.toml").write_text(profile + server)
    ran = run("--json", "search", "site", "restore a copy")
    assert ran.code == 1
    assert ran.document["error"]["code"] == "model"
    Path("idxopt.toml").write_text(profile + 'on_model_failure = "lexical"\n' + server)
    found = run("--json", "search", "site", "restore a copy", "--no-rerank").document
    assert found["hits"][0]["id"] == "backup"
    assert list(found["degraded"]) == ["content.dense"]
    assert "leg content.dense failed" in run("search", "site", "restore a copy", "--no-rerank").out
