"""Kinds of queries, by their words alone: figures by kind show what a mean hides.

- `identifier`: names a thing of code: `getUserName`, `max_size`, `os.path`, `std::vector`, `print()`, or text in back
  quotes.
- `question`: ends with a question mark, or begins with a question word or an auxiliary verb.
- `short`: at most 3 content words (no stop words). `long`: at least 12.
- `other`: none of these.

A query may be of several kinds; its one kind, where one is wanted, is the first in this order.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from idxopt.evaluation.judgments import Query
from idxopt.optimizer.diagnosis.facts import IDENTIFIER
from idxopt.text.analysis import standard_tokens
from idxopt.text.identifiers import lowercase
from idxopt.text.stop_words import STOP_WORDS

QueryKind = Literal["identifier", "question", "short", "long", "other"]
KINDS: tuple[QueryKind, ...] = ("identifier", "question", "short", "long", "other")
SHORT_WORDS, LONG_WORDS = 3, 12

Places = npt.NDArray[np.int64]

_CODE = re.compile(r"\w::\w|\w\(\)|`[^`\n]+`")
_QUESTION_WORDS = frozenset(
    "what how why when where which who whom whose is are was were am do does did can could should shall will would has "
    "have had may might must".split()
)


def content_words(text: str) -> list[str]:
    """The distinct words of a query as they are written, in order, without stop words; all words where no other is."""
    tokens: dict[str, str] = {}
    for token in standard_tokens(text):
        tokens.setdefault(lowercase(token), token)
    content = [token for word, token in tokens.items() if word not in STOP_WORDS]
    return content or list(tokens.values())


def kinds_of(text: str) -> tuple[QueryKind, ...]:
    """Every kind of a query, in the order of KINDS."""
    tokens = standard_tokens(text)
    words = sum(lowercase(token) not in STOP_WORDS for token in tokens)
    holds: dict[QueryKind, bool] = {
        "identifier": bool(IDENTIFIER.search(text) or _CODE.search(text)),
        "question": text.rstrip().endswith("?") or (bool(tokens) and lowercase(tokens[0]) in _QUESTION_WORDS),
        "short": words <= SHORT_WORDS,
        "long": words >= LONG_WORDS,
    }
    return tuple(kind for kind in KINDS if holds.get(kind)) or ("other",)


def kind_of(text: str) -> QueryKind:
    """The one kind of a query."""
    return kinds_of(text)[0]


def slices(queries: Sequence[Query]) -> Mapping[str, Places]:
    """The places of the queries of every kind that occurs, in the order of KINDS."""
    by_kind = {kind: [place for place, query in enumerate(queries) if kind in kinds_of(query.text)] for kind in KINDS}
    return {kind: np.array(places, dtype=np.int64) for kind, places in by_kind.items() if places}
