"""How fast candidates are scored: 40 of them on scifact, ours and the others in turn, the order alternating.

Against the naive loop (rank_bm25, everything rebuilt), against the published evaluator (`--published CHECKOUT`, and
`--published-python` for its server), and against the same candidates indexed anew on a live node. Ours is one
evaluator, started once; its start with the baseline is told apart, and counted in a second total. The naive loop is
slow: `--naive-every N` gives it every N-th candidate of each kind. Bars: naive, median ratio 100 and total 30;
published, 10 and 5; live, total 20; nDCG@10 of node and ours within .001.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from benchmarks.autoindex.bench import BASELINE
from benchmarks.autoindex.candidates import KINDS, Timed, candidates
from benchmarks.autoindex.contenders import Contender, Incremental, Live, Naive, Scored, Task, live
from benchmarks.autoindex.published import Published, published
from benchmarks.report import Bar, Figures, Report, Value, run, tell

NODE = "2.19.1"
AGREED = 0.001
BARS: dict[str, tuple[float | None, float]] = {
    Naive.name: (100.0, 30.0),
    Published.name: (10.0, 5.0),
    Live.name: (None, 20.0),
}
"""Least median of the ratios, and least ratio of the totals."""


@dataclass(frozen=True, slots=True)
class Options:
    """What to run."""

    collection: str
    each: int
    naive_every: int
    live: bool
    published: Path | None
    published_python: str


@dataclass(frozen=True, slots=True)
class Pair:
    """One candidate scored by us and by another."""

    candidate: Timed
    ours: Scored
    other: Scored

    @property
    def ratio(self) -> float:
        return self.other.seconds / self.ours.seconds


@dataclass
class Timings:
    """Everything timed; `pairs` by the other's name."""

    start_s: float
    transform_s: float | None = None
    pairs: dict[str, list[Pair]] = field(default_factory=dict)


def timed(options: Options) -> Timings:
    """Scores every candidate in every way."""
    task = Task.of(options.collection)
    with ExitStack() as stack:
        others: list[Contender] = [Naive(task)]
        if options.published is not None:
            others.append(stack.enter_context(published(task, options.published, options.published_python)))
        if options.live:
            others.append(stack.enter_context(live(task, NODE)))
        ours = Incremental(task, BASELINE)
        timings = Timings(ours.start_s, pairs={other.name: [] for other in others})
        for place, candidate in enumerate(candidates(options.each)):
            _one(place, candidate, ours, others, options.naive_every, timings)
        timings.transform_s = next((other.transform_s for other in others if isinstance(other, Published)), None)
    return timings


def _one(
    place: int, candidate: Timed, ours: Incremental, others: Sequence[Contender], every: int, timings: Timings
) -> None:
    """Who goes first changes from candidate to candidate."""
    asked = [other for other in others if not isinstance(other, Naive) or candidate.number % every == 0]
    contenders: list[Contender] = [ours, *asked]
    turn = place % len(contenders)
    found: dict[str, Scored] = {}
    for contender in contenders[turn:] + contenders[:turn]:
        gc.collect()  # nobody pays for what another left
        found[contender.name] = contender.score(candidate.program)
    for other in asked:
        timings.pairs[other.name].append(Pair(candidate, found[ours.name], found[other.name]))
    figures = ", ".join(f"{name} {one.seconds:.3f} s" for name, one in found.items())
    tell(f"{candidate.kind}, {candidate.name}: {figures}")


def reported(options: Options) -> Report:
    """Tables by kind and by candidate, and the bars."""
    report = Report("autoindex speed")
    timings = timed(options)
    add_timings(report, timings)
    if options.naive_every > 1:
        report.notes.append(f"the naive loop scored every {options.naive_every}. candidate of each kind")
    if timings.transform_s is None:
        report.notes.append("the published evaluator is not at hand (--published CHECKOUT)")
    else:
        report.notes.append(
            f"the published evaluator got its texts ready-made ({timings.transform_s:.1f} s more in all);"
            " ours makes its own"
        )
    return report


def add_timings(report: Report, timings: Timings) -> None:
    """What was timed, against each of the others."""
    for name, pairs in timings.pairs.items():
        rows = [_row(kind, [pair for pair in pairs if pair.candidate.kind == kind]) for kind in KINDS]
        report.tables.append(
            Figures(f"idxopt against {name}: seconds a candidate, ratios", [*rows, _row("all", pairs)])
        )
        _bars(report, name, pairs, timings.start_s)
    report.tables.append(Figures("every candidate", _candidates(timings)))
    if Live.name in timings.pairs:
        apart = max(abs(pair.ours.ndcg - pair.other.ndcg) for pair in timings.pairs[Live.name])
        report.bars.append(Bar("nDCG@10 apart from the live node, worst", apart, "<=", AGREED))
    report.notes.append(f"start of ours, with the baseline scored: {timings.start_s:.2f} s")


def _bars(report: Report, name: str, pairs: Sequence[Pair], start_s: float) -> None:
    least_median, least_total = BARS[name]
    if least_median is not None:
        report.bars.append(Bar(f"{name}: median ratio", median(pair.ratio for pair in pairs), ">=", least_median))
    ours, other = _totals(pairs)
    report.bars.append(Bar(f"{name}: ratio of totals", other / ours, ">=", least_total))
    report.notes.append(f"{name}: ratio of totals with our start {other / (ours + start_s):.1f}")


def _totals(pairs: Sequence[Pair]) -> tuple[float, float]:
    return sum(pair.ours.seconds for pair in pairs), sum(pair.other.seconds for pair in pairs)


def _row(kind: str, pairs: Sequence[Pair]) -> dict[str, Value]:
    row: dict[str, Value] = {"kind": kind, "candidates": len(pairs)}
    if not pairs:
        return row
    ratios = sorted(pair.ratio for pair in pairs)
    ours, other = _totals(pairs)
    return {
        **row,
        "ours, median": median(pair.ours.seconds for pair in pairs),
        "other, median": median(pair.other.seconds for pair in pairs),
        "ratio, median": median(ratios),
        "lowest": ratios[0],
        "highest": ratios[-1],
        "ours, total": ours,
        "other, total": other,
        "ratio of totals": other / ours,
    }


def _candidates(timings: Timings) -> list[dict[str, Value]]:
    rows: dict[str, dict[str, Value]] = {}
    for name, pairs in timings.pairs.items():
        for pair in pairs:
            one = pair.candidate
            row = rows.setdefault(f"{one.kind} {one.name}", {"kind": one.kind, "candidate": one.name})
            row |= {"ours s": pair.ours.seconds, "ours nDCG@10": pair.ours.ndcg}
            row |= {f"{name} s": pair.other.seconds, f"{name} nDCG@10": pair.other.ndcg}
    return sorted(rows.values(), key=lambda row: KINDS.index(str(row["kind"])))


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser("python -m benchmarks.autoindex.speed", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--collection", default="scifact")
    parser.add_argument("--each", type=int, default=10, choices=range(1, 11), metavar="N", help="candidates a kind")
    parser.add_argument("--naive-every", type=int, default=1, metavar="N", help="the naive loop: every N-th of a kind")
    parser.add_argument("--no-live", action="store_true", help="without a node")
    parser.add_argument("--published", type=Path, metavar="CHECKOUT", help="the published code")
    parser.add_argument("--published-python", default=sys.executable, metavar="PYTHON", help="runs its server")
    given = parser.parse_args()
    options = Options(
        given.collection,
        given.each,
        max(1, given.naive_every),
        not given.no_live,
        given.published,
        given.published_python,
    )
    return run(lambda: reported(options), as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
