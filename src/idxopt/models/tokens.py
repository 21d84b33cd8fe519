"""A model's tokenizer from its tokenizer.json: counting, cutting, and the encoding of whole batches."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from tokenizers import Encoding
from tokenizers import Tokenizer as Tokenization

from idxopt.errors import ModelError

_SURROGATES = re.compile("[\ud800-\udfff]")


class FileTokenizer:
    """The tokenizer of a file. What the file itself says of truncation and padding is not applied. Thread-safe."""

    def __init__(self, file: Path) -> None:
        self._tokenization = read_tokenization(file)

    def count(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each whole text, special tokens not counted."""
        encodings = self._tokenization.encode_batch_fast([encodable(text) for text in texts], add_special_tokens=False)
        return [len(encoding) for encoding in encodings]

    def spans(self, text: str) -> list[tuple[int, int]]:
        """Code points (start, end) of each token, in order.

        Tokens of one code point (bytes of an emoji) have equal spans.
        """
        return list(self._tokenization.encode(encodable(text), add_special_tokens=False).offsets)


class LimitedTokenizer:
    """Encodes texts with special tokens, cut at a limit. Thread-safe: the limit is set once.

    Raises ModelError for a limit that leaves no room for text.
    """

    def __init__(self, tokenization: Tokenization, limit: int | None, *, pairs: bool = False, place: str) -> None:
        self._tokenization = tokenization
        self._whole = Tokenization.from_str(tokenization.to_str()) if pairs else tokenization
        self._limit = limit
        if limit is None:
            return
        if limit <= self._tokenization.num_special_tokens_to_add(pairs) + int(pairs):
            raise ModelError(
                f"{limit} tokens leave no room for text between the special tokens",
                place=place,
                remedy="raise `max_tokens` of the model in the program",
            )
        self._tokenization.enable_truncation(limit, strategy="only_second" if pairs else "longest_first")

    def texts(self, texts: Sequence[str]) -> list[Encoding]:
        """One encoding a text."""
        return self._tokenization.encode_batch([encodable(text) for text in texts])

    def pairs(self, query: str, texts: Sequence[str]) -> list[Encoding]:
        """One encoding a (query, text); the text is cut. A query that fills over half of the room is cut there."""
        asked = self._short(encodable(query))
        return self._tokenization.encode_batch([(asked, encodable(text)) for text in texts])

    def _short(self, query: str) -> str:
        if self._limit is None:
            return query
        room = max(1, (self._limit - self._tokenization.num_special_tokens_to_add(True)) // 2)
        offsets = self._whole.encode(query, add_special_tokens=False).offsets
        return query if len(offsets) <= room else query[: offsets[room - 1][1]]


def is_cut(encoding: Encoding) -> bool:
    """Whether tokens of the text were left out."""
    return bool(encoding.overflowing)


def encodable(text: str) -> str:
    """The text with lone surrogates, which no encoding has, replaced one for one."""
    return text if text.isascii() else _SURROGATES.sub("\ufffd", text)


def padded(encodings: Sequence[Encoding], pad_id: int, kind: Any) -> tuple[npt.NDArray[Any], ...]:
    """(ids, attention mask, type ids), padded on the right to the longest."""
    shape = (len(encodings), max((len(encoding) for encoding in encodings), default=0))
    ids, mask, types = np.full(shape, pad_id, kind), np.zeros(shape, kind), np.zeros(shape, kind)
    for row, encoding in enumerate(encodings):
        length = len(encoding)
        ids[row, :length], mask[row, :length], types[row, :length] = encoding.ids, 1, encoding.type_ids
    return ids, mask, types


def text_tokens(encoding: Encoding) -> npt.NDArray[np.intp]:
    """Positions of the tokens that are text, not special."""
    return np.flatnonzero(np.asarray(encoding.special_tokens_mask) == 0)


def read_tokenization(file: Path) -> Tokenization:
    """A tokenizer.json, without the truncation and padding that it may ask for. Raises ModelError."""
    try:
        tokenization = Tokenization.from_file(str(file))
    except Exception as error:  # the library raises plain Exception
        raise ModelError(
            f"the tokenizer cannot be read ({str(error)[:200]})", place=str(file), remedy="copy the model's folder anew"
        ) from error
    return unbounded(tokenization)


def unbounded(tokenization: Tokenization) -> Tokenization:
    """The same tokenizer without truncation and padding."""
    tokenization.no_padding()
    tokenization.no_truncation()
    return tokenization
