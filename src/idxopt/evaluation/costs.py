"""What a representation costs: texts that are embedded (PRIME, operational cost), and rewriting by a language model.

- embedded tokens and vectors: PRIME embeds one short text a document, chunking every token of it. The paper has 45.8
  times fewer tokens and 22.4 times fewer vectors than structure-chunks, with 13.4 sections a document: the ratio of
  vectors is the number of chunks a document, that of tokens the document's length over that of its metadata.
- `c(D) = sum over sections of (alpha * len(h) + beta)`: alpha prices a token read, beta is the prompt around every
  section. Output is priced apart.
- break-even: queries after which rewriting once has cost no more than reranking every query by a language model.
  56,000 tokens a document * 416 documents / 1,926 tokens a query = 12,095.5, so the paper's 12,096 holds (8.3 times
  1,451 queries). It needs three things: 56,000 tokens a document ("~56K"; with 5,600 it is 1,210 queries), every token
  of both sides counted alike, and a pointwise reranker as the alternative. In money it moves: rewriting writes long
  answers and reranking one short one, and output costs several times what input does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from idxopt.errors import EvaluationError

MILLION = 1_000_000

PAPER_DOCUMENTS = 416
PAPER_QUERIES = 1_451
PAPER_TOKENS_A_DOCUMENT = 56_000
PAPER_TOKENS_A_QUERY = 1_926
PAPER_BREAK_EVEN = 12_096
PAPER_FEWER_TOKENS = 45.8
PAPER_FEWER_VECTORS = 22.4
PAPER_SECTIONS_A_DOCUMENT = 13.4


class Counts(Protocol):
    """What of `models.ports.Tokenizer` is needed here."""

    def count(self, texts: Sequence[str]) -> list[int]: ...


@dataclass(frozen=True, slots=True)
class EmbeddingCost:
    """What one representation of a corpus makes an encoder read. `cut`: texts longer than the encoder's window."""

    documents: int
    vectors: int
    tokens: int
    cut: int = 0

    @property
    def vectors_a_document(self) -> float:
        return self.vectors / self.documents if self.documents else 0.0

    @property
    def tokens_a_document(self) -> float:
        return self.tokens / self.documents if self.documents else 0.0


@dataclass(frozen=True, slots=True)
class CostRatio:
    """How many times fewer tokens and vectors; None where the cheaper one has none."""

    tokens: float | None
    vectors: float | None


def embedding_cost(
    texts: Iterable[Sequence[str]], tokenizer: Counts, *, max_tokens: int | None, special: int = 2
) -> EmbeddingCost:
    """The cost of a representation; `texts` holds the embedded texts of each document, empty ones get no vector.

    Tokens are those that the encoder reads: `special` more a text, and none beyond `max_tokens` (special tokens
    counted).
    """
    documents = vectors = tokens = cut = 0
    for of_document in texts:
        documents += 1
        embedded = [text for text in of_document if text.strip()]
        vectors += len(embedded)
        for count in tokenizer.count(embedded):
            read = count + special
            if max_tokens is not None and read > max_tokens:
                read, cut = max_tokens, cut + 1
            tokens += read
    return EmbeddingCost(documents, vectors, tokens, cut)


def cheaper_by(cost: EmbeddingCost, than: EmbeddingCost) -> CostRatio:
    """The paper's ratios: those of `than` (structure-chunks there) over those of `cost`."""
    return CostRatio(
        than.tokens / cost.tokens if cost.tokens else None, than.vectors / cost.vectors if cost.vectors else None
    )


@dataclass(frozen=True, slots=True)
class RewritingCost:
    """Tokens of rewriting documents section by section, and their price.

    `input_tokens` is the sum of c(D) with alpha 1: the sections' own tokens and `overhead` more a call.
    """

    calls: int
    input_tokens: int
    output_tokens: int

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def money(self, price: tuple[float, float]) -> float:
        """At a list price of a million input and output tokens."""
        return (self.input_tokens * price[0] + self.output_tokens * price[1]) / MILLION


def document_cost(section_tokens: Sequence[int], *, alpha: float, beta: float) -> float:
    """c(D) of the paper: `sum over sections of (alpha * len + beta)`, in the unit of alpha."""
    return math.fsum(alpha * length + beta for length in section_tokens)


def rewriting_cost(
    sections: Mapping[str, Sequence[int]] | Iterable[Sequence[int]], *, overhead: int, output_share: float
) -> RewritingCost:
    """The cost of one call a section. `overhead`: tokens of the prompt around it; `output_share`: of its length that
    is written back.
    """
    documents = sections.values() if isinstance(sections, Mapping) else sections
    lengths = [length for of_document in documents for length in of_document]
    written = sum(math.ceil(length * output_share) for length in lengths)
    return RewritingCost(len(lengths), sum(lengths) + overhead * len(lengths), written)


def break_even_queries(once: float, a_query: float) -> int:
    """Queries after which `once` is no more than what `a_query` has added up to (both in tokens, or both in money).

    Raises EvaluationError where a query costs nothing: then it never is.
    """
    if a_query <= 0:
        raise EvaluationError(
            "a query costs nothing, so rewriting never pays for itself", remedy="give the cost of reranking a query"
        )
    return math.ceil(once / a_query)


@dataclass(frozen=True, slots=True)
class BreakEven:
    """Where rewriting pays for itself against reranking by a language model, counted in tokens and in money."""

    by_tokens: int
    by_money: int | None
    money_once: float
    money_a_query: float


def break_even(
    rewriting: RewritingCost, *, query_input: int, query_output: int, price: tuple[float, float]
) -> BreakEven:
    """`query_input`, `query_output`: tokens of reranking one query; `price`: of a million input and output tokens.

    `by_money` is None where a query costs no money (a local model). Raises EvaluationError for a query without tokens.
    """
    once = rewriting.money(price)
    a_query = RewritingCost(1, query_input, query_output).money(price)
    return BreakEven(
        by_tokens=break_even_queries(rewriting.tokens, query_input + query_output),
        by_money=break_even_queries(once, a_query) if a_query else None,
        money_once=once,
        money_a_query=a_query,
    )
