"""`idxopt optimize --proposer llm` against a server: killed inside trials, nothing is asked or paid for twice."""

import json
from pathlib import Path

from aiohttp import web

from tests.e2e.runner import call
from tests.e2e.test_optimize import kill_inside_a_trial
from tests.model_servers.server import ModelServer, Request, chat, serving
from tests.unit.optimizer.study.collection import write_collection
from tests.unit.optimizer.study.making import trials

USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100}
PRICE_IN, PRICE_OUT = 1.0, 2.0
WEIGHTS = (0.5, 0.25, 1.0)
OPTIONS = (
    "small",
    "--evaluations",
    "3",
    "--proposer",
    "llm",
    "--model",
    "maker/small",
    "--budget",
    "5",
    "--patience",
    "1",
)


def answer(_: Request) -> web.Response:
    """Always the same: the title with one of three weights."""
    edits = [[{"edit": "search_field", "view": "content", "field": "title", "weight": weight}] for weight in WEIGHTS]
    changes = [{"kind": "title", "why": "titles name the topic", "edits": each} for each in edits]
    return web.json_response(chat(json.dumps({"changes": changes}), usage=USAGE))


def write_site(folder: Path, server: ModelServer) -> Path:
    write_collection(folder / "small")
    table = {"provider": "http", "url": server.url, "retries": 0, "price_input": PRICE_IN, "price_output": PRICE_OUT}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in table.items())
    (folder / "idxopt.toml").write_text(f'[models."maker/small"]\n{lines}\n', encoding="utf-8")
    return folder


def test_h19_nothing_is_asked_or_charged_twice(tmp_path: Path) -> None:
    """cases.md H19: nothing generated or charged twice."""
    with serving(answer) as server:
        folder = write_site(tmp_path, server)
        whole = call("optimize", *OPTIONS, "--out", "whole", "--json", folder=folder)
        assert whole.code == 0, whole.err
        asked = [json.dumps(request.body["messages"]) for request in server.requests]
        server.requests.clear()
        for least in (0, 1, 1):
            kill_inside_a_trial(folder, "killed", least, OPTIONS)
        resumed = call("optimize", *OPTIONS, "--out", "killed", "--json", folder=folder)
        assert resumed.code == 0, resumed.err
        again = [json.dumps(request.body["messages"]) for request in server.requests]
    assert again == asked
    assert len(set(again)) == len(again)
    assert trials(folder / "killed") == trials(folder / "whole")
    assert resumed.document["winner"] == whole.document["winner"]
    price = (PRICE_IN * USAGE["prompt_tokens"] + PRICE_OUT * USAGE["completion_tokens"]) / 1_000_000
    for ran in (whole, resumed):
        assert abs(ran.document["cost"]["money"] - len(asked) * price) < 1e-9
        (model,) = ran.document["cost"]["models"]
        assert (model["model"], model["calls"]) == ("maker/small", len(asked))


def test_a_budget_that_is_used_up_ends_the_search_with_6(tmp_path: Path) -> None:
    with serving(answer) as server:
        folder = write_site(tmp_path, server)
        small = [*OPTIONS, "--out", "poor", "--json"]
        small[small.index("5")] = "0.000001"
        ran = call("optimize", *small, folder=folder)
        assert ran.code == 6, ran.err
        assert not server.requests
    assert ran.document["finished"] is False
    assert "the budget is reached" in ran.document["stopped"]


def test_h19_a_request_that_failed_is_not_heard_by_a_resumed_study_unless_it_is_told_to_retry(tmp_path: Path) -> None:
    """cases.md H19: a resumed study takes the path that it took."""
    with serving(lambda _: web.Response(status=500, text="out of memory")) as server:
        folder = write_site(tmp_path, server)
        first = call("optimize", *OPTIONS, "--out", "failed", "--json", folder=folder)
        assert first.code == 0, first.err
        assert server.requests
        assert first.document["path"] == []
        assert any("--retry-failed-answers" in note["text"] for note in first.document["notes"])
        server.requests.clear()
        server.answer = answer
        resumed = call("optimize", *OPTIONS, "--out", "failed", "--json", folder=folder)
        assert resumed.code == 0, resumed.err
        assert not server.requests
        assert resumed.document["winner"] == first.document["winner"]
        retried = call("optimize", *OPTIONS, "--out", "failed", "--retry-failed-answers", "--json", folder=folder)
        whole = call("optimize", *OPTIONS, "--out", "whole", "--json", folder=folder)
    assert retried.code == 0, retried.err
    assert retried.document["path"]
    assert retried.document["winner"] == whole.document["winner"]
    assert not any("--retry-failed-answers" in note["text"] for note in retried.document["notes"])


def test_mixed_works_without_a_model_and_shares_with_one(tmp_path: Path) -> None:
    """With a model: heuristic, model, chance; without: heuristic, chance."""
    with serving(answer) as server:
        folder = write_site(tmp_path, server)
        mixed = ["small", "--evaluations", "4", "--proposer", "mixed", "--rule", "paper", "--json"]
        alone = call("optimize", *mixed, "--out", "alone", folder=folder)
        assert alone.code == 0, alone.err
        assert not server.requests
        both = call("optimize", *mixed, "--model", "maker/small", "--out", "both", folder=folder)
        assert both.code == 0, both.err
        assert server.requests
    for out, names in (("alone", ["heuristic"] * 3 + ["random"]), ("both", ["heuristic"] * 2 + ["llm", "random"])):
        record = json.loads((folder / out / "record.json").read_text(encoding="utf-8"))
        assert [trial["proposer"] for trial in record["trials"] if trial["round"] == 1][:4] == names
