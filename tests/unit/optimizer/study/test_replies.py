"""What a language model said is kept before it is paid for, and never asked for again."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from idxopt.errors import BudgetReached, ModelError
from idxopt.ledger.ledger import Ledger
from idxopt.models.answers import Unbilled, Unusable
from idxopt.models.ports import Generation, ModelIdentity, Prompt
from idxopt.optimizer.study.replies import RecordedGenerator, prompt_digest
from idxopt.optimizer.study.store import StoredAnswer, StudyStore


class Told:
    """A generator that counts what it is asked, at 1,000 a million tokens."""

    identity = ModelIdentity("generator", "told")
    price = (1_000.0, 1_000.0)

    def __init__(self, failure: str | None = None, kind: type[ModelError] = Unusable) -> None:
        self.asked: list[str] = []
        self.failure = failure
        self.kind = kind

    def count_tokens(self, text: str) -> int:
        return len(text.split())

    def generate(self, prompt: Prompt) -> Generation:
        self.asked.append(prompt.user)
        if self.failure is not None:
            raise self.kind(self.failure)
        return Generation(f"answer to {prompt.user}", 10, 5)


class KilledError(BaseException):
    """Stands for the end of the process."""


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StudyStore]:
    opened = StudyStore.open(tmp_path / "study.sqlite")
    yield opened
    opened.close()


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger.open(tmp_path / "ledger.sqlite", budget=1.0) as opened:
        yield opened


def asked(user: str, **changes: object) -> Prompt:
    return Prompt("answer", "", user=user, max_tokens=20, **changes)  # type: ignore[arg-type]


def test_an_answer_is_asked_for_once_and_paid_for_once(store: StudyStore, ledger: Ledger) -> None:
    model = Told()
    first = RecordedGenerator(model, store, ledger).generate(asked("one"))
    again = RecordedGenerator(model, store, ledger).generate(asked("one"))
    assert first == again == Generation("answer to one", 10, 5)
    assert model.asked == ["one"]
    assert ledger.spent().money == pytest.approx(0.015)
    assert ledger.spent().calls == 1


def test_an_unusable_answer_is_kept_too(store: StudyStore, ledger: Ledger) -> None:
    model = Told("it said nothing")
    for _ in range(2):
        with pytest.raises(Unusable, match="it said nothing"):
            RecordedGenerator(model, store, ledger).generate(asked("one"))
    assert model.asked == ["one"]
    assert ledger.spent().calls == 1


@pytest.mark.parametrize(("kind", "cost"), [(ModelError, 0.117), (Unbilled, 0.0)])
def test_a_request_that_failed_fails_again_until_it_is_sent_anew_on_purpose(
    store: StudyStore, ledger: Ledger, kind: type[ModelError], cost: float
) -> None:
    model = Told("timed out after 60 s", kind)
    said = []
    for _ in range(2):
        with pytest.raises(ModelError, match="timed out after 60 s") as failed:
            RecordedGenerator(model, store, ledger).generate(asked("one"))
        said.append(str(failed.value))
    assert said[0] == said[1]
    assert "--retry-failed-answers" in said[0]
    assert model.asked == ["one"]
    assert ledger.spent().money == pytest.approx(cost)
    assert store.unheard() == 1
    model.failure = None
    RecordedGenerator(model, store, ledger).generate(asked("two"))
    with pytest.raises(ModelError):
        RecordedGenerator(model, store, ledger).generate(asked("one"))
    assert store.forget_unheard() == 1
    assert store.unheard() == store.forget_unheard() == 0
    assert RecordedGenerator(model, store, ledger).generate(asked("one")).text == "answer to one"
    assert RecordedGenerator(model, store, ledger).generate(asked("two")).text == "answer to two"
    assert model.asked == ["one", "two", "one"]


def test_killed_between_answer_and_payment_nothing_is_asked_twice(
    store: StudyStore, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Told()

    def killed(*_: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "commit", killed)
        with pytest.raises(KilledError):
            RecordedGenerator(model, store, ledger).generate(asked("one"))
    reserved = ledger.spent()
    assert reserved.calls == 0
    assert reserved.reserved > 0.015, "what may have been paid counts as spent"
    assert RecordedGenerator(model, store, ledger).generate(asked("one")).text == "answer to one"
    assert model.asked == ["one"]
    assert ledger.spent() == reserved


def test_a_budget_that_is_used_up_sends_nothing(store: StudyStore, tmp_path: Path) -> None:
    model = Told()
    with Ledger.open(tmp_path / "small.sqlite", budget=0.001) as ledger:
        with pytest.raises(BudgetReached):
            RecordedGenerator(model, store, ledger).generate(asked("one"))
        assert model.asked == []
        store.put_answer(model.identity.key, prompt_digest(asked("one")), StoredAnswer(Generation("kept", 1, 1)))
        assert RecordedGenerator(model, store, ledger).generate(asked("one")).text == "kept"


def test_prompts_that_differ_in_anything_are_different() -> None:
    prompts = [
        asked("one"),
        asked("two"),
        asked("one", system="be short"),
        asked("one", schema={"type": "object"}),
        asked("one", options={"sample": 1}),
    ]
    assert len({prompt_digest(prompt) for prompt in prompts}) == len(prompts)
