"""Requests to generators under a ledger: reserved before they are sent (contract 9)."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Protocol, runtime_checkable

from idxopt.ledger.ledger import Ledger
from idxopt.ledger.pricing import cost
from idxopt.models.answers import Unbilled, Unusable, answered
from idxopt.models.ports import Generation, Generator, ModelIdentity, Prompt

TEMPLATE_TOKENS = 96
"""What a server's chat template puts around the messages, at most: roles, markers, its own first line."""
WAIT_S = 60.0
"""How long a request waits for others under way to cost less than they reserved."""


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


class Request:
    """One request under a ledger: reserved as this is made, then sent, then settled.

    `in_full`: what it may have cost where nobody told its usage. Raises BudgetReached before anything is sent.
    """

    def __init__(self, generator: Generator, ledger: Ledger, prompt: Prompt, *, wait_s: float = WAIT_S) -> None:
        self._generator = generator
        self._ledger = ledger
        self._prompt = prompt
        self.in_full = Generation("", *bound(generator, prompt))
        self._reservation = ledger.reserve(
            self.cost(self.in_full),
            self.in_full.input_tokens + self.in_full.output_tokens,
            what=f"{generator.identity.id}: {prompt.task}",
            wait_s=wait_s,
        )

    def send(self) -> Generation:
        """The answer, unchecked where the generator leaves that to others, and not settled yet: neither is an answer
        that cannot be used (Unusable), so that what came may be kept first. Any other ModelError is settled: a request
        that certainly cost nothing is released, one that failed after it was sent counts in full.
        """
        generator = self._generator
        try:
            return (generator.attempt if isinstance(generator, Attempting) else generator.generate)(self._prompt)
        except Unusable:
            raise
        except Unbilled:
            self._ledger.release(self._reservation)
            raise
        except BaseException:
            self.settle(self.in_full)
            raise

    def settle(self, used: Generation) -> None:
        """Commits what the request used."""
        self._ledger.commit(self._reservation, self.cost(used), used.input_tokens, used.output_tokens)

    def cost(self, used: Generation) -> float:
        """At list price."""
        return cost(self._generator.price, used.input_tokens, used.output_tokens)


class UnderLedger(ABC):
    """A generator whose requests go through a ledger: looks like the generator itself."""

    def __init__(self, generator: Generator, ledger: Ledger) -> None:
        self._generator = generator
        self._ledger = ledger

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

    @abstractmethod
    def _attempt(self, prompt: Prompt) -> Generation:
        """One request, settled."""


class Metered(UnderLedger):
    """For callers that keep no answers. `wait_s`: see WAIT_S."""

    def __init__(self, generator: Generator, ledger: Ledger, *, wait_s: float = WAIT_S) -> None:
        super().__init__(generator, ledger)
        self._wait_s = wait_s

    def _attempt(self, prompt: Prompt) -> Generation:
        request = Request(self._generator, self._ledger, prompt, wait_s=self._wait_s)
        try:
            generation = request.send()
        except Unusable:
            request.settle(request.in_full)
            raise
        request.settle(generation)
        return generation
