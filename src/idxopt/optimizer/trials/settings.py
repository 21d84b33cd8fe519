"""How gently trials treat a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from idxopt.errors import UsageError
from idxopt.optimizer.trials.marks import check_study


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """`study`: short id, part of every index name; one process at a time works under it.

    `max_indices`: trial indices at once; the one unused longest goes first. `ttl_s`: after this time without renewal
    `idxopt sweep` takes an index as left behind. `documents_per_s`, `queries_per_s`: rate limits (None: none).
    `searches`: queries asked at the same time. `workers`: bulk requests at the same time. `cache`: folder of the rows
    that heavy steps made (None: none is kept).
    """

    study: str
    max_indices: int = 8
    ttl_s: float = 6 * 3_600.0
    documents_per_s: float | None = None
    queries_per_s: float | None = None
    searches: int = 2
    workers: int = 1
    cache: Path | None = None

    def __post_init__(self) -> None:
        check_study(self.study)
        least = {"max_indices": self.max_indices, "searches": self.searches, "workers": self.workers}
        for name, count in least.items():
            if count < 1:
                raise UsageError(f"{name} is {count}", place="trials", remedy="use 1 or more")
        above = {"ttl_s": self.ttl_s, "documents_per_s": self.documents_per_s, "queries_per_s": self.queries_per_s}
        for name, value in above.items():
            if value is not None and not value > 0:
                raise UsageError(f"{name} is {value:g}", place="trials", remedy="use a number above 0")
