"""The proposer that asks a language model, against a real HTTP server: recorded answers, wrong ones, endless ones."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from aiohttp import web

from idxopt.errors import BudgetReached
from idxopt.ledger.ledger import Ledger
from idxopt.models.http.chat import HttpGenerator
from idxopt.models.metered import Metered
from idxopt.optimizer.autoindex.llm import LlmProposer
from idxopt.optimizer.autoindex.mixed import MixedProposer
from idxopt.optimizer.autoindex.prompt import SCHEMA
from idxopt.optimizer.autoindex.random import RandomProposer
from idxopt.optimizer.edits import edited
from idxopt.program.canonical import program_hash
from tests.model_servers.server import ModelServer, Request, chat, status
from tests.unit.optimizer.proposing import baseline, corpus, state

Make = Callable[..., HttpGenerator]
TITLE = {"edit": "search_field", "view": "content", "field": "title", "weight": 0.5}
LEAD = [
    {
        "edit": "add_step",
        "view": "content",
        "before": 0,
        "step": {"op": "enrich", "with": "lead", "field": "body", "into": "lead", "sentences": 2},
    },
    {"edit": "search_field", "view": "content", "field": "lead", "weight": 2},
]
ROWS = [
    {
        "edit": "add_view",
        "name": "rows",
        "view": {
            "steps": [{"op": "slice", "unit": "words", "window": 50, "overlap": 25}],
            "lexical": {"fields": {"body": {}}},
        },
    }
]


def changes(*edits: Sequence[object], kind: str = "k") -> str:
    return json.dumps({"changes": [{"kind": kind, "why": "evidence", "edits": list(each)} for each in edits]})


def replay(server: ModelServer, answers: Sequence[str | web.Response]) -> None:
    """Answers in turn; the last for ever."""
    usage = {"prompt_tokens": 900, "completion_tokens": 80}

    def answer(request: Request) -> web.Response:
        said = answers[min(request.number, len(answers) - 1)]
        return said if isinstance(said, web.Response) else web.json_response(chat(said, usage=usage))

    server.answer = answer


def test_recorded_answers_become_programs(server: ModelServer, generator: Make):
    replay(server, [changes([TITLE], LEAD, ROWS)])
    proposer = LlmProposer(generator(), corpus())
    found = proposer.ask(state(), 4)
    programs = [edited(baseline(), one.edits) for one in found]
    assert [sorted(program.views) for program in programs] == [["content"], ["content"], ["content", "rows"]]
    assert [one.proposer for one in found] == ["llm"] * 3
    assert proposer.refusals == []
    (request,) = server.requests
    assert request.body["temperature"] == 0
    assert request.body["response_format"]["json_schema"]["schema"] == json.loads(json.dumps(SCHEMA))


def test_a_wrong_answer_is_repaired_once_with_its_reason(server: ModelServer, generator: Make):
    replay(server, [changes([{**TITLE, "field": "tilte"}]), changes([TITLE])])
    proposer = LlmProposer(generator(), corpus())
    (found,) = proposer.ask(state(), 4)
    assert found.edits[0].model_dump(exclude_none=True) == TITLE
    assert 'no field "tilte"' in proposer.refusals[0].reason
    assert "tilte" in server.requests[1].body["messages"][-1]["content"]
    assert proposer.requests == 2


def test_after_two_wrong_answers_the_round_goes_without(server: ModelServer, generator: Make):
    replay(server, [changes([{**TITLE, "field": "tilte"}])])
    proposer = LlmProposer(generator(), corpus())
    assert proposer.ask(state(), 4) == []
    assert len(server.requests) == 2
    assert proposer.ask(state(), 4) == []
    assert len(server.requests) == 2
    assert len(proposer.refusals) == 2


def test_a_consensus_prefers_what_most_samples_say(server: ModelServer, generator: Make):
    replay(server, [changes(LEAD, [TITLE]), changes(ROWS, [TITLE]), changes([TITLE])])
    found = LlmProposer(generator(), corpus(), samples=3).ask(state(), 4)
    assert found[0].edits[0].model_dump(exclude_none=True) == TITLE
    assert found[0].why == "evidence (3 of 3 samples)"
    assert [one.why for one in found[1:]] == ["evidence (1 of 3 samples)"] * 2


def test_what_was_seen_is_not_proposed_again(server: ModelServer, generator: Make):
    replay(server, [changes([TITLE], LEAD)])
    program = baseline()
    first = LlmProposer(generator(), corpus()).ask(state(), 4)[0]
    seen = frozenset({program_hash(program), program_hash(edited(program, first.edits))})
    proposer = LlmProposer(generator(), corpus())
    (second,) = proposer.ask(state(seen=seen), 4)
    assert len(second.edits) == 2
    assert "there already" in proposer.refusals[0].reason


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("<html>Sign in</html>", "not JSON"),
        ("I would not do that.", "not JSON"),
        (json.dumps({"changes": "all"}), "'all' is not of type 'array'"),
        (json.dumps({"changes": [{"kind": "k", "why": "w" * 10_000_000, "edits": [TITLE]}]}), "longer than"),
        (json.dumps({"changes": [{"kind": "k", "why": "w" * 300_000, "edits": [TITLE]}]}), "longer than"),
        (json.dumps({"changes": [{}] * 30_000}), "longer than"),
        (json.dumps({"changes": [{}] * 1_000}), "twice the answer"),
        ("[" * 90_000, "nested too deeply|not JSON"),
        (changes([TITLE])[:-20], "not JSON"),
        (web.Response(text="<html>", content_type="text/html"), "no JSON object"),
        (status(500, "out of memory"), "500"),
        (status(401, "no key"), "401"),
    ],
    ids=["HTML", "prose", "shape", "10 MB", "300 kB", "flood", "many", "brackets", "cut", "a page", "500", "401"],
)
def test_what_cannot_be_used_costs_its_turn_only(
    server: ModelServer, generator: Make, answer: str | web.Response, reason: str
):
    def said(_: Request) -> web.Response:
        return _copy(answer) if isinstance(answer, web.Response) else web.json_response(chat(answer))

    server.answer = said
    llm = LlmProposer(generator(retries=0), corpus())
    started = time.monotonic()
    found = MixedProposer([(llm, 1), (RandomProposer(1), 1)]).ask(state(), 4)
    assert time.monotonic() - started < 30
    assert [one.proposer for one in found] == ["random"] * 4
    assert any(part in llm.refusals[0].reason for part in reason.split("|")), llm.refusals


def _copy(answer: web.Response) -> web.Response:
    return web.Response(body=answer.body, status=answer.status, content_type=answer.content_type)


def test_an_answer_that_never_ends_is_left_after_its_time(server: ModelServer, generator: Make):
    async def endless(request: Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request.raw)
        await response.write(b'{"choices": [{"message": {"content": "')
        while True:
            await response.write(b"a" * 100)
            await asyncio.sleep(0.05)

    server.answer = endless
    llm = LlmProposer(generator(timeout_s=1.0, retries=0), corpus())
    started = time.monotonic()
    assert llm.ask(state(), 4) == []
    assert time.monotonic() - started < 8
    assert llm.refusals


def test_a_budget_is_asked_before_anything_is_sent(server: ModelServer, generator: Make, tmp_path: Path):
    replay(server, [changes([TITLE])])
    with Ledger.open(tmp_path / "ledger.sqlite", budget=0.000001) as ledger:
        metered = Metered(generator(price_input=1.0, price_output=1.0), ledger)
        with pytest.raises(BudgetReached):
            LlmProposer(metered, corpus()).ask(state(), 4)
    assert server.requests == []


def test_tokens_are_counted_by_the_ledger(server: ModelServer, generator: Make, tmp_path: Path):
    replay(server, [changes([{**TITLE, "field": "tilte"}]), changes([TITLE])])
    with Ledger.open(tmp_path / "ledger.sqlite", budget=10.0) as ledger:
        metered = Metered(generator(price_input=1.0, price_output=1.0), ledger)
        assert len(LlmProposer(metered, corpus()).ask(state(), 4)) == 1
        spent = ledger.spent()
    assert (spent.tokens_in, spent.tokens_out, spent.calls) == (1_800, 160, 2)
    assert spent.money == pytest.approx(0.00196)
