"""Chat over HTTP: the request, usage, JSON by a schema, and answers that cannot be used."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from idxopt.errors import BudgetReached, ModelError
from idxopt.ledger.ledger import Ledger
from idxopt.models.answers import Unusable
from idxopt.models.http.chat import HttpGenerator
from idxopt.models.metered import Metered, bound
from idxopt.models.ports import Generation, Prompt
from tests.model_servers.server import ModelServer, Request, chat, status

Make = Callable[..., HttpGenerator]
SCHEMA = {
    "type": "object",
    "properties": {"questions": {"type": "array", "items": {"type": "string"}, "minItems": 2}},
    "required": ["questions"],
    "additionalProperties": False,
}
PLAIN = Prompt("summary", "A text.", "You summarise.", "Summarise: A text.", max_tokens=50)
JSON = Prompt("questions", "A text.", "You ask.", "Ask about: A text.", SCHEMA, 50)
GOOD = json.dumps({"questions": ["What?", "Why?"]})
USAGE = {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16}


def answering(*answers: Any) -> Callable[[Request], web.Response]:
    """One after the other; the last one again and again."""
    return lambda request: web.json_response(answers[min(request.number, len(answers) - 1)])


def test_the_request_is_openais_at_temperature_0(server: ModelServer, generator: Make) -> None:
    server.answer = answering(chat("Short.", usage=USAGE))
    found = generator(model="gpt-x", key="env:MODEL_KEY").generate(PLAIN)
    assert found == Generation("Short.", 11, 5, "stop")
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.body == {
        "model": "gpt-x",
        "messages": [
            {"role": "system", "content": "You summarise."},
            {"role": "user", "content": "Summarise: A text."},
        ],
        "temperature": 0,
        "max_tokens": 50,
    }


def test_a_schema_is_sent_and_its_answer_passed_on(server: ModelServer, generator: Make) -> None:
    server.answer = answering(chat(GOOD, usage=USAGE))
    assert generator().generate(JSON).text == GOOD
    assert server.requests[0].body["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "questions", "strict": True, "schema": SCHEMA},
    }


def test_plain_text_that_was_cut_says_so(server: ModelServer, generator: Make) -> None:
    server.answer = answering(chat("Sho", finish="length", usage=USAGE))
    assert generator().generate(PLAIN).finish == "length"


@pytest.mark.parametrize(
    "usage", [None, {}, {"prompt_tokens": -1, "completion_tokens": "5"}, {"prompt_tokens": True}, []]
)
def test_usage_that_is_missing_or_nonsense_is_counted_from_above(
    server: ModelServer, generator: Make, usage: Any
) -> None:
    server.answer = answering(chat("Sch\u00f6n.", usage=usage))
    found = generator().generate(PLAIN)
    assert (found.input_tokens, found.output_tokens) == (len("You summarise." + "Summarise: A text."), 7)
    server.answer = answering(chat("x" * 1_000, usage=usage))
    assert generator().generate(PLAIN).output_tokens == PLAIN.max_tokens


REPAIRED = {
    "no JSON": (chat("Here you are: What?", usage=USAGE), "it is not JSON"),
    "cut": (chat(GOOD[:20], finish="length", usage=USAGE), "it was cut after 50 tokens"),
    "against the schema": (chat('{"questions": ["one"]}', usage=USAGE), "is too short"),
    "spare field": (chat('{"questions": ["a", "b"], "x": 1}', usage=USAGE), "Additional properties"),
    "a list": (chat('["a", "b"]', usage=USAGE), "is not of type 'object'"),
    "NaN": (chat('{"questions": NaN}', usage=USAGE), "NaN is no JSON number"),
    "empty": (chat("", usage=USAGE), "it is not JSON"),
    "deep": (chat("[" * 100_000, usage=USAGE), "nested too deeply"),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_an_answer_that_is_not_usable_is_asked_for_once_more_with_the_reason(
    server: ModelServer, generator: Make, name: str
) -> None:
    first, said = REPAIRED[name]
    server.answer = answering(first, chat(GOOD, usage=USAGE))
    assert generator().generate(JSON) == Generation(GOOD, 22, 10, "stop")
    again = server.requests[1].body["messages"][1]["content"]
    assert again.startswith("Ask about: A text.\n\nAn earlier answer could not be used: ")
    assert said in again


@pytest.mark.parametrize("name", REPAIRED)
def test_twice_not_usable_is_an_error_with_the_reason(server: ModelServer, generator: Make, name: str) -> None:
    first, said = REPAIRED[name]
    server.answer = answering(first)
    with pytest.raises(Unusable, match="twice the answer could not be used") as caught:
        generator().generate(JSON)
    assert said in caught.value.message
    assert len(server.requests) == 2


def test_a_code_fence_around_json_is_taken_off(server: ModelServer, generator: Make) -> None:
    server.answer = answering(chat(f"```json\n{GOOD}\n```\n", usage=USAGE))
    assert generator().generate(JSON).text == GOOD
    assert len(server.requests) == 1


UNUSABLE = {
    "no choices": ({"choices": []}, "no message"),
    "no message": ({"choices": [{"finish_reason": "stop"}]}, "no message"),
    "choices no list": ({"choices": {"0": 1}}, "no message"),
    "null content": (chat(None, finish="tool_calls"), "no text"),
    "filtered": (chat("", finish="content_filter"), "refused to answer"),
    "refusal": (chat(None, refusal="I will not"), "refused to answer"),
    "nothing": ({}, "no message"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_answers_without_a_text_are_errors(server: ModelServer, generator: Make, name: str) -> None:
    answer, said = UNUSABLE[name]
    server.answer = answering(answer)
    with pytest.raises(Unusable, match=said):
        generator().generate(PLAIN)


def test_half_of_a_surrogate_pair_in_an_answer_is_no_text(server: ModelServer, generator: Make) -> None:
    body = '{"choices": [{"message": {"content": "a\\ud800b"}, "finish_reason": "stop"}]}'
    server.answer = lambda _: web.Response(text=body)
    assert generator().generate(PLAIN).text == "a?b"


@pytest.mark.parametrize("code", [400, 422, 500])
def test_a_server_that_knows_no_json_schema_gets_a_json_object(server: ModelServer, generator: Make, code: int) -> None:
    """llama.cpp's Python server: answers 500 to `json_schema`, and takes the schema beside `json_object`."""

    def answer(request: Request) -> web.Response:
        if request.body["response_format"]["type"] == "json_schema":
            return status(code, "body.response_format.type: Input should be 'text' or 'json_object'")
        return web.json_response(chat(GOOD, usage=USAGE))

    server.answer = answer
    model = generator()
    assert model.generate(JSON).text == model.generate(JSON).text == GOOD
    kinds = [request.body["response_format"]["type"] for request in server.requests]
    assert kinds == ["json_schema", "json_object", "json_object"]
    assert server.requests[-1].body["response_format"]["schema"] == SCHEMA


def test_a_server_that_wants_max_completion_tokens_gets_it(server: ModelServer, generator: Make) -> None:
    def answer(request: Request) -> web.Response:
        if "max_tokens" in request.body:
            return status(400, "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.")
        return web.json_response(chat(GOOD, usage=USAGE))

    server.answer = answer
    model = generator()
    model.generate(JSON)
    model.generate(JSON)
    assert ["max_completion_tokens" in request.body for request in server.requests] == [False, True, True]


def test_a_lost_connection_is_not_repeated_for_it_may_have_been_paid(server: ModelServer, generator: Make) -> None:
    def drop(request: Request) -> web.Response:
        assert request.raw.transport is not None
        request.raw.transport.close()
        return web.Response()

    server.answer = drop
    with pytest.raises(ModelError, match="the connection broke off"):
        generator().generate(PLAIN)
    assert len(server.requests) == 1


class TestUnderALedger:
    """Contract 9: every request is reserved before it is sent, the repair included."""

    PRICE = {"price_input": 1_000.0, "price_output": 10_000.0}

    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Ledger:
        return Ledger.open(tmp_path / "ledger", budget=2.0)

    def most(self, model: HttpGenerator, prompt: Prompt) -> float:
        tokens_in, tokens_out = bound(model, prompt)
        return tokens_in / 1_000 + tokens_out / 100

    def test_what_was_used_is_committed(self, server: ModelServer, generator: Make, ledger: Ledger) -> None:
        server.answer = answering(chat("not JSON", usage=USAGE), chat(GOOD, usage=USAGE))
        Metered(generator(**self.PRICE), ledger).generate(JSON)
        spent = ledger.spent()
        assert (spent.calls, spent.tokens_in, spent.tokens_out, spent.reserved) == (2, 22, 10, 0.0)
        assert spent.money == pytest.approx(2 * (0.011 + 0.05))

    def test_a_budget_too_small_sends_nothing(self, server: ModelServer, generator: Make, tmp_path: Path) -> None:
        with Ledger.open(tmp_path / "cent", budget=0.01) as ledger, pytest.raises(BudgetReached):
            Metered(generator(**self.PRICE), ledger, wait_s=0.0).generate(PLAIN)
        assert server.requests == []

    def test_a_refusal_of_the_server_costs_nothing(self, server: ModelServer, generator: Make, ledger: Ledger) -> None:
        server.answer = lambda _: status(503)
        with pytest.raises(ModelError, match="503"):
            Metered(generator(**self.PRICE, retries=1), ledger).generate(PLAIN)
        assert (ledger.spent().money, ledger.spent().reserved, ledger.spent().calls) == (0.0, 0.0, 0)

    @pytest.mark.parametrize("code", [502, 504])
    def test_a_gateway_that_lost_the_server_is_not_asked_again_and_counts_in_full(
        self, server: ModelServer, generator: Make, ledger: Ledger, code: int
    ) -> None:
        server.answer = lambda _: status(code)
        model = generator(**self.PRICE, retries=3)
        with pytest.raises(ModelError, match="may have been paid for"):
            Metered(model, ledger).generate(PLAIN)
        assert len(server.requests) == 1
        assert ledger.spent().money == pytest.approx(self.most(model, PLAIN))

    def test_an_answer_that_never_came_counts_in_full(
        self, server: ModelServer, generator: Make, ledger: Ledger
    ) -> None:
        server.answer = lambda _: web.Response(text="{]", content_type="application/json")
        model = generator(**self.PRICE)
        with pytest.raises(ModelError, match="no JSON object"):
            Metered(model, ledger).generate(PLAIN)
        assert ledger.spent().money == pytest.approx(self.most(model, PLAIN))
        assert ledger.spent().overshoot == 0.0

    def test_a_server_that_bills_more_than_it_was_allowed_stops_the_ledger(
        self, server: ModelServer, generator: Make, ledger: Ledger
    ) -> None:
        server.answer = answering(chat("x", usage={"prompt_tokens": 10, "completion_tokens": 500}))
        model = Metered(generator(**self.PRICE), ledger)
        assert model.generate(PLAIN).text == "x"
        assert ledger.spent().money == pytest.approx(5.01)
        assert ledger.spent().overshoot > 4
        with pytest.raises(BudgetReached, match="the ledger is stopped: test/generator: summary cost"):
            model.generate(PLAIN)
        assert len(server.requests) == 1
