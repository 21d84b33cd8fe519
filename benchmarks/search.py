"""What the `Searcher` adds to the search itself, on a program of four views.

Each pair sends the same `_msearch` body twice: through `Searcher`, and through opensearch-py's `msearch`, which turns
the same reply into dictionaries with the same JSON parser. The order within a pair alternates. Bar: the median of the
pairs' ratios is at most 1.15. The embedded engine's latency is printed beside it.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import cycle, islice
from pathlib import Path
from typing import Any, TypeVar

import opensearchpy
import orjson
from opensearchpy.serializer import JSONSerializer

from benchmarks.collections import Collection, collection
from benchmarks.deployment import deployed, program
from benchmarks.report import Bar, Figures, Report, Value, run, tell
from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.program.schema import Program
from idxopt.search import Searcher, SearchQuery
from idxopt.search.legs import prepare
from tests.nodes.launcher import node

PAIRS = 500
WARM_UP = 60
MOST = 1.15
Asked = TypeVar("Asked")
COLLECTION = "medquad_pages"


class OrjsonSerializer(JSONSerializer):
    """The parser that the adapter uses: the peer's effort on a reply is the same."""

    def loads(self, s: str) -> Any:
        return orjson.loads(s)

    def dumps(self, data: Any) -> Any:
        return data if isinstance(data, str | bytes) else orjson.dumps(data).decode()


def search_program(of: Collection) -> Program:
    """Pages, titles, sections and leading sentences."""
    english = {"analyzer": "english"}
    views = {
        "content": {"lexical": {"fields": {"title": {**english, "weight": 2.0}, "body": english}}},
        "titles": {"lexical": {"fields": {"title": english}}},
        "sections": {
            "steps": [{"op": "slice", "unit": "headings"}],
            "lexical": {"fields": {"title": english, "body": english}},
        },
        "leads": {
            "steps": [{"op": "enrich", "with": "lead", "sentences": 3, "into": "lead"}],
            "lexical": {"fields": {"lead": english}},
        },
    }
    source = {"fields": {"title": "title", "body": "text"}, "markup": of.markup}
    return program("search-benchmark", views, source=source)


def measure(pairs: int) -> Report:
    """On a node, then embedded."""
    of = collection(COLLECTION)
    wanted = search_program(of)
    texts = [query.text for query in of.judged().queries]
    report = Report("search")
    with tempfile.TemporaryDirectory(prefix="idxopt-search-") as name, node() as url:
        folder = Path(name)
        with OpenSearchEngine.connect(url, timeout_s=120.0) as engine:
            tell(f"{COLLECTION} on the node")
            with deployed(engine, wanted, of.place, folder / "cache") as searcher:
                ours, theirs = _paired(searcher, url, texts, pairs)
        embedded = EmbeddedEngine(folder / "engine")
        tell(f"{COLLECTION} on the embedded engine")
        with deployed(embedded, wanted, of.place, folder / "cache") as searcher:
            alone = [_seconds(searcher.search, SearchQuery(text)) for text in _asked(texts, pairs)]
    ratios = [one / other for one, other in zip(ours, theirs, strict=True)]
    rows = [_row("Searcher, OpenSearch 2.19.1", ours), _row("opensearch-py msearch, the same body", theirs)]
    report.tables.append(
        Figures(f"latency of one query, {len(wanted.views)} legs", [*rows, _row("Searcher, embedded", alone)])
    )
    report.tables.append(Figures("Searcher / msearch", [{"pairs": len(ratios), **_quantiles(ratios)}]))
    report.bars.append(Bar("median of the ratios Searcher / msearch", statistics.median(ratios), "<=", MOST))
    return report


def _paired(searcher: Searcher, url: str, texts: Sequence[str], pairs: int) -> tuple[list[float], list[float]]:
    """Seconds of each search: ours, theirs."""
    with opensearchpy.OpenSearch(url, serializer=OrjsonSerializer(), timeout=120) as client:
        build = searcher.live()
        bodies: dict[str, list[Any]] = {}
        for text in texts:
            requests = prepare(SearchQuery(text), build).requests
            bodies[text] = [part for one in requests for part in ({"index": one.index}, dict(one.body))]

        def ask(text: str) -> None:
            searcher.search(SearchQuery(text))

        def send(text: str) -> None:
            client.msearch(body=bodies[text])

        for text in _asked(texts, WARM_UP):
            ask(text)
            send(text)
        ours: list[float] = []
        theirs: list[float] = []
        for number, text in enumerate(_asked(texts, pairs)):
            order = [(ask, ours), (send, theirs)]
            for search, seconds in order if number % 2 else reversed(order):
                seconds.append(_seconds(search, text))
    return ours, theirs


def _asked(texts: Sequence[str], number: int) -> list[str]:
    return list(islice(cycle(texts), number))


def _seconds(work: Callable[[Asked], object], asked: Asked) -> float:
    started = time.perf_counter()
    work(asked)
    return time.perf_counter() - started


def _row(name: str, seconds: Sequence[float]) -> dict[str, Value]:
    return {"way": name, "queries": len(seconds), **_quantiles([1_000 * one for one in seconds], " ms")}


def _quantiles(values: Sequence[float], unit: str = "") -> dict[str, Value]:
    parts = statistics.quantiles(values, n=20, method="inclusive")
    return {f"p50{unit}": statistics.median(values), f"p95{unit}": parts[18]}


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(prog="benchmarks.search", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document on stdout")
    parser.add_argument("--pairs", type=int, default=PAIRS)
    given = parser.parse_args()
    return run(lambda: measure(given.pairs), as_json=given.json)


if __name__ == "__main__":
    sys.exit(main())
