"""PRIME's experiment on the shared collections, with all-MiniLM-L6-v2 and the MaxSim reranker.

Bars: every cell of every table is there, and the run takes under an hour where every vector has to be made (finished
parts are kept in the work folder and cost nothing again). `--cluster-check NAME` runs one collection on a node of its
own too: nDCG@5 of each cell within .005 of the embedded engine's. The reports are prime.txt, prime.json and prime.html
in the work folder. `--queries`, `--documents` and `--characters` make a short form; `--long` takes everything.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from benchmarks.collections import NAMES, collection
from benchmarks.report import Bar, Figures, Report, Value, run, tell
from idxopt.config.load import cache_dir
from idxopt.deploy.options import TextOptions
from idxopt.engines.embedded import EmbeddedEngine
from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.engines.port import Engine
from idxopt.errors import EvaluationError
from idxopt.evaluation.datasets import load_dataset_folder
from idxopt.evaluation.judgments import JudgedQueries
from idxopt.experiments.building import Workplace
from idxopt.experiments.methods import COLUMNS, METHODS, RAW
from idxopt.experiments.prime import Encoders
from idxopt.experiments.reports import NAMES as REPORTS
from idxopt.experiments.results import CollectionResult
from idxopt.experiments.running import Collection, PrimeExperiment
from idxopt.experiments.sampling import EVERYTHING, Limits
from idxopt.experiments.summary import overview
from idxopt.models.opening import Models
from idxopt.models.settings import ModelSettings
from idxopt.program.presets import BEIR_SOURCE, PresetOptions
from idxopt.program.schema import Program
from tests.models_support import ModelUnavailableError, minilm_settings
from tests.nodes.launcher import node

NODE = "2.19.1"
SECONDS = 3_600.0
APART = 0.005


class Told:
    """Progress on stderr: the stages."""

    def __init__(self) -> None:
        self._started = time.monotonic()

    def stage(self, text: str) -> None:
        if ":" in text:  # of the experiment; those of an apply are many
            tell(f"{time.monotonic() - self._started:7.0f} s  {text}")

    def advance(self, what: str, done: int, total: int) -> None:
        """Not shown."""


class Runs:
    """Runs of the experiment on one engine after another, with the same models and sample."""

    def __init__(self, limits: Limits, work: Path, methods: Sequence[str]) -> None:
        self.work = work
        self._experiment = PrimeExperiment(BEIR_SOURCE, None, limits, Encoders(PresetOptions()), tuple(methods))
        try:
            self._settings: dict[str, ModelSettings] = minilm_settings()
        except ModelUnavailableError as error:
            raise EvaluationError(str(error), remedy="this benchmark needs the model") from error

    def on(self, engine: Engine, folder: Path, names: Sequence[str]) -> list[CollectionResult]:
        """One result a collection."""
        place = Workplace(engine, folder, cache_dir(), Told(), TextOptions())
        collections = [Collection(name, collection(name).place, partial(_judged, name)) for name in names]
        return list(self._experiment.results(collections, place, self._models))

    def _models(self, program: Program) -> Models:
        return Models(program.models, self._settings, cache=cache_dir() / "embeddings", secret=str)


def _judged(name: str) -> JudgedQueries:
    return load_dataset_folder(collection(name).folder)


def report(names: Sequence[str], limits: Limits, work: Path, methods: Sequence[str], check: str | None) -> Report:
    """Runs the experiment, and one collection on a node where that is asked for."""
    made = Report("prime")
    runs = Runs(limits, work, methods)
    started, processor = time.monotonic(), time.process_time()
    engine = EmbeddedEngine(work / "engine")
    try:
        results = runs.on(engine, work, names)
    finally:
        engine.close()
    seconds = time.monotonic() - started
    made.tables += [
        Figures(grid.title, [dict(zip(grid.header, row, strict=True)) for row in grid.rows])
        for grid in overview(results)
    ]
    made.tables.append(Figures("samples", [_sample(result) for result in results]))
    asked = [one for one in METHODS if not one.strong and (not methods or one.name in (RAW, *methods))]
    wanted = len(COLUMNS) * len(asked)
    lacking = sum(wanted - len(result.cells) for result in results)
    made.bars.append(Bar("cells that are missing", lacking, "==", 0))
    made.bars.append(Bar("seconds of this run", seconds, "<=", SECONDS))
    if check is not None:
        made.bars.append(_cluster(check, results, runs, made))
    made.notes.append(
        f"{time.process_time() - processor:.0f} s of processor time; other work on the machine counts not in it"
    )
    made.notes.append(f"reports: {', '.join(REPORTS)} in the work folder; parts that were finished before cost no time")
    return made


def _sample(result: CollectionResult) -> dict[str, Value]:
    return {"collection": result.name, "sample": result.statement, "seconds": round(result.seconds)}


def _cluster(name: str, results: Sequence[CollectionResult], runs: Runs, made: Report) -> Bar:
    """One collection on a node: the largest distance of a cell to the embedded engine's."""
    embedded = next((result for result in results if result.name == name), None)
    if embedded is None:
        raise EvaluationError(f"{name} is not among the collections of this run", remedy="add it with --collection")
    with node(NODE) as url:
        engine = OpenSearchEngine.connect(url)
        try:
            (served,) = runs.on(engine, runs.work / f"opensearch-{NODE}", [name])
        finally:
            engine.close()
    rows: list[dict[str, Value]] = []
    for cell in embedded.cells:
        other = served.cell(cell.method, cell.column)
        theirs = other.main.mean if other is not None else float("nan")
        rows.append(
            {
                "representation": cell.method,
                "pipeline": cell.column,
                "embedded": round(cell.main.mean, 4),
                f"OpenSearch {NODE}": round(theirs, 4),
                "apart": abs(cell.main.mean - theirs),
            }
        )
    made.tables.append(Figures(f"nDCG@5 of {name}, both engines", rows))
    return Bar(f"nDCG@5 apart, worst of {len(rows)} cells", max(float(row["apart"] or 0) for row in rows), "<=", APART)


def main() -> int:
    """Runs the benchmark."""
    parser = argparse.ArgumentParser("python -m benchmarks.prime", description=__doc__)
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--collection", action="append", choices=NAMES, help="only this one (repeatable)")
    parser.add_argument("--method", action="append", default=[], help="only this one, beside raw (repeatable)")
    parser.add_argument("--work", type=Path, default=cache_dir() / "experiment-prime", help="the work folder")
    parser.add_argument("--queries", type=int, default=Limits().queries)
    parser.add_argument("--documents", type=int, default=Limits().documents)
    parser.add_argument("--characters", type=int, default=Limits().characters)
    parser.add_argument("--long", action="store_true", help="every query and document: hours")
    parser.add_argument("--cluster-check", choices=NAMES, help="this collection on a node too")
    options = parser.parse_args()
    limits = EVERYTHING if options.long else Limits(options.queries, options.documents, options.characters)
    names = options.collection or NAMES
    return run(lambda: report(names, limits, options.work, options.method, options.cluster_check), as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
