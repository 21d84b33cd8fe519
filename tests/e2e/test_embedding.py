"""Indexing over an embedding server, as a user meets it when the server misbehaves (case H22)."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from tests.e2e.runner import run
from tests.model_servers.server import DIMENSION, Request, embeddings, good_embeddings, serving

COUNT = 300
MODEL = "test/remote"
PROGRAM: dict[str, Any] = {
    "schema": "idxopt/1",
    "name": "site",
    "source": {"fields": {"title": "title", "body": "text"}},
    "models": {"remote": {"kind": "embedder", "id": MODEL, "dimension": DIMENSION, "similarity": "cosine"}},
    "views": {"content": {"lexical": {"fields": {"body": {}}}, "dense": {"model": "remote", "text": ["body"]}}},
}


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder: documents, and a program with a dense leg."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDXOPT_CACHE_DIR", str(tmp_path / "cache"))
    Path("program.json").write_text(json.dumps(PROGRAM))
    lines = [json.dumps({"_id": f"d{n:03}", "title": f"t{n}", "text": f"page {n} of many"}) for n in range(COUNT)]
    Path("docs.jsonl").write_text("\n".join(lines))
    return tmp_path


def configured(url: str) -> None:
    Path("idxopt.toml").write_text(
        'default = "local"\n[clusters.local]\nengine = "embedded"\nfolder = "index"\nworkers = 1\n'
        f'[models."{MODEL}"]\nprovider = "http"\nurl = "{url}"\ntimeout_s = 5\nretries = 1\n'
    )


def spoilt(value: Callable[[list[float]], Any]) -> Callable[[Request], web.StreamResponse]:
    """Good answers, but for the text of document 280."""

    def answer(request: Request) -> web.StreamResponse:
        made = embeddings(request)
        texts: list[str] = request.body["input"]
        for number, text in enumerate(texts):
            if text.startswith("page 280 "):
                made["data"][number]["embedding"] = value(made["data"][number]["embedding"])
        return web.json_response(made)

    return answer


def down(request: Request) -> web.StreamResponse:
    if any(text.startswith("page 280 ") for text in request.body["input"]):
        return web.json_response({"error": {"message": "out of memory"}}, status=500)
    return good_embeddings(request)


@pytest.mark.parametrize(
    "answer",
    [
        spoilt(lambda _: None),
        spoilt(lambda _: [None] * DIMENSION),
        spoilt(lambda _: [0.0] * DIMENSION),
        spoilt(lambda _: [1.0] * (DIMENSION - 1)),
        down,
    ],
    ids=["null", "nulls", "zeros", "dimension", "down"],
)
def test_h22_apply_stops_with_exit_1_and_the_next_one_finishes(site: Path, answer: Any) -> None:
    with serving(answer) as server:
        configured(server.url)
        stopped = run("apply", "program.json", "--source", "docs.jsonl", "--yes")
        assert stopped.code == 1, stopped.err
        assert MODEL in stopped.err
        assert run("--json", "status", "site").document["live"] is None
        server.answer = good_embeddings
        before = sum(len(request.body["input"]) for request in server.requests)
        finished = run("--json", "apply", "program.json", "--source", "docs.jsonl", "--yes")
        assert finished.code == 0, finished.err
        asked = sum(len(request.body["input"]) for request in server.requests) - before
        assert asked < COUNT / 2  # the first batch was remembered
        found = run("--json", "search", "site", "page 280 of many").document
        assert found["hits"][0]["id"] == "d280"
        assert found["hits"][0]["legs"]["content.dense"]["score"] == pytest.approx(1.0, abs=1e-5)


def test_a_model_of_another_dimension_and_one_that_is_away_are_told_before_anything_is_made(site: Path) -> None:
    def longer(request: Request) -> web.StreamResponse:
        return web.json_response(embeddings(request, [[1.0] * 5 for _ in request.body["input"]]))

    with serving(longer) as server:
        configured(server.url)
        wrong = run("apply", "program.json", "--source", "docs.jsonl", "--yes")
    assert wrong.code == 1
    assert "dimension" in wrong.err
    away = run("apply", "program.json", "--source", "docs.jsonl", "--yes")
    assert away.code == 1
    assert MODEL in away.err
    Path("idxopt.toml").write_text('default = "local"\n[clusters.local]\nengine = "embedded"\nfolder = "index"\n')
    unknown = run("apply", "program.json", "--source", "docs.jsonl", "--yes")
    assert unknown.code == 1
    assert f'[models."{MODEL}"]' in unknown.err
    assert not list(site.glob("index/**/*.seg"))


def test_the_plan_counts_the_rows_to_embed(site: Path) -> None:
    configured("http://127.0.0.1:9")
    ran = run("plan", "program.json", "--source", "docs.jsonl")
    assert ran.code == 2, ran.err
    assert f"the time to embed {COUNT} rows" in ran.out
    planned = run("--json", "plan", "program.json", "--source", "docs.jsonl").document
    assert planned["plan"]["estimate"]["vectors"] == COUNT
