"""The embedded engine against real nodes: the same program, applied and searched the same way on each.

Bars, for each collection, node and view: the best 100 documents are the same set, in the same order for 99% of the
queries, nDCG@10 within 1e-4, scores within 1e-6 relative. `--quick`: two collections on one node, 200 queries each.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from benchmarks import anchor
from benchmarks.agreement import DEPTH, Agreement, agreement
from benchmarks.collections import NAMES, Collection, collection
from benchmarks.deployment import deployed, engines, program
from benchmarks.report import Bar, Figures, Report, Value, run, tell
from idxopt.engines.port import Engine
from idxopt.errors import EngineError
from idxopt.evaluation.judgments import JudgedQueries, Run
from idxopt.program.schema import Program
from idxopt.search import Searcher, SearchQuery

NODES = ("2.19.1", "3.5.0")
QUICK = ("cranfield", "covidqa_docs")
QUICK_QUERIES = 200
FUSED = "fused (RRF)"


def parity_program(of: Collection) -> Program:
    """One field; two of different BM25, which are weighted apart on 2.19; four, two of them derived; many rows."""
    english = {"analyzer": "english"}
    lead = {"op": "enrich", "with": "lead", "sentences": 3, "into": "lead"}
    terms = {"op": "enrich", "with": "prime_terms", "top": 10, "into": "terms"}
    views = {
        "one": {"lexical": {"fields": {"body": english}}},
        "two": {
            "lexical": {
                "fields": {
                    "title": {"analyzer": "standard", "weight": 2.5},
                    "body": {**english, "k1": 0.9, "b": 0.4, "weight": 0.7},
                }
            }
        },
        "four": {
            "steps": [lead, terms],
            "lexical": {
                "fields": {
                    "title": {**english, "weight": 1.5},
                    "body": english,
                    "lead": {**english, "weight": 0.4},
                    "terms": {"analyzer": "standard", "weight": 0.3},
                }
            },
        },
        "rows": {
            "steps": [{"op": "slice", "unit": "words", "window": 128, "overlap": 32}],
            "lexical": {"fields": {"title": {**english, "weight": 0.5}, "body": english}},
        },
    }
    return program(
        f"parity-{of.name.replace('_', '-')}",
        views,
        source={"fields": {"title": "title", "body": "text"}, "markup": of.markup},
        fusion={"window": DEPTH},
    )


def answers(engine: Engine, of: Collection, judged: JudgedQueries, cache: Path) -> dict[str, Run]:
    """What the engine finds: a run for each view, and the fused one."""
    wanted = parity_program(of)
    with deployed(engine, wanted, of.place, cache) as searcher:
        check_fresh(engine, searcher)
        runs: dict[str, dict[str, list[tuple[str, float]]]] = {}
        for query in judged.queries:
            found = searcher.search(SearchQuery(query.text, k=DEPTH * len(wanted.views)))
            runs.setdefault(FUSED, {})[query.id] = [(hit.doc_id, hit.score) for hit in found.hits[:DEPTH]]
            for view in wanted.views:
                key = f"{view}.lexical"
                ranked = sorted((hit.legs[key].rank, hit) for hit in found.hits if key in hit.legs)
                runs.setdefault(view, {})[query.id] = [(hit.doc_id, hit.legs[key].score) for _, hit in ranked]
    return dict(runs)


def check_fresh(engine: Engine, searcher: Searcher) -> None:
    """One shard and no deleted documents: what parity is claimed for."""
    for index in searcher.live().indices.values():
        state = engine.get_index(index)
        if state is None or state.settings["index.number_of_shards"] != "1" or engine.stats(index).deleted:
            raise EngineError("is not one fresh shard", place=index, remedy="use a node that nothing else writes to")


def measure(names: Sequence[str], versions: Sequence[str], most: int | None = None) -> Report:
    """Every collection on every node; `most` queries of each (None: all)."""
    report = Report("parity")
    rows: list[dict[str, Value]] = []
    found: list[tuple[str, Agreement]] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="idxopt-parity-")))
        opened = stack.enter_context(engines(folder, versions))
        for name in names:
            of = collection(name)
            judged = of.judged(most)
            ours: dict[str, Run] = {}
            for label, engine in opened.items():
                tell(f"{name} on {label}")
                runs = answers(engine, of, judged, folder / "cache")
                if label == "embedded":
                    ours = runs
                    continue
                for view, theirs in runs.items():
                    compared = agreement(ours[view], theirs, [query.id for query in judged.queries], judged.qrels)
                    found.append((view, compared))
                    rows.append(_row(name, label, view, compared))
        report.tables.append(Figures("embedded engine against a node, best 100 documents", rows))
        if "scifact" in names:
            anchor.measure(opened, folder, report)
    report.bars[:0] = bars(found)
    return report


def _row(name: str, version: str, view: str, found: Agreement) -> dict[str, Value]:
    return {
        "collection": name,
        "node": version,
        "view": view,
        "queries": found.queries,
        "equal sets": found.sets,
        "equal order": found.orders,
        "worst score": f"{found.score:.1e}",
        "nDCG@10 embedded": round(found.ndcg, 5),
        "nDCG@10 node": round(found.ndcg_other, 5),
    }


def bars(found: Sequence[tuple[str, Agreement]]) -> list[Bar]:
    """The worst of each figure. In a fused list only nDCG counts: one swap of a tie moves its scores."""
    views = [one for view, one in found if view != FUSED]
    return [
        Bar("share of queries with equal sets of 100, lowest", min(one.sets for one in views), "==", 1.0),
        Bar("share of queries with equal order, lowest", min(one.orders for one in views), ">=", 0.99),
        Bar("relative difference of scores, largest", max(one.score for one in views), "<=", 1e-6),
        Bar("difference of nDCG@10, largest", max(one.ndcg_difference for _, one in found), "<=", 1e-4),
    ]


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.parity", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument(
        "--quick", action="store_true", help=f"{' and '.join(QUICK)}, {QUICK_QUERIES} queries, one node"
    )
    parser.add_argument("--collections", nargs="+", choices=NAMES, default=NAMES)
    parser.add_argument("--nodes", nargs="+", choices=NODES, default=NODES)
    given = parser.parse_args()
    if given.quick:
        return run(lambda: measure(QUICK, NODES[:1], QUICK_QUERIES), as_json=given.json)
    return run(lambda: measure(given.collections, given.nodes), as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
