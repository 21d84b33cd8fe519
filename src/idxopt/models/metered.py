"""A generator whose every request is reserved in a ledger before it is sent (contract 9)."""

from __future__ import annotations

import json
from typing import Protocol, runtime_checkable

from idxopt.ledger.ledger import Ledger
from idxopt.ledger.pricing import cost
from idxopt.models.answers import Unbilled, answered
from idxopt.models.ports import Generation, Generator, ModelIdentity, Prompt

TEMPLATE_TOKENS = 96
"""What a server's chat template puts around the messages, at most: roles, markers, its own first line."""


@runtime_checkable
class Attempting(Protocol):
    """A generator that repairs answers, and lets somebody else count each request."""

    def attempt(self, prompt: Prompt) -> Generation:
        """One request, its answer unchecked. Raises ModelError."""
        ...


def bound(generator: Generator, prompt: Prompt) -> tuple[int, int]:
    """The most input and output tokens of one request; times the price, what it costs at most."""
    schema = json.dumps(prompt.schema) if prompt.schema is not None else ""
    texts = (prompt.system, prompt.user, schema)
    return sum(generator.count_tokens(text) for text in texts if text) + TEMPLATE_TOKENS, prompt.max_tokens


class Metered:
    """A generator under a ledger. A request that certainly cost nothing is released; one that failed after it was sent
    is committed in full, because it may have been paid for.

    `wait_s`: how long a request waits for others under way to cost less than they reserved.
    """

    def __init__(self, generator: Generator, ledger: Ledger, *, wait_s: float = 60.0) -> None:
        self._generator = generator
        self._ledger = ledger
        self._wait_s = wait_s

    @property
    def identity(self) -> ModelIdentity:
        return self._generator.identity

    @property
    def price(self) -> tuple[float, float]:
        return self._generator.price

    def count_tokens(self, text: str) -> int:
        return self._generator.count_tokens(text)

    def generate(self, prompt: Prompt) -> Generation:
        """As the generator answers. Raises ModelError, and BudgetReached before anything is sent."""
        if isinstance(self._generator, Attempting):
            return answered(self._attempt, prompt, place=f'models."{self.identity.id}"')
        return self._attempt(prompt)

    def _attempt(self, prompt: Prompt) -> Generation:
        send = self._generator.attempt if isinstance(self._generator, Attempting) else self._generator.generate
        tokens_in, tokens_out = bound(self._generator, prompt)
        most = cost(self.price, tokens_in, tokens_out)
        reservation = self._ledger.reserve(
            most, tokens_in + tokens_out, what=f"{self.identity.id}: {prompt.task}", wait_s=self._wait_s
        )
        try:
            generation = send(prompt)
        except Unbilled:
            self._ledger.release(reservation)
            raise
        except BaseException:
            self._ledger.commit(reservation, most, tokens_in, tokens_out)
            raise
        used = generation.input_tokens, generation.output_tokens
        self._ledger.commit(reservation, cost(self.price, *used), *used)
        return generation
