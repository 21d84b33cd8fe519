"""How alike two rankings are."""

from __future__ import annotations

from collections.abc import Sequence

PERSISTENCE = 0.9
"""RBO's p: the first ten ranks carry 86% of the weight (Webber, Moffat and Zobel 2010, "A similarity measure for
indefinite rankings").
"""


def jaccard(a: Sequence[str], b: Sequence[str]) -> float:
    """Share of documents in both among those in either; 1 for two empty lists."""
    either = set(a) | set(b)
    return len(set(a) & set(b)) / len(either) if either else 1.0


def rank_biased_overlap(a: Sequence[str], b: Sequence[str], p: float = PERSISTENCE) -> float:
    """RBO of two lists of distinct ids, extrapolated from the depth seen (the paper's RBO_ext for lists that may
    differ in length); 1 for two empty lists, 0 where one is empty.
    """
    short, long = sorted((a, b), key=len)
    if not short:
        return float(not long)
    shallow, deep = len(short), len(long)
    overlaps = [len(set(short[:depth]) & set(long[:depth])) for depth in range(1, deep + 1)]
    total = sum(overlap / depth * p**depth for depth, overlap in enumerate(overlaps, 1))
    at_short = overlaps[shallow - 1]
    total += sum(at_short * (depth - shallow) / (depth * shallow) * p**depth for depth in range(shallow + 1, deep + 1))
    tail = ((overlaps[-1] - at_short) / deep + at_short / shallow) * p**deep
    return (1 - p) / p * total + tail
