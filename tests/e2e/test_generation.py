"""Texts of a language model through the command line: estimate, consent, budget, unusable answers, resume."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.port import LoadRow
from tests.e2e.generating import DOCUMENTS, SECTIONS, parts_of, rewriting, shortened, text_of, write_site
from tests.e2e.runner import call, run, spawn
from tests.model_servers.server import ModelServer, Request, chat, serving, status

TEXTS = DOCUMENTS * SECTIONS
APPLY = ("apply", "program.json", "--source", "docs.jsonl")


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with serving(rewriting()) as found:
        yield found


@pytest.fixture
def site(server: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDXOPT_CACHE_DIR", str(tmp_path / "cache"))
    return write_site(tmp_path, server.url)


def stored(site: Path) -> dict[str, dict[str, Any]]:
    engine = EmbeddedEngine(site / "index")
    (index,) = engine.aliases("handbook")["handbook"]
    found = {document.id: dict(document.source) for document in engine.scan(index)}
    engine.close()
    return found


def test_apply_generates_each_section_once_and_stores_it(site: Path, server: ModelServer) -> None:
    ran = run(*APPLY, "--yes")
    assert ran.code == 0, ran.err
    assert len(server.requests) == TEXTS
    assert f"generated {TEXTS} texts" in ran.out
    dense = stored(site)["d1"]["idxopt"]["dense"]
    assert dense.startswith("# Page 1\n\n## Limits of service 1\n\nThe API of service 1 accepts 101 requests")
    assert "```\nlimit = 101\n```" in dense
    assert "| basic | 1 |" in dense
    assert "lunch" not in dense
    again = run(*APPLY, "--yes", "--rebuild")
    assert again.code == 0, again.err
    assert len(server.requests) == TEXTS
    assert "generated" not in again.out


def test_plan_shows_the_estimate_before_anything_is_spent(site: Path, server: ModelServer) -> None:
    ran = run("plan", "program.json", "--source", "docs.jsonl")
    assert ran.code == 2
    assert f"about {TEXTS} texts to generate by small (maker/small)" in ran.out
    assert "USD" in ran.out
    shown = json.loads(run("plan", "program.json", "--source", "docs.jsonl", "--json").out)
    (estimate,) = shown["plan"]["estimate"]["generated"]
    assert estimate["texts"] == TEXTS
    assert estimate["money"] == pytest.approx((estimate["tokens_in"] + 2 * estimate["tokens_out"]) / 1e6)
    assert server.requests == []


def test_plan_and_question_name_the_steps_that_come_on_top(site: Path, server: ModelServer) -> None:
    wanted = json.loads((site / "program.json").read_text())
    summary = {"op": "enrich", "with": "summary", "field": "dense", "into": "short", "generator": "small"}
    wanted["views"]["content"]["steps"].append(summary)
    (site / "program.json").write_text(json.dumps(wanted))
    on_top = "on top come the texts of content.steps[1] (enrich summary by small)"
    assert on_top in run("plan", "program.json", "--source", "docs.jsonl").out
    (estimate,) = run("plan", "program.json", "--source", "docs.jsonl", "--json").document["plan"]["estimate"][
        "generated"
    ]
    assert estimate["later"] == ["content.steps[1] (enrich summary by small)"]
    assert run("plan", "program.json", "--source", "docs.jsonl", "--out", "plan.json").code == 2
    saved = json.loads((site / "plan.json").read_text())
    saved["estimate"]["generated"][0]["money"] /= 2
    (site / "plan.json").write_text(json.dumps(saved).replace(" ", ""))
    asked = run("apply", "plan.json", typed="no\n")
    assert asked.code == 1
    assert on_top in asked.err
    assert "Generate these texts, and on top those of the steps named?" in asked.err
    assert server.requests == []


def test_carried_writes_have_texts_made_only_with_yes_or_a_budget(site: Path, server: ModelServer) -> None:
    assert run(*APPLY, "--yes").code == 0
    engine = EmbeddedEngine(site / "index")
    (index,) = engine.aliases("handbook")["handbook"]
    state = engine.get_index(index)
    assert state is not None
    engine.overwrite(index, state.uuid, [LoadRow("new", {"title": "New", "text": text_of(77)})], [])
    engine.refresh(index)
    engine.close()
    again = (*APPLY, "--rebuild", "--carry-writes")
    refused = run(*again, typed="yes\n")
    assert refused.code == 5
    assert "add --yes" in refused.err
    assert len(server.requests) == TEXTS
    assert run(*again, "--budget", "5", typed="yes\n").code == 0
    assert len(server.requests) == TEXTS + SECTIONS
    assert "lunch" not in stored(site)["new"]["idxopt"]["dense"]


def test_the_plan_says_when_nothing_says_where_the_model_runs(site: Path, server: ModelServer) -> None:
    (site / "idxopt.toml").write_text('[clusters.local]\nengine = "embedded"\nfolder = "index"\n', encoding="utf-8")
    ran = run("plan", "program.json", "--source", "docs.jsonl")
    assert ran.code == 2
    assert "texts of the generator small are needed, and cannot be estimated" in ran.out
    refused = run(*APPLY, "--yes")
    assert refused.code == 1
    assert '[models."maker/small"]' in refused.err
    assert server.requests == []


def test_without_yes_and_terminal_nothing_is_sent(site: Path, server: ModelServer) -> None:
    ran = run(*APPLY)
    assert ran.code == 64
    assert "--yes" in ran.err
    assert server.requests == []


def test_a_plan_that_showed_the_cost_is_consent(site: Path, server: ModelServer) -> None:
    assert run("plan", "program.json", "--source", "docs.jsonl", "--out", "plan.json").code == 2
    assert run("apply", "plan.json").code == 0
    assert len(server.requests) == TEXTS


def test_a_plan_that_showed_less_than_is_needed_is_not(site: Path, server: ModelServer) -> None:
    assert run("plan", "program.json", "--source", "docs.jsonl", "--out", "plan.json").code == 2
    saved = json.loads((site / "plan.json").read_text())
    saved["estimate"]["generated"][0]["money"] /= 2
    (site / "plan.json").write_text(json.dumps(saved).replace(" ", ""))
    ran = run("apply", "plan.json")
    assert ran.code == 64
    assert "Generate these texts?" in ran.err
    assert server.requests == []
    assert run("apply", "plan.json", "--yes").code == 0


def test_a_budget_below_one_call_is_refused_before_it_is_sent(site: Path, server: ModelServer) -> None:
    write_site(site, server.url, price_input=30.0, price_output=60.0)
    ran = run(*APPLY, "--yes", "--budget", "0.01")
    assert ran.code == 6
    assert "budget is reached" in ran.err
    assert server.requests == []
    assert "nothing is live" in run("status", "handbook").out


def test_a_budget_without_prices_is_refused(site: Path, server: ModelServer) -> None:
    settings = write_site(site, server.url) / "idxopt.toml"
    settings.write_text("\n".join(line for line in settings.read_text().split("\n") if "price_output" not in line))
    ran = run(*APPLY, "--yes", "--budget", "5")
    assert ran.code == 1
    assert "a budget needs the prices of this model" in ran.err
    assert "price_input and price_output" in ran.err
    assert server.requests == []


def test_a_budget_stops_cleanly_and_a_larger_one_makes_only_the_rest(site: Path, server: ModelServer) -> None:
    write_site(site, server.url, concurrency=1, price_input=100.0, price_output=0.0)
    first = run(*APPLY, "--yes", "--budget", "0.22")
    assert first.code == 6
    made = len(server.requests)
    assert 0 < made < TEXTS
    assert f"the {made} texts in the store are kept" in first.err
    assert 0.012 * made <= 0.22
    same = run(*APPLY, "--yes", "--budget", "0.22")
    assert same.code == 6
    assert len(server.requests) == made
    assert run(*APPLY, "--yes", "--budget", "50").code == 0
    assert len(server.requests) == TEXTS


def test_answers_that_cannot_be_used_are_asked_for_once_more(site: Path, server: ModelServer) -> None:
    good = rewriting()
    seen: set[str] = set()

    def answer(request: Request) -> web.Response:
        first = parts_of(request)[0]
        if first in seen:
            return good(request)
        seen.add(first)
        if len(seen) % 2:
            return web.json_response(chat('{"parts": ["never clo', finish="length"))
        return web.json_response(chat("Certainly! Here is the section."))

    server.answer = answer
    ran = run(*APPLY, "--yes")
    assert ran.code == 0, ran.err
    assert len(server.requests) == 2 * TEXTS
    assert "usable" not in ran.out
    assert "lunch" not in stored(site)["d2"]["idxopt"]["dense"]


@pytest.mark.parametrize(
    "answer",
    [
        chat('{"parts": ["cut of', finish="length"),
        chat("no JSON"),
        chat('{"parts": []}'),
        chat('["parts"]'),
        chat(None, refusal="I will not."),
        chat('{"parts": [""]}'),
    ],
    ids=["truncated", "chat", "fewer parts", "another shape", "refusal", "empty"],
)
def test_twice_unusable_the_original_section_is_kept_and_counted(
    site: Path, server: ModelServer, answer: dict[str, Any]
) -> None:
    server.answer = lambda _: web.json_response(answer)
    ran = run(*APPLY, "--yes")
    assert ran.code == 0, ran.err
    assert stored(site)["d1"]["idxopt"]["dense"] == text_of(1)
    empty = answer == chat('{"parts": [""]}')
    assert ("without a usable answer" in ran.out) is not empty
    again = len(server.requests)
    assert run(*APPLY, "--yes", "--rebuild").code == 0
    assert len(server.requests) == again


def test_a_section_that_loses_a_number_stays_the_original(site: Path, server: ModelServer) -> None:
    server.answer = rewriting(lambda part: shortened(part).replace("102", "many"))
    assert run(*APPLY, "--yes").code == 0
    found = stored(site)
    assert "lunch" in found["d2"]["idxopt"]["dense"]
    assert "some of it will be said" not in found["d2"]["idxopt"]["dense"]
    assert "lunch" not in found["d1"]["idxopt"]["dense"]


def test_a_failing_server_stops_the_apply_and_what_was_made_is_kept(site: Path, server: ModelServer) -> None:
    write_site(site, server.url, concurrency=1)
    good = rewriting()
    server.answer = lambda request: good(request) if request.number < 4 else status(500)
    ran = run(*APPLY, "--yes")
    assert ran.code == 1
    assert "500" in ran.err
    server.answer = good
    before = len(server.requests)
    assert run(*APPLY, "--yes").code == 0
    assert len(server.requests) - before == TEXTS - 4


def test_killed_in_the_middle_and_run_again_nothing_is_paid_twice(
    site: Path, server: ModelServer, tmp_path: Path
) -> None:
    """Answers that arrived whole before the kill are never asked for again; at most `concurrency` were under way."""
    concurrency = 2
    documents = 12
    write_site(site, server.url, documents=documents, concurrency=concurrency)
    answered: list[str] = []
    good = rewriting()

    async def answer(request: Request) -> web.StreamResponse:
        await asyncio.sleep(0.15)
        response = good(request)
        answered.append(parts_of(request)[0])
        return response

    server.answer = answer
    variables = {"IDXOPT_CACHE_DIR": str(tmp_path / "cache")}
    process = spawn(*APPLY, "--yes", "--budget", "5", folder=site, variables=variables)
    deadline = time.monotonic() + 120
    while len(answered) < 7 and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    time.sleep(0.5)
    before = list(answered)
    assert 7 <= len(before) < documents * SECTIONS
    server.answer = good_after(answered)
    ran = call(*APPLY, "--yes", "--budget", "5", "--lock-timeout", "90", folder=site, variables=variables)
    assert ran.code == 0, ran.err
    twice = [part for part in set(answered) if answered.count(part) > 1]
    assert len(twice) <= concurrency
    assert set(twice) <= set(before[-2 * concurrency :])
    assert len(set(answered)) == documents * SECTIONS


def good_after(answered: list[str]) -> Any:
    good = rewriting()

    def answer(request: Request) -> web.Response:
        answered.append(parts_of(request)[0])
        return good(request)

    return answer


def test_a_warning_where_retrieval_reads_restructured_text(site: Path, server: ModelServer) -> None:
    wanted = json.loads((site / "program.json").read_text())
    wanted["views"]["content"]["lexical"]["fields"]["dense"] = {}
    (site / "program.json").write_text(json.dumps(wanted))
    for ran in (run("validate", "program.json"), run("plan", "program.json", "--source", "docs.jsonl")):
        assert "retrieval reads restructured text" in ran.out
        assert ".311 to .241" in ran.out
    assert server.requests == []
