"""Language models of a server that speaks OpenAI's `/v1/chat/completions`."""

from __future__ import annotations

from typing import Any

from idxopt.models.answers import Unusable, answered
from idxopt.models.http.client import Client
from idxopt.models.http.faults import OptionRefused
from idxopt.models.ports import Generation, ModelIdentity, Prompt, Tokenizer

MOST_TOKENS = 2**31
_FIRST = {"max_completion_tokens": "max_tokens", "response_format": "json_schema"}
_SECOND = {"max_completion_tokens": "max_completion_tokens", "response_format": "json_object"}
"""What a refusal mentions, and how the request is written before and after it."""


class HttpGenerator:
    """Prompts to text over HTTP at temperature 0. A prompt with a schema gets JSON that obeys it, or a ModelError.

    Token counts are the server's own. Without a tokenizer, `count_tokens` is the number of UTF-8 bytes: no tokenizer
    makes more of a text.
    """

    def __init__(
        self,
        client: Client,
        identity: ModelIdentity,
        *,
        model: str,
        price: tuple[float, float],
        tokenizer: Tokenizer | None = None,
    ) -> None:
        self._client = client
        self._identity = identity
        self._model = model
        self._price = price
        self._tokenizer = tokenizer
        self._names = dict(_FIRST)

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def price(self) -> tuple[float, float]:
        return self._price

    def close(self) -> None:
        self._client.close()

    def count_tokens(self, text: str) -> int:
        if self._tokenizer is not None:
            return self._tokenizer.count([text])[0]
        return len(text.encode("utf-8", "surrogatepass"))

    def generate(self, prompt: Prompt) -> Generation:
        """Raises ModelError."""
        return answered(self.attempt, prompt, place=self._client.place)

    def attempt(self, prompt: Prompt) -> Generation:
        """One request, its answer unchecked against the schema. Raises ModelError."""
        answer = self._ask(prompt)
        choices = answer.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise self._unusable("the answer holds no message", "check that the server speaks this interface")
        finish, text = choice.get("finish_reason"), message.get("content")
        if finish == "content_filter" or message.get("refusal"):
            raise self._unusable("the model refused to answer", "look at the text; leave it out, or name another model")
        if not isinstance(text, str):
            raise self._unusable(f"the message has no text (finish reason {finish!r:.40})", "name another model")
        text = text.encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair is no text
        used_in, used_out = self._usage(answer.get("usage"), prompt, text)
        return Generation(text, used_in, used_out, "length" if finish == "length" else "stop")

    def _ask(self, prompt: Prompt) -> Any:
        """Servers differ in two names; one that refuses a name is sent the other from then on."""
        while True:
            options = [name for name, value in self._names.items() if value == _FIRST[name]]
            try:
                return self._client.post(self._body(prompt), repeat_unanswered=False, options=options)
            except OptionRefused as refused:
                self._names[refused.option] = _SECOND[refused.option]

    def _body(self, prompt: Prompt) -> dict[str, Any]:
        messages = [{"role": "system", "content": prompt.system}] if prompt.system else []
        body: dict[str, Any] = {
            "model": self._model,
            "messages": [*messages, {"role": "user", "content": prompt.user}],
            "temperature": 0,
            self._names["max_completion_tokens"]: prompt.max_tokens,
        }
        if prompt.schema is not None:
            schema = dict(prompt.schema)
            if self._names["response_format"] == "json_schema":
                named = {"name": prompt.task, "strict": True, "schema": schema}
                body["response_format"] = {"type": "json_schema", "json_schema": named}
            else:
                body["response_format"] = {"type": "json_object", "schema": schema}
        return body

    def _usage(self, usage: Any, prompt: Prompt, text: str) -> tuple[int, int]:
        """The server's counts; ours where it gives none."""
        found = usage if isinstance(usage, dict) else {}
        used_in, used_out = _count(found.get("prompt_tokens")), _count(found.get("completion_tokens"))
        if used_in is None:
            used_in = self.count_tokens(prompt.system) + self.count_tokens(prompt.user)
        if used_out is None:
            used_out = min(self.count_tokens(text), prompt.max_tokens)
        return used_in, used_out

    def _unusable(self, message: str, remedy: str) -> Unusable:
        return Unusable(message, place=self._client.place, remedy=remedy)


def _count(value: Any) -> int | None:
    usable = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < MOST_TOKENS
    return value if usable else None
