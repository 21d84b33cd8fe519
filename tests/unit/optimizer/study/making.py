"""Inputs of studies over the small collection, and what of a study must not differ from run to run."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from idxopt.evaluation.datasets import load_dataset_folder
from idxopt.evaluation.judgments import Qrels, Query
from idxopt.optimizer.autoindex.settings import SearchSettings
from idxopt.optimizer.baseline import baseline_program
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.ports import Scores
from idxopt.optimizer.record import StudyRecord
from idxopt.optimizer.scoring.evaluator import IncrementalEvaluator
from idxopt.optimizer.study.inputs import EngineChoice, JudgedSet, StudyInputs, StudySettings
from idxopt.optimizer.study.proposers import proposer_choice
from idxopt.optimizer.study.scores import ScoreStore
from idxopt.optimizer.study.store import StudyStore
from idxopt.program.canonical import program_hash
from idxopt.program.schema import Program, Source
from idxopt.sources import open_source

SCORED: list[str] = []
"""Programs that a `Counting` evaluator of this process scored."""


class Counting(IncrementalEvaluator):
    """The evaluator, saying what it was asked."""

    def scores(self, program: Program) -> Scores:
        SCORED.append(program_hash(program))
        return super().scores(program)


def counting(corpus: Corpus, queries: Sequence[Query], qrels: Qrels) -> Counting:
    return Counting(corpus, queries, qrels)


COUNTED = EngineChoice(maker="tests.unit.optimizer.study.making:counting")


def inputs(
    folder: Path, *, evaluations: int = 8, seed: int = 0, search: dict[str, Any] | None = None, **changes: Any
) -> StudyInputs:
    """A study over a folder of `write_collection`."""
    program = baseline_program(Source(fields={"title": "title", "body": "text"}), "small")
    settings = SearchSettings(evaluations=evaluations, seed=seed, **(search or {}))
    given: dict[str, Any] = {
        "name": "small",
        "source": open_source(str(folder), program),
        "baseline": program,
        "sets": [JudgedSet("small", str(folder), load_dataset_folder(folder))],
        "proposer": proposer_choice("heuristic", seed=seed),
        "settings": StudySettings(settings, test=0.25),
    }
    return StudyInputs(**{**given, **changes})


def found(record: StudyRecord) -> dict[str, Any]:
    """A record without times, and without what says how often scores came from the store."""
    plain: dict[str, Any] = json.loads(record.to_json())
    for gone in ("created", "cost", "events", "notes", "study", "plan"):
        del plain[gone]
    for column in plain["columns"]:
        del column["p95_ms"]
    for step in plain["attribution"]:
        del step["p95_ms"]
    for trial in plain["trials"]:
        for gone in ("seconds", "cached", "plan", "p95_ms"):
            del trial[gone]
    return plain


def trials(folder: Path) -> list[tuple[int, str, str, float | None, str | None]]:
    """Number, program, status, gain and reason of every trial in a study's folder."""
    store = StudyStore.open(folder / "study.sqlite")
    try:
        return [(one.number, one.hash, one.status, one.gain, one.reason) for one in store.trials()]
    finally:
        store.close()


def scored_programs(file: Path) -> int:
    """How many programs a store of scores holds."""
    store = ScoreStore.open(file)
    try:
        return len(store)
    finally:
        store.close()
