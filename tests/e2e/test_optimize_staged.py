"""`idxopt optimize --staged`: does the gain survive a dense leg and a reranker? With real all-MiniLM-L6-v2."""

import json
from pathlib import Path

import pytest

from tests.e2e.runner import run
from tests.models_support import MINILM_ID, minilm_toml
from tests.unit.optimizer.study.collection import write_collection

QUERIES = 24
OPTIONS = ("small", "--evaluations", "3", "--out", "study")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minilm: Path) -> Path:
    assert minilm.is_dir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDXOPT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "idxopt.toml").write_text(minilm_toml(), encoding="utf-8")
    small = write_collection(tmp_path / "small")
    for name, kept in (("queries.jsonl", QUERIES), ("qrels/test.tsv", QUERIES + 1)):
        lines = (small / name).read_text(encoding="utf-8").splitlines(keepends=True)
        (small / name).write_text("".join(lines[:kept]), encoding="utf-8")
    return tmp_path


def test_the_stages_reach_the_output_the_record_and_the_report(here: Path) -> None:
    ran = run("optimize", *OPTIONS, "--staged", "--embedder", MINILM_ID)
    assert ran.code == 0, ran.err
    assert "Behind dense retrieval and reranking" in ran.out
    record = json.loads((here / "study" / "record.json").read_text(encoding="utf-8"))
    assert record["path"]
    stages = {(one["name"], one["metric"]): one for one in record["staged"]}
    assert {name for name, _ in stages} == {"BM25", "dense", "reranked"}
    assert all(one["difference"]["n"] == QUERIES for one in stages.values())
    assert stages["BM25", "nDCG@10"]["difference"]["mean"] > 0
    assert stages["dense", "nDCG@10"]["baseline"]["mean"] != stages["BM25", "nDCG@10"]["baseline"]["mean"]
    assert "reranked" in (here / "study" / "report.html").read_text(encoding="utf-8")
    assert "Behind dense retrieval and reranking" in run("study", "show", "study").out
    two = run("optimize", *OPTIONS, "--staged", "--reranker", "none", "--json")
    assert {one["name"] for one in two.document["staged"]} == {"BM25", "dense"}


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--embedder", MINILM_ID), 64, "add --staged"),
        (("--staged", "--embedder", "maker/other"), 64, "add --dimension N"),
        (("--staged", "--embedder", "maker/other", "--dimension", "8"), 1, "maker/other"),
        (("--staged", "--reranker", "maker/other"), 1, "maker/other"),
    ],
)
def test_models_that_are_missing_are_told_before_the_search(
    here: Path, options: tuple[str, ...], code: int, words: str
) -> None:
    ran = run("optimize", *OPTIONS, *options)
    assert ran.code == code, ran.err
    assert words in ran.err
    assert not (here / "study").exists()
