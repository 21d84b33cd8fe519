"""Answer-F1 (SQuAD, QASPER): does a generator answer better from what retrieval hands over?

Answers are compared as SQuAD does: lower case, without punctuation and the articles a, an, the; F1 over the multiset of
words, the best over the reference answers. Two empty answers agree.

Three ways to hand over (PRIME, context quality), each retrieval corpus to generation corpus: `raw-raw`, `raw-sr` (the
sections that retrieval over D found, in their rewritten form) and `full-full`.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from idxopt.errors import EvaluationError
from idxopt.models.ports import Generator, Prompt

Mode = Literal["raw-raw", "raw-sr", "full-full"]
Corpus = Literal["raw", "sr"]
MODES: Mapping[Mode, tuple[Corpus, Corpus]] = {
    "raw-raw": ("raw", "raw"),
    "raw-sr": ("raw", "sr"),
    "full-full": ("sr", "sr"),
}
"""By mode: the corpus that is searched, and the one whose sections the generator reads."""

PROMPT_VERSION = "answer-1"
ANSWER_TOKENS = 128
SYSTEM = (
    "Answer the question from the passages alone, in as few words as possible: a name, a number, a phrase copied from "
    "the passages, yes or no. If the passages do not answer it, write: unanswerable."
)

_ARTICLES = re.compile(r"\b(?:a|an|the)\b")
_PUNCTUATION = str.maketrans("", "", string.punctuation)


def normalised(answer: str) -> str:
    """An answer as SQuAD compares it."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def token_f1(prediction: str, reference: str) -> float:
    """F1 over the words of two normalised answers; 1 where both are empty."""
    predicted, expected = normalised(prediction).split(), normalised(reference).split()
    if not predicted or not expected:
        return float(predicted == expected)
    same = (Counter(predicted) & Counter(expected)).total()
    return 2 * same / (len(predicted) + len(expected))


def answer_f1(prediction: str, references: Sequence[str]) -> float:
    """The best F1 over the reference answers. Raises EvaluationError where there are none."""
    if not references:
        raise EvaluationError("a question has no reference answer", remedy="leave such questions out")
    return max(token_f1(prediction, reference) for reference in references)


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its reference answers."""

    id: str
    text: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answered:
    """What the generator said, and how much it read."""

    question: str
    answer: str
    f1: float
    input_tokens: int
    output_tokens: int
    sections: int


@dataclass(frozen=True, slots=True)
class AnswerFigures:
    """One mode over all questions. A question for which nothing was found is asked too, without passages."""

    mode: Mode
    answers: tuple[Answered, ...]

    @property
    def f1(self) -> float:
        """Mean over the questions."""
        return sum(answer.f1 for answer in self.answers) / len(self.answers)

    @property
    def values(self) -> dict[str, float]:
        """F1 by question, for paired comparisons."""
        return {answer.question: answer.f1 for answer in self.answers}


def handed_over(
    mode: Mode,
    rankings: Mapping[Corpus, Mapping[str, Sequence[str]]],
    sections: Mapping[Corpus, Mapping[str, str]],
    *,
    top: int = 5,
) -> Callable[[str], list[str]]:
    """From a question's id to the texts that the generator reads: the `top` sections of the searched corpus, as they
    stand in the other one. `rankings`: section ids, best first; `sections`: texts by section id.

    A section that was not rewritten is read as it is in the raw corpus.
    """
    searched, read = MODES[mode]

    def of(question: str) -> list[str]:
        found = rankings[searched].get(question, ())[:top]
        return [text for text in (sections[read].get(id_) or sections["raw"].get(id_, "") for id_ in found) if text]

    return of


def answers(
    mode: Mode,
    questions: Sequence[Question],
    passages: Callable[[str], Sequence[str]],
    generator: Generator,
    *,
    passage_tokens: int = 3_000,
) -> AnswerFigures:
    """Asks the generator every question. `passage_tokens` bounds what it reads: whole sections, best first.

    Raises ModelError, and EvaluationError without questions.
    """
    if not questions:
        raise EvaluationError("there are no questions", remedy="give questions with reference answers")
    return AnswerFigures(
        mode,
        tuple(_answered(question, passages(question.id), generator, passage_tokens) for question in questions),
    )


def _answered(question: Question, passages: Sequence[str], generator: Generator, budget: int) -> Answered:
    read = list(_within(passages, generator, budget))
    numbered = "\n\n".join(f"[{number}]\n{text.strip()}" for number, text in enumerate(read, 1))
    made = generator.generate(
        Prompt(
            task="answer",
            text=numbered,
            system=SYSTEM,
            user=f"{numbered or '(no passages)'}\n\nQuestion: {question.text}\nAnswer:",
            max_tokens=ANSWER_TOKENS,
            options={"question": question.text, "prompt_version": PROMPT_VERSION},
        )
    )
    answer = made.text.strip()
    return Answered(
        question.id,
        answer,
        answer_f1(answer, question.references),
        made.input_tokens,
        made.output_tokens,
        len(read),
    )


def _within(passages: Sequence[str], generator: Generator, budget: int) -> Iterator[str]:
    """Passages while they fit; the first one always, whatever its length."""
    used = 0
    for number, passage in enumerate(passages):
        used += generator.count_tokens(passage)
        if number and used > budget:
            return
        yield passage
