"""Texts cut at a model's limit before they are sent, where its tokenizer is known here."""

from __future__ import annotations

from collections.abc import Sequence

from idxopt.models.ports import Tokenizer


class Window:
    """A tokenizer and a limit. `specials`: tokens that the model puts around every text; they count."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int | None, specials: int) -> None:
        self._tokenizer = tokenizer
        self._max_tokens = max_tokens
        self._specials = specials

    def cut(self, texts: Sequence[str]) -> tuple[list[str], tuple[int, ...], tuple[int, ...]]:
        """(texts no longer than the limit, tokens of each as sent, positions of those that were cut)."""
        kept = list(texts)
        counts = [count + self._specials for count in self._tokenizer.count(kept)]
        cut = [at for at, count in enumerate(counts) if self._max_tokens is not None and count > self._max_tokens]
        for at in cut:
            assert self._max_tokens is not None
            spans = self._tokenizer.spans(kept[at])[: max(1, self._max_tokens - self._specials)]
            kept[at] = kept[at][: spans[-1][1]]
            counts[at] = self._max_tokens
        return kept, tuple(counts), tuple(cut)
