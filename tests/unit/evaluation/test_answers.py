"""Answer-F1 as SQuAD computes it, and what a generator is handed."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from idxopt.errors import EvaluationError
from idxopt.evaluation.answers import (
    MODES,
    Corpus,
    Question,
    answer_f1,
    answers,
    handed_over,
    normalised,
    token_f1,
)
from idxopt.models.ports import Generation, ModelIdentity


@dataclass
class FirstLine:
    """A generator that answers with the first line of the first passage."""

    identity = ModelIdentity("generator", "first-line")
    price = (0.0, 0.0)
    read: list[str] = field(default_factory=list)

    def count_tokens(self, text):
        return len(text.split())

    def generate(self, prompt):
        self.read.append(prompt.user)
        text = prompt.text.split("\n")[1] if prompt.text else "unanswerable"
        return Generation(text, len(prompt.user.split()), len(text.split()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("The  Cat's, a Hat!", "cats hat"), ("An apple", "apple"), ("theory", "theory"), ("", ""), ("A.", "")],
)
def test_normalisation(text, expected):
    assert normalised(text) == expected


@pytest.mark.parametrize(
    ("prediction", "reference", "f1"),
    [
        ("the cat sat", "a cat sat down", 2 * 2 / (2 + 3)),
        ("cat cat", "cat", 2 * 1 / (2 + 1)),
        ("dog", "cat", 0.0),
        ("The cat", "cat.", 1.0),
        ("", "", 1.0),
        ("the", "cat", 0.0),
    ],
)
def test_token_f1_computed_by_hand(prediction, reference, f1):
    assert token_f1(prediction, reference) == pytest.approx(f1)


def test_the_best_reference_counts():
    assert answer_f1("two", ["one", "two", "two three"]) == 1
    with pytest.raises(EvaluationError, match="no reference"):
        answer_f1("two", [])


@given(st.text(max_size=40), st.text(max_size=40))
def test_f1_is_symmetric_and_in_range(a, b):
    assert 0 <= token_f1(a, b) <= 1
    assert token_f1(a, b) == pytest.approx(token_f1(b, a))
    assert token_f1(a, a) == 1


RANKINGS: Mapping[Corpus, Mapping[str, list[str]]] = {"raw": {"q": ["d#1", "d#0"]}, "sr": {"q": ["d#2"]}}
SECTIONS: Mapping[Corpus, Mapping[str, str]] = {
    "raw": {"d#0": "raw zero", "d#1": "raw one", "d#2": "raw two"},
    "sr": {"d#0": "dense zero", "d#2": "dense two"},
}


@pytest.mark.parametrize(
    ("mode", "texts"),
    [
        ("raw-raw", ["raw one", "raw zero"]),
        ("raw-sr", ["raw one", "dense zero"]),  # section d#1 was not rewritten
        ("full-full", ["dense two"]),
    ],
)
def test_what_each_mode_hands_over(mode, texts):
    assert handed_over(mode, RANKINGS, SECTIONS)("q") == texts
    assert handed_over(mode, RANKINGS, SECTIONS)("unknown") == []
    assert handed_over(mode, RANKINGS, SECTIONS, top=1)("q") == texts[:1]


def test_the_modes_are_retrieval_corpus_to_generation_corpus():
    assert MODES == {"raw-raw": ("raw", "raw"), "raw-sr": ("raw", "sr"), "full-full": ("sr", "sr")}


def test_a_generator_is_asked_every_question():
    generator = FirstLine()
    questions = [Question("q", "Which?", ("raw one", "else")), Question("none", "What?", ("nothing",))]
    found = answers("raw-raw", questions, handed_over("raw-raw", RANKINGS, SECTIONS), generator)
    assert found.values == {"q": 1.0, "none": 0.0}
    assert found.f1 == 0.5
    assert [answer.sections for answer in found.answers] == [2, 0]
    assert "[1]\nraw one\n\n[2]\nraw zero\n\nQuestion: Which?" in generator.read[0]
    assert "(no passages)" in generator.read[1]


def test_passages_stop_at_the_budget_but_the_first_is_always_read():
    generator = FirstLine()
    found = answers(
        "raw-raw", [Question("q", "?", ("x",))], lambda _: ["a b c d", "e f", "g"], generator, passage_tokens=3
    )
    assert found.answers[0].sections == 1


def test_no_questions_is_an_error():
    with pytest.raises(EvaluationError, match="no questions"):
        answers("raw-raw", [], lambda _: [], FirstLine())
