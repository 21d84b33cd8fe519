"""What makes a query fail: a rule for each kind, over figures of the documents in question.

Shares are of a query's content words, weighted by their idf. `missed` are the best relevant documents that something
worse stands above, `above` what stands there. A query may have several kinds; `other` only where no rule holds.

- `vocabulary_gap`: half or more of the missed documents lack at least half of the query.
- `missing_identifier_form`: half or more of them lack a word of the query, but have it within an identifier, joined
  with its neighbour, or in parts.
- `diluted_by_length`: half or more of them have more than half of the query, as much as the median of what stands above
  (to .1), and are at least twice as long (their best rows, where documents are cut into rows); or they are longer than
  300 words, and their best 100 words have more of the query, by .1, than the best 100 of the median above.
- `split_answer`: half or more of them hold at least half of the query, but no 100 words hold more than .6 of that; or
  at least two relevant documents hold .75 of the query together, and none does alone.
- `wrong_field_wins`: half or more of them are ahead by .25 in one field of what stands above, which has at least as
  much of the query as they have, and at least .25, in another.
- `boilerplate_match`: half or more of what stands above has at least half of its matches in lines that many documents
  repeat.
- `unjudged_above`: nobody judged more than half of what stands above.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from idxopt.optimizer.diagnosis.findings import FailureKind

GAP = 0.5
AS_MUCH = 0.1
LONGER = 2.0
LONG_WORDS, CLOSER = 300, 0.1
HELD, TOGETHER_IN_WINDOW, TOGETHER = 0.5, 0.6, 0.75
AHEAD = 0.25
BOILERPLATE = 0.5
HALF = 0.5


@dataclass(frozen=True, slots=True)
class Seen:
    """What the rules know of a document.

    `covered`: share of the query that its searched fields have, `fields` by field; `words`: length of its best row;
    `near`: share of the query that its best 100 words have; `boilerplate`: share of its matches in repeated lines;
    `forms`: missing words that it has in another form; `held`: the words that it has.
    """

    covered: float
    words: int
    near: float = 0.0
    boilerplate: float = 0.0
    judged: bool = True
    fields: Mapping[str, float] = field(default_factory=dict)
    forms: tuple[str, ...] = ()
    held: frozenset[str] = frozenset()


def failure_kinds(
    missed: Sequence[Seen], above: Sequence[Seen], weights: Mapping[str, float]
) -> tuple[FailureKind, ...]:
    """The kinds of a failing query, in the order of this module. `weights`: of its content words, adding up to 1."""
    rules: Mapping[FailureKind, bool] = {
        "vocabulary_gap": _most(missed, lambda one: one.covered <= 1 - GAP),
        "missing_identifier_form": _most(missed, lambda one: bool(one.forms)),
        "diluted_by_length": bool(above) and _most(missed, lambda one: _is_diluted(one, above)),
        "split_answer": _most(missed, _is_spread) or _is_shared(missed, weights),
        "wrong_field_wins": bool(above) and _most(missed, lambda one: _other_field_wins(one, above)),
        "boilerplate_match": _most(above, lambda one: one.boilerplate >= BOILERPLATE),
        "unjudged_above": sum(not one.judged for one in above) > HALF * len(above),
    }
    return tuple(kind for kind, holds in rules.items() if holds) or ("other",)


def _most(documents: Sequence[Seen], holds: Callable[[Seen], bool]) -> bool:
    return bool(documents) and sum(map(holds, documents)) >= HALF * len(documents)


def _is_diluted(one: Seen, above: Sequence[Seen]) -> bool:
    if one.covered <= 1 - GAP:
        return False
    as_much = one.covered >= statistics.median(other.covered for other in above) - AS_MUCH
    longer = one.words >= LONGER * statistics.median(other.words for other in above)
    closer = one.near - CLOSER >= statistics.median(other.near for other in above)
    return (as_much and longer) or (one.words > LONG_WORDS and closer)


def _is_spread(one: Seen) -> bool:
    return one.covered >= HELD and one.near <= TOGETHER_IN_WINDOW * one.covered


def _is_shared(missed: Sequence[Seen], weights: Mapping[str, float]) -> bool:
    if len(missed) < 2 or any(one.covered >= TOGETHER for one in missed):
        return False
    together = frozenset().union(*(one.held for one in missed))
    return math.fsum(weights.get(word, 0.0) for word in together) >= TOGETHER  # whatever order the set has


def _other_field_wins(one: Seen, above: Sequence[Seen]) -> bool:
    typical = {name: statistics.median(other.fields.get(name, 0.0) for other in above) for name in one.fields}
    ahead = {name for name, share in one.fields.items() if share - typical[name] >= AHEAD}
    behind = {name for name, share in one.fields.items() if typical[name] >= max(share, AHEAD)}
    return bool(ahead) and bool(behind)
