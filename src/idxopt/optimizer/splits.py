"""Which queries a search may look at: dev, held-out and test, made once by a seed.

Queries whose texts are equal but for case, space and punctuation never straddle two parts: the same question on both
sides would measure memory. A split depends on the seed and on the queries, never on the order of their files.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from idxopt.errors import EvaluationError, UsageError
from idxopt.evaluation.judgments import JudgedQueries, Qrels, Query
from idxopt.hashing import digest, text_digest

Places = npt.NDArray[np.int64]
HELD_OUT = 0.2
"""Share of the queries given to the search that it is judged by at its end (spec AutoIndex: 20%)."""
_WORDS = re.compile(r"\w+")


@dataclass(frozen=True)
class PlacedQueries:
    """Named queries; `places` are where they stand in the evaluator's order, rising, and `ids` stand in that order."""

    name: str
    ids: tuple[str, ...]
    places: Places = field(compare=False, repr=False)

    @property
    def n(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class GatheredQueries:
    """The judged queries of one or more dev sets as one list, in the order of their ids: the evaluator's order.

    With several sets the ids are `SET/ID`. `sets`: the ids of each set.
    """

    queries: tuple[Query, ...]
    qrels: Qrels
    sets: Mapping[str, tuple[str, ...]]


def gather(sets: Mapping[str, JudgedQueries]) -> GatheredQueries:
    """One list of queries and judgments. Raises EvaluationError for no set, and for names that make ids collide."""
    if not sets:
        raise EvaluationError("there are no judged queries", remedy="give at least one set of queries and judgments")
    queries: dict[str, Query] = {}
    qrels: dict[str, Mapping[str, int]] = {}
    ids: dict[str, tuple[str, ...]] = {}
    for name, judged in sets.items():
        renamed = {query.id: f"{name}/{query.id}" if len(sets) > 1 else query.id for query in judged.queries}
        for query in judged.queries:
            new = renamed[query.id]
            if new in queries:
                raise EvaluationError(f"query {new!r} is there twice", remedy="give every query an id of its own")
            queries[new] = Query(new, query.text)
            qrels[new] = judged.qrels[query.id]
        ids[name] = tuple(sorted(renamed.values()))
    return GatheredQueries(tuple(queries[query_id] for query_id in sorted(queries)), qrels, ids)


class HeldOut:
    """The held-out queries, sealed: they are read once, at the end of a search, and the reading is recorded.

    Looking at them at every step would spend them: what passes often enough passes by luck.
    """

    def __init__(self, sets: tuple[PlacedQueries, ...]) -> None:
        self._sets = sets
        self._read_by: str | None = None

    @property
    def n(self) -> int:
        return sum(queries.n for queries in self._sets)

    @property
    def digest(self) -> str:
        """64 hex digits that are equal for equal queries; tells nothing about them."""
        return digest([[queries.name, list(queries.ids)] for queries in self._sets])

    @property
    def read_by(self) -> str | None:
        """Who read them; None while nobody has."""
        return self._read_by

    def read(self, reader: str) -> tuple[PlacedQueries, ...]:
        """The sets, once. Raises EvaluationError the second time."""
        if self._read_by is not None:
            raise EvaluationError(
                f"the held-out queries were read already ({self._read_by}), and {reader} asks for them again",
                remedy="keep what the first reading gave; a further search needs held-out queries of its own",
            )
        self._read_by = reader
        return self._sets


@dataclass(frozen=True)
class Split:
    """The parts of a study's queries, a set of each for every set that was given (without those that are empty).

    `order`: ids of all queries in the evaluator's order.
    """

    seed: int
    order: tuple[str, ...]
    dev: tuple[PlacedQueries, ...]
    held_out: HeldOut = field(compare=False)
    test: tuple[PlacedQueries, ...] = ()

    @property
    def dev_places(self) -> Places:
        """Places of all dev queries, rising."""
        return pooled(self.dev)

    @property
    def dev_ids(self) -> tuple[str, ...]:
        """Ids of all dev queries in the evaluator's order: what a diagnosis may look at."""
        return tuple(self.order[place] for place in self.dev_places)

    def summary(self) -> dict[str, object]:
        """JSON for a manifest: sizes, and digests that show whether two splits are the same."""
        return {
            "seed": self.seed,
            "dev": {queries.name: queries.n for queries in self.dev},
            "held_out": self.held_out.n,
            "test": {queries.name: queries.n for queries in self.test},
            "dev_digest": digest(sorted(self.dev_ids)),
            "held_out_digest": self.held_out.digest,
            "test_digest": digest(sorted(query_id for queries in self.test for query_id in queries.ids)),
        }


def split_queries(
    gathered: GatheredQueries,
    *,
    seed: int = 0,
    held_out: float = HELD_OUT,
    test: float = 0.0,
    test_sets: Collection[str] = (),
) -> Split:
    """Dev, held-out and test queries of every set.

    `test`: share of each set's queries that the search never sees; `held_out`: share of the others. Sets in
    `test_sets` are test as a whole, and so is every query of another set with a text that they hold.
    Raises UsageError for shares out of range, EvaluationError where no dev query is left.
    """
    for name, share in (("held-out", held_out), ("test", test)):
        if not 0 <= share < 1:
            raise UsageError(f"the share {share:g} of {name} queries is out of range", remedy="use 0 to 0.9")
    unknown = sorted(set(test_sets) - gathered.sets.keys())
    if unknown:
        raise UsageError(f"there is no set {unknown[0]!r}", remedy=f"the sets are {', '.join(gathered.sets)}")
    parts = _parts(gathered, seed, held_out, test, frozenset(test_sets))
    if not any(part == "dev" for part in parts.values()):
        if test_sets and len(test_sets) < len(gathered.sets) and not test:
            raise EvaluationError(
                "no dev query is left: each of them is also in a test set",
                remedy="give other queries to search with, or take those that are in both out of the test set",
            )
        raise EvaluationError(
            f"no dev query is left of {len(parts)}",
            remedy="give more judged queries, or smaller shares of held-out and test queries",
        )
    order = tuple(query.id for query in gathered.queries)
    return Split(
        seed=seed,
        order=order,
        dev=_sets(gathered, order, parts, "dev"),
        held_out=HeldOut(_sets(gathered, order, parts, "held-out")),
        test=_sets(gathered, order, parts, "test"),
    )


def pooled(sets: Iterable[PlacedQueries]) -> Places:
    """The places of all queries of some sets, rising."""
    places = [queries.places for queries in sets]
    return np.unique(np.concatenate(places)) if places else np.zeros(0, dtype=np.int64)


def normalised_text(text: str) -> str:
    """A query without case, punctuation and runs of space; equal results are one query to a split."""
    return " ".join(_WORDS.findall(text.casefold())) or text.strip()


def _parts(
    gathered: GatheredQueries, seed: int, held_out: float, test: float, test_sets: frozenset[str]
) -> dict[str, str]:
    """query id -> `dev`, `held-out` or `test`.

    Groups of equal texts are dealt in an order drawn by the seed, each to the first part that has room for all of it.
    """
    set_of = {query_id: name for name, ids in gathered.sets.items() for query_id in ids}
    groups: dict[str, list[str]] = {}
    for query in gathered.queries:
        groups.setdefault(normalised_text(query.text), []).append(query.id)
    dealt = sorted(groups.values(), key=lambda ids: text_digest(f"{seed}\0{ids[0]}"))
    drawn = [ids for ids in dealt if not any(set_of[query_id] in test_sets for query_id in ids)]
    sizes = Counter(set_of[query_id] for ids in drawn for query_id in ids)
    room = {"test": {name: round(size * test) for name, size in sizes.items()}}
    room["held-out"] = {name: round((size - room["test"][name]) * held_out) for name, size in sizes.items()}
    parts = {query_id: "test" for ids in dealt for query_id in ids}
    for ids in drawn:
        needed = Counter(set_of[query_id] for query_id in ids)
        part = next((part for part, left in room.items() if all(left[name] >= needed[name] for name in needed)), "dev")
        for name, count in needed.items() if part != "dev" else ():
            room[part][name] -= count
        parts.update(dict.fromkeys(ids, part))
    return parts


def _sets(
    gathered: GatheredQueries, order: tuple[str, ...], parts: Mapping[str, str], wanted: str
) -> tuple[PlacedQueries, ...]:
    place_of = {query_id: place for place, query_id in enumerate(order)}
    found = []
    for name, ids in gathered.sets.items():
        chosen = tuple(query_id for query_id in ids if parts[query_id] == wanted)
        if chosen:
            found.append(PlacedQueries(name, chosen, np.array([place_of[each] for each in chosen], dtype=np.int64)))
    return tuple(found)
