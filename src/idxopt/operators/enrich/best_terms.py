"""The terms of a text with the highest scores: those that cannot be among them are left out before any is rounded."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

_MARGIN = 2e-9
_RELATIVE_MARGIN = 1e-12
_LOWEST = -sys.float_info.max


class TermWeights(dict[str, float]):
    """IDF by term. `absent`: of terms that are not here. Terms `without` weigh minus infinity: they are no terms."""

    def __init__(self, idf: Mapping[str, float], absent: float, without: Iterable[str] = ()) -> None:
        super().__init__(idf)
        self.update(dict.fromkeys(without, -float("inf")))
        self._absent = absent

    def __missing__(self, term: str) -> float:
        return self._absent


def best_terms(terms: Sequence[str], values: Sequence[float], top: int, rounded: Callable[[float], float]) -> list[str]:
    """The `top` terms with the highest rounded values, ties by code point; those at minus infinity are no terms.

    `rounded` must keep the order of values and move none by more than 1e-9. It is asked only where it may make equal
    what is not.
    """
    lowest = _LOWEST
    if len(values) > top:
        least = sorted(values, reverse=True)[top - 1]
        lowest = max(lowest, least - _margin(least))
    best = [(-value, term) for term, value in zip(terms, values, strict=True) if value >= lowest]
    best.sort()
    margin = _margin(best[0][0]) if best else 0.0
    if any(0 < after - before <= margin for (before, _), (after, _) in pairwise(best)):
        best = sorted((-rounded(-value), term) for value, term in best)
    return [term for _, term in best[:top]]


def _margin(value: float) -> float:
    """Values further apart are different when rounded."""
    return _MARGIN + abs(value) * _RELATIVE_MARGIN
