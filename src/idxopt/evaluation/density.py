"""How much a text says a token (PRIME, Table 5, panel A): stop words, distinctiveness, technical terms.

Each figure is of one document; a corpus has the mean over its documents (documents without tokens are counted and left
out). Tokens are PRIME's stream (`operators.streams.prime_terms_of`), stop words those of `prime_terms`. IDF comes from
a fixed reference, the raw corpus, also for a rewritten one: `ln((N + 1) / (df + 1)) + 1`, and df 0 for a term that the
reference does not hold.

The paper does not say what a technical term is. Ours: a token that is no stop word, has three characters or more, at
least one of them a letter, and stands in at most half of the reference's documents.

Check with the paper's means: .635 / .365 * 1.947 = 3.39, where the paper has 3.42 (a mean of ratios is not the ratio of
means).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from idxopt.errors import EvaluationError
from idxopt.operators.frequencies import DocumentFrequencies
from idxopt.operators.streams import STOP_WORDS, prime_terms_of
from idxopt.program.schema import Markup

_TECHNICAL_LENGTH = 3
_TECHNICAL_SHARE = 0.5


class Reference:
    """The fixed document frequencies that every figure of a comparison is made with."""

    def __init__(self, frequencies: DocumentFrequencies) -> None:
        self.frequencies = frequencies
        self._idf, self._absent = frequencies.idf()

    @classmethod
    def of(cls, texts: Iterable[str], markup: Markup) -> Reference:
        """Counted over texts, a document each."""
        counts: Counter[str] = Counter()
        documents = 0
        for text in texts:
            documents += 1
            counts.update(set(prime_terms_of(text, markup)))
        return cls(DocumentFrequencies(documents, dict(sorted(counts.items()))))

    def idf(self, term: str) -> float:
        return self._idf.get(term, self._absent)

    def is_technical(self, term: str) -> bool:
        """Whether a token counts as a technical term (see the module)."""
        if term in STOP_WORDS or len(term) < _TECHNICAL_LENGTH or not any(map(str.isalpha, term)):
            return False
        return self.frequencies.counts.get(term, 0) <= _TECHNICAL_SHARE * self.frequencies.documents


@dataclass(frozen=True, slots=True)
class Density:
    """The figures of one document, or their means over documents.

    `stop_ratio`: stop words a token. `mean_idf`: over all tokens, stop words too. `technical`: technical terms per 100
    tokens. `semantic`: `content_tokens * mean_idf / (stop_tokens + 1)`. `tokens`: of the stream.
    """

    stop_ratio: float
    mean_idf: float
    technical: float
    semantic: float
    tokens: float


@dataclass(frozen=True, slots=True)
class CorpusDensity:
    """Means over `documents`; `empty` more had no tokens and are in no mean."""

    mean: Density
    documents: int
    empty: int


def semantic_density(content_tokens: float, stop_tokens: float, mean_idf: float) -> float:
    """PRIME's composite: what a document says over what it fills with."""
    return content_tokens * mean_idf / (stop_tokens + 1)


def density_of(tokens: Sequence[str], reference: Reference) -> Density | None:
    """The figures of one document's token stream; None where it has no tokens."""
    if not tokens:
        return None
    counts = Counter(tokens)
    size = len(tokens)
    stop = sum(count for term, count in counts.items() if term in STOP_WORDS)
    mean_idf = math.fsum(count * reference.idf(term) for term, count in counts.items()) / size
    technical = sum(count for term, count in counts.items() if reference.is_technical(term))
    return Density(
        stop_ratio=stop / size,
        mean_idf=mean_idf,
        technical=100 * technical / size,
        semantic=semantic_density(size - stop, stop, mean_idf),
        tokens=size,
    )


def corpus_density(texts: Iterable[str], markup: Markup, reference: Reference) -> CorpusDensity:
    """Means over the documents. Raises EvaluationError where no document has a token."""
    every = [density_of(prime_terms_of(text, markup), reference) for text in texts]
    found = [density for density in every if density is not None]
    if not found:
        raise EvaluationError(
            f"none of the {len(every)} documents has any text", remedy="check which field holds the text"
        )

    def mean(name: str) -> float:
        return math.fsum(getattr(density, name) for density in found) / len(found)

    means = Density(mean("stop_ratio"), mean("mean_idf"), mean("technical"), mean("semantic"), mean("tokens"))
    return CorpusDensity(means, len(found), len(every) - len(found))


def change(before: float, after: float) -> float | None:
    """Relative change in percent, as the paper's tables print it; None where `before` is 0."""
    return 100 * (after - before) / before if before else None
