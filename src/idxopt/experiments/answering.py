"""Answer-F1 with a language model: what it answers from sections of D, of D*, and of both pipelines (PRIME, context).

References are the gold spans' texts. No answer is paid for twice: each is on disk before it is counted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from idxopt.deploy.intent import TextsEstimate
from idxopt.deploy.options import TextOptions
from idxopt.evaluation.answers import ANSWER_TOKENS, MODES, Question, answers, handed_over
from idxopt.evaluation.gold import GoldSpans
from idxopt.experiments.kept import Kept
from idxopt.experiments.rewriting import EvidenceFound
from idxopt.experiments.sampling import Sample
from idxopt.hashing import text_digest
from idxopt.ledger.ledger import Ledger
from idxopt.ledger.pricing import cost
from idxopt.models.metered import TEMPLATE_TOKENS, Metered
from idxopt.models.ports import Generation, Generator, ModelIdentity, Prompt

PASSAGE_TOKENS = 3_000


@dataclass(frozen=True, slots=True)
class KeptGenerator:
    """A generator whose answers are kept as finished parts."""

    inner: Generator
    kept: Kept

    @property
    def identity(self) -> ModelIdentity:
        return self.inner.identity

    @property
    def price(self) -> tuple[float, float]:
        return self.inner.price

    def count_tokens(self, text: str) -> int:
        return self.inner.count_tokens(text)

    def generate(self, prompt: Prompt) -> Generation:
        """As the generator answers. Raises ModelError and BudgetReached."""
        asked = {"model": self.identity.key, "system": prompt.system, "user": prompt.user, "most": prompt.max_tokens}
        name = f"answers/{text_digest(self.identity.key + prompt.user)}"
        found: Mapping[str, Any] = self.kept.part(name, asked, lambda: asdict(self.inner.generate(prompt)))
        return Generation(**found)


def questions_of(sample: Sample, gold: GoldSpans) -> list[Question]:
    """The sampled queries that have gold spans, with the spans' texts as reference answers."""
    texts = sample.texts
    references: dict[str, dict[str, None]] = {}
    for span in gold.spans:
        references.setdefault(span.query, {})[texts[span.doc][span.start : span.end]] = None
    return [
        Question(query.id, query.text, tuple(references[query.id]))
        for query in sample.judged.queries
        if query.id in references
    ]


def answer_values(
    questions: list[Question], found: EvidenceFound, generator: Generator, kept: Kept, ledger: Ledger
) -> dict[str, dict[str, float]]:
    """F1 by mode and question. Raises ModelError and BudgetReached."""
    asking = KeptGenerator(Metered(generator, ledger), kept)
    values: dict[str, dict[str, float]] = {}
    for mode in MODES:
        # Windows of a text without headings have no counterpart in D*: there the section of D is handed over.
        rewritten = found.sections["sr"] if mode == "full-full" else found.counterparts
        passages = handed_over(
            mode,
            {"raw": found.runs["raw"], "sr": found.runs["sr"]},
            {"raw": found.sections["raw"], "sr": rewritten},
        )
        values[mode] = answers(mode, questions, passages, asking, passage_tokens=PASSAGE_TOKENS).values
    return values


def ask_first(name: str, questions: list[Question], generator: Generator, currency: str, options: TextOptions) -> None:
    """Consent for what the answers may cost at most; raises what the consent raises."""
    texts = len(MODES) * len(questions)
    tokens_in, tokens_out = texts * (PASSAGE_TOKENS + TEMPLATE_TOKENS), texts * ANSWER_TOKENS
    estimate = TextsEstimate(
        model=name,
        id=generator.identity.id,
        texts=texts,
        tokens_in=tokens_in,
        tokens_out=tokens_out,
        money=cost(generator.price, tokens_in, tokens_out),
        currency=currency,
    )
    options.consent([estimate])
