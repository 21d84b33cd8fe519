"""A generator that remembers: what a model said is kept before it is paid for, and never asked for again."""

from __future__ import annotations

from idxopt.errors import ModelError
from idxopt.hashing import digest
from idxopt.ledger.ledger import Ledger
from idxopt.models.answers import Unbilled, Unusable
from idxopt.models.metered import Request, UnderLedger
from idxopt.models.ports import Generation, Generator, Prompt
from idxopt.optimizer.study.store import StoredAnswer, StudyStore


class RecordedGenerator(UnderLedger):
    """A generator under the ledger of a study, with its answers in the study's database.

    Killed between an answer and its payment, the answer is there and the reservation stays: it counts as spent, and
    nothing is asked twice. A request that failed is kept as such and fails again: a search that heard nothing the first
    time would take another path if it heard something the second (StudyStore.forget_unheard undoes it, on purpose).
    """

    def __init__(self, generator: Generator, store: StudyStore, ledger: Ledger) -> None:
        super().__init__(generator, ledger)
        self._store = store

    def _attempt(self, prompt: Prompt) -> Generation:
        model, key = self.identity.key, prompt_digest(prompt)
        known = self._store.answer(model, key)
        if known is None:
            known = self._asked(prompt, model, key)
        if not known.heard:
            raise ModelError(
                known.failure or "it did not answer",
                place=f'models."{self.identity.id}"',
                remedy="look at its server, then run again with --retry-failed-answers",
            )
        if known.failure is not None:
            raise Unusable(known.failure, place=f'models."{self.identity.id}"', remedy="name another model")
        return known.generation

    def _asked(self, prompt: Prompt, model: str, key: str) -> StoredAnswer:
        request = Request(self._generator, self._ledger, prompt)
        try:
            answer = StoredAnswer(request.send())
        except Unusable as error:
            full = request.in_full
            answer = StoredAnswer(Generation("", full.input_tokens, full.output_tokens), error.message)
        except ModelError as error:  # settled already
            full = Generation("", 0, 0) if isinstance(error, Unbilled) else request.in_full
            answer = StoredAnswer(Generation("", full.input_tokens, full.output_tokens), error.message, heard=False)
            self._store.put_answer(model, key, answer)
            return answer
        self._store.put_answer(model, key, answer)
        request.settle(answer.generation)
        return answer


def prompt_digest(prompt: Prompt) -> str:
    """64 hex digits over everything that is asked."""
    return digest(
        {
            "task": prompt.task,
            "text": prompt.text,
            "system": prompt.system,
            "user": prompt.user,
            "schema": prompt.schema,
            "max_tokens": prompt.max_tokens,
            "options": dict(prompt.options),
        }
    )
