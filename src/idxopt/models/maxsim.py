"""A reranker without weights of its own: token-level MaxSim over an embedder.

The score is the mean over the query's tokens of the greatest cosine with any token of the text (Khattab and Zaharia,
ColBERT, 2020, with the plain embedder in place of a trained one). A text longer than the embedder reads is cut into
windows that overlap; the best window counts.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from idxopt.models.ports import ModelIdentity, TokenEmbedder, Tokenizer, Vectors

MAX_BYTES = 1 << 30
WORST = -1.0
"""Score of a text without tokens: below any other, cosines being at least -1."""

_CHUNK = 32  # windows embedded at once: their token vectors are in memory together
_TOGETHER = 128  # windows compared at once: about 50 MB of 32-bit numbers
_DIGITS = 6
_SPARE = 8  # special tokens, and tokens that a cut in the middle of a word adds
_OVERLAP = 4  # a window begins with the last quarter of the one before

Tokens = npt.NDArray[np.float16]


class MaxSim:
    """A Reranker. Token vectors of texts are kept in memory, rounded to 16 bits, up to `max_bytes`. Thread-safe."""

    def __init__(
        self,
        embedder: TokenEmbedder,
        identity: ModelIdentity,
        tokenizer: Tokenizer,
        *,
        passage_prefix: str = "",
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._embedder = embedder
        self._identity = identity
        self._tokenizer = tokenizer
        self._prefix = passage_prefix
        self._kept = _TokenCache(max_bytes)

    @property
    def identity(self) -> ModelIdentity:
        return self._identity

    @property
    def max_tokens(self) -> int | None:
        """None: texts of any length are windowed here."""
        return None

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """From -1 to 1. A query without tokens likes all texts equally. Raises ModelError."""
        (asked,) = self._embedder.token_vectors([query], "query")
        if not len(asked):
            return [0.0] * len(texts)
        windows = [self._windows(text) for text in texts]
        scores = self._scored(asked, [window for parts in windows for window in parts])
        return [max(scores[window] for window in parts) for parts in windows]

    def _scored(self, asked: Vectors, windows: Sequence[str]) -> Mapping[str, float]:
        found: dict[str, float] = {}
        kept: dict[str, Tokens] = {}
        missing: list[str] = []
        for window in dict.fromkeys(windows):
            tokens = self._kept.get(window)
            if tokens is None:
                missing.append(window)
            else:
                kept[window] = tokens
                if len(kept) == _TOGETHER:
                    found.update(zip(kept, similarities(asked, list(kept.values())), strict=True))
                    kept.clear()
        found.update(zip(kept, similarities(asked, list(kept.values())), strict=True))
        missing.sort(key=len)
        for at in range(0, len(missing), _CHUNK):
            part = missing[at : at + _CHUNK]
            made = [vectors.astype(np.float16) for vectors in self._embedder.token_vectors(part, "passage")]
            for window, tokens in zip(part, made, strict=True):
                self._kept.put(window, tokens)
            found.update(zip(part, similarities(asked, made), strict=True))
        return found

    def _windows(self, text: str) -> list[str]:
        limit = self._embedder.max_tokens
        if limit is None or 4 * len(text) + _SPARE <= limit:  # a code point has at most four tokens, its bytes
            return [text]
        room = max(1, limit - _SPARE - (sum(self._tokenizer.count([self._prefix])) if self._prefix else 0))
        spans = self._tokenizer.spans(text)
        if len(spans) <= room:
            return [text]
        step = max(1, room - room // _OVERLAP)
        starts = range(0, len(spans) - room + step, step)
        return [text[spans[at][0] : spans[min(at + room, len(spans)) - 1][1]] for at in starts]


def similarities(query: Vectors, texts: Sequence[Tokens]) -> list[float]:
    """By text the mean of the greatest cosines. All have rows of length 1.

    One product for all texts: a product a text is so short that the threads of BLAS cost more than it does, fifteen
    times more on a busy machine. Scores are rounded, so that they do not depend on what else is scored with them.
    """
    found = [WORST] * len(texts)
    full = [number for number, tokens in enumerate(texts) if len(tokens)]
    if not full:
        return found
    starts = np.cumsum([0, *(len(texts[number]) for number in full[:-1])])
    cosines = np.concatenate([texts[number] for number in full]).astype(np.float32) @ query.T
    best = np.maximum.reduceat(cosines, starts, axis=0).mean(axis=1, dtype=np.float64)
    for number, score in zip(full, best.tolist(), strict=True):
        found[number] = round(score, _DIGITS)
    return found


class _TokenCache:
    """Least recently used first out."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[str, Tokens] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, text: str) -> Tokens | None:
        with self._lock:
            found = self._kept.get(text)
            if found is not None:
                self._kept.move_to_end(text)
            return found

    def put(self, text: str, tokens: Tokens) -> None:
        with self._lock:
            before = self._kept.pop(text, None)
            self._kept[text] = tokens
            self._bytes += tokens.nbytes - (0 if before is None else before.nbytes)
            while self._bytes > self._max_bytes and self._kept:
                _, gone = self._kept.popitem(last=False)
                self._bytes -= gone.nbytes
