"""`idxopt experiment prime` with real all-MiniLM-L6-v2 on a collection of a dozen pages."""

import json
import re

import pytest
from aiohttp import web

from idxopt.errors import ExitCode
from tests.e2e.generating import USAGE, rewriting
from tests.e2e.runner import run
from tests.model_servers.server import Request, chat, serving
from tests.models_support import minilm_toml

SUBJECTS = ("pump", "valve", "boiler", "filter", "motor", "sensor")
PARTS = ("Installing the", "Cleaning the", "Replacing the")


@pytest.fixture
def collection(tmp_path, monkeypatch, minilm):
    """Twelve pages of three sections, six queries, gold spans for two of them."""
    assert minilm.is_dir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDXOPT_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "idxopt.toml").write_text(minilm_toml(), encoding="utf-8")
    folder = tmp_path / "manuals"
    (folder / "qrels").mkdir(parents=True)
    pages, spans = [], []
    for number in range(12):
        subject = SUBJECTS[number % 6]
        sections = [
            f"## {part} {subject}\n\nThe {subject} of model {number} has {number + 2} screws that must be loosened "
            f"before anything else is done. It is a nice thing to look at in the evening. Therefore the work on the "
            f"{subject} takes {number + 5} minutes, because every screw is tightened to 12 Nm afterwards."
            for part in PARTS
        ]
        text = f"# Model {number}\n\n" + "\n\n".join(sections) + "\n"
        pages.append({"_id": f"m{number}", "title": f"Manual of the {subject}, model {number}", "text": text})
        if number < 2:
            start = text.index(f"The {subject} of model")
            spans.append({"query": f"q{number}", "doc": f"m{number}", "start": start, "end": start + 80})
    queries = [{"_id": f"q{n}", "text": f"how do I clean the {SUBJECTS[n]}?"} for n in range(6)]
    for name, rows in (("corpus", pages), ("queries", queries), ("spans", spans)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    qrels = [f"q{n}\tm{n}\t1\n" for n in range(6)] + [f"q{n}\tm{n + 6}\t1\n" for n in range(6)]
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n" + "".join(qrels), encoding="utf-8")
    return folder


def test_all_methods_all_columns_and_a_second_run_that_asks_nothing(collection, tmp_path):
    ran = run("experiment", "prime", "manuals", "--work", "out")
    assert ran.code == ExitCode.OK, ran.err
    assert "manuals: 6 of 6 judged queries and 12 of 12 documents" in ran.out
    assert "read as markdown" in ran.out
    found = json.loads((tmp_path / "out" / "prime.json").read_bytes())["collections"][0]
    assert len(found["cells"]) == 3 * 11
    assert all(0 <= cell["main"]["mean"] <= 1 for cell in found["cells"])
    assert found["cells"][0]["main"]["mean"] > 0.5
    costs = found["costs"]
    assert costs["offline"]["vectors"] == costs["title"]["vectors"] == 12
    assert costs["structure-chunks"]["vectors"] == 4 * 12
    assert costs["structure-chunks"]["tokens"] > costs["offline"]["tokens"]
    assert found["shape"]["sections"] == 4
    assert found["fidelity"]["sections"]["rewritten"] > 0
    assert {one["name"] for one in found["density"]} >= {"stop-word ratio", "semantic density"}
    assert {one["name"] for one in found["evidence"]} >= {"nDCG@5", "token recall@5"}
    text = (tmp_path / "out" / "prime.txt").read_text("utf-8")
    for title in ("Table 1", "Table 2", "Formula of terms", "Cost", "Density", "Evidence", "Fidelity"):
        assert f"{title}" in text
    html = (tmp_path / "out" / "prime.html").read_text("utf-8")
    assert not re.search(r"https?://|<script|<link", html)

    (tmp_path / "idxopt.toml").write_text(minilm_toml().replace("path = ", 'path = "/nowhere" # '), encoding="utf-8")
    again = run("experiment", "prime", "manuals", "--work", "out", "--json")
    assert again.code == ExitCode.OK, again.err
    assert again.document["collections"][0]["cells"] == found["cells"]


def test_few_methods_and_a_sample(collection):
    del collection
    ran = run("experiment", "prime", "manuals", "--method", "offline", "--max-queries", "2", "--max-documents", "5")
    assert ran.code == ExitCode.OK, ran.err
    assert "2 of 6 judged queries and 5 of 12 documents" in ran.out
    assert "PRIME (offline):" in ran.out
    assert "control: title" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("manuals", "manuals"), ExitCode.USAGE, 'two collections are called "manuals"'),
        (("manuals", "--method", "none"), ExitCode.USAGE, 'unknown method "none"'),
        (("manuals/corpus.jsonl",), ExitCode.USAGE, "is no BEIR folder"),
        (("manuals", "--reranker", "none"), ExitCode.USAGE, "a column of the tables is reranked"),
        (("manuals", "--model", "other/model"), ExitCode.USAGE, "the length of the vectors of other/model"),
        (("manuals", "--second-model", "other/model"), ExitCode.USAGE, "the length of the vectors of other/model"),
        (("manuals", "--second-dimension", "8"), ExitCode.USAGE, "belongs to a second encoder"),
        (("manuals", "m2", "--queries", "q", "--qrels", "r"), ExitCode.USAGE, "belong to one collection"),
        (("manuals", "--model", "x/y", "--dimension", "8"), ExitCode.ERROR, 'nothing says where the model "x/y" runs'),
        (("manuals", "--field", "title=title"), ExitCode.USAGE, "the field body is not mapped"),
        (("manuals", "--profile", "papers"), ExitCode.USAGE, 'unknown profile "papers"'),
    ],
)
def test_what_cannot_be_run_is_told(collection, arguments, code, message):
    del collection
    ran = run("experiment", "prime", *arguments)
    assert message in ran.err
    assert ran.code == code


def test_presets_are_listed_and_shown_with_other_models():
    listed = run("preset", "list", "--json").document
    assert {"offline", "structure-chunks", "sr-context", "raptor-lite"} <= {one["name"] for one in listed}
    assert all(one["what"] and one["when"] and one["cost"] for one in listed)
    shown = run("preset", "show", "offline", "--profile", "paper", "--beside", "raw", "--json").document
    assert shown["models"]["encoder"]["id"] == "BAAI/bge-small-en-v1.5"
    assert list(shown["views"]) == ["content", "windows"]
    other = run("preset", "show", "raw", "--model", "x/y", "--dimension", "8", "--reranker", "none", "--json").document
    assert "rerank" not in other
    assert other["models"] == {
        "encoder": {"kind": "embedder", "id": "x/y", "dimension": 8, "similarity": "cosine", "max_tokens": 256}
    }


def generator_toml(url: str) -> str:
    """A priced language model behind a server."""
    return f'[models."maker/small"]\nprovider = "http"\nurl = "{url}"\nprice_input = 1.0\nprice_output = 2.0\n'


def answering(request: Request) -> web.Response:
    """Restructured sections, and the same short answer to every question."""
    if "Question:" in request.body["messages"][-1]["content"]:
        return web.json_response(chat("12 Nm", usage=USAGE))
    return rewriting()(request)


def test_a_language_model_rewrites_answers_and_is_paid_once(collection, tmp_path):
    arguments = ("experiment", "prime", "manuals", "--method", "full", "--generator", "maker/small")
    with serving(answering) as server:
        (tmp_path / "idxopt.toml").write_text(minilm_toml() + generator_toml(server.url), encoding="utf-8")
        refused = run(*arguments)
        assert refused.code == ExitCode.USAGE
        assert "add --yes" in refused.err
        assert server.requests == []
        ran = run(*arguments, "--yes")
        assert ran.code == ExitCode.OK, ran.err
        asked = ["Question:" in request.body["messages"][-1]["content"] for request in server.requests]
        assert asked.count(False) == 12 * 3
        assert 0 < asked.count(True) <= 3 * 2
        found = json.loads((tmp_path / "idxopt-experiment" / "prime.json").read_bytes())["collections"][0]
        assert set(found["answers"]) == {"raw-raw", "raw-sr", "full-full"}
        assert found["answers"]["raw-raw"]["n"] == 2
        for part in (tmp_path / "idxopt-experiment" / "manuals" / "parts").glob("rewriting.json"):
            part.unlink()
        before = len(server.requests)
        again = run(*arguments, "--yes")
        assert again.code == ExitCode.OK, again.err
        assert len(server.requests) == before
    assert "Answer-F1" in (tmp_path / "idxopt-experiment" / "prime.txt").read_text("utf-8")


def test_a_budget_stops_it_and_what_was_made_is_kept(collection, tmp_path):
    del collection
    arguments = ("experiment", "prime", "manuals", "--method", "full", "--generator", "maker/small", "--yes")
    with serving(answering) as server:
        (tmp_path / "idxopt.toml").write_text(minilm_toml() + generator_toml(server.url), encoding="utf-8")
        stopped = run(*arguments, "--budget", "0.004")
        assert stopped.code == ExitCode.BUDGET, stopped.err
        first = len(server.requests)
        assert 0 < first < 36
        done = run(*arguments)
        assert done.code == ExitCode.OK, done.err
        rewritten = sum("Question:" not in one.body["messages"][-1]["content"] for one in server.requests)
        assert rewritten == 36
