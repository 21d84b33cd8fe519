"""The AutoIndex search on the shared collections: what it finds for queries that it never saw.

Every collection's queries are cut in halves by a seed: the search gets one half (a fifth of it held out), the other is
the test. Parts: `quality` against the baseline, `single` against the best single change picked on the same half,
`random` against random proposals, `power` with 25 dev queries, `attribution` of one winner a collection. Scores are
kept in the work folder, each program once for all seeds, rules and parts: stopped, it goes on where it was; start with
an empty folder after a change of operators or of the evaluator. Processes for different collections may share it.
Bars over all collections are set where all of them, 10 seeds and 20 draws are measured.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks.autoindex.controls import add_attribution, add_power, add_random
from benchmarks.autoindex.measuring import PARTS, Measured, Plan, measure
from benchmarks.autoindex.quality import add_quality, add_single
from benchmarks.collections import NAMES
from benchmarks.report import Report, run
from idxopt.config.load import cache_dir

SEEDS, DRAWS, PAPER_DRAWS = 10, 20, 5
SHORT_NAMES, SHORT_SEEDS = ("cranfield", "chroma_chunking"), 2


def reported(names: Sequence[str], plan: Plan) -> Report:
    """Measures one collection after the other, and says what came out."""
    report = Report("autoindex")
    measured: list[Measured] = [measure(name, plan) for name in names]
    every = set(names) == set(NAMES)
    whole = every and plan.seeds >= SEEDS
    if "quality" in plan.parts:
        add_quality(report, measured, whole=whole)
    if "single" in plan.parts:
        add_single(report, measured, whole=whole)
    if "random" in plan.parts:
        add_random(report, measured, whole=whole)
    if "power" in plan.parts:
        add_power(report, measured, whole=every and plan.draws >= DRAWS)
    if "attribution" in plan.parts:
        add_attribution(report, measured)
    report.notes.append(
        "s as if alone: reading, tables, diagnoses, and the seconds that each program took when it was scored, by an"
        " evaluator that keeps the rows and postings of earlier runs; the first run of a collection shares nothing"
    )
    report.notes.append("intervals over seeds: the splits share their queries, so they are narrower than for new ones")
    return report


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser("python -m benchmarks.autoindex", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--part", action="append", choices=PARTS, help="only this one (repeatable)")
    parser.add_argument("--collections", nargs="+", choices=NAMES, help="only these")
    parser.add_argument("--seeds", type=int, help=f"splits in halves ({SEEDS})")
    parser.add_argument("--draws", type=int, help=f"splits with few dev queries ({DRAWS})")
    parser.add_argument("--paper-draws", type=int, help=f"of these also by the paper's rule ({PAPER_DRAWS})")
    parser.add_argument("--short", action="store_true", help=f"{SHORT_SEEDS} seeds and draws, two small collections")
    parser.add_argument("--work", type=Path, default=cache_dir() / "benchmark-autoindex", help="the work folder")
    given = parser.parse_args()
    plan = Plan(
        given.part or PARTS,
        given.seeds or (SHORT_SEEDS if given.short else SEEDS),
        given.draws or (SHORT_SEEDS if given.short else DRAWS),
        given.paper_draws or (SHORT_SEEDS if given.short else PAPER_DRAWS),
        given.work,
    )
    names = given.collections or (SHORT_NAMES if given.short else NAMES)
    return run(lambda: reported(names, plan), as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
