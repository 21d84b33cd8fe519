"""Trials in a process of its own, to be killed: `python -m tests.cluster.trial_process JSON`.

Keys: `url`, `study`, `documents_per_s`, `ttl_s`. It scores one program after the other until somebody ends it.
"""

from __future__ import annotations

import json
import sys

from idxopt.engines.opensearch import OpenSearchEngine
from idxopt.optimizer.trials import ClusterEvaluator, TrialSettings
from tests.unit.optimizer.trials.collection import programs, small


def main(task: dict[str, object]) -> None:
    corpus, queries, qrels = small()
    settings = TrialSettings(
        str(task["study"]),
        ttl_s=float(str(task["ttl_s"])),
        documents_per_s=float(str(task["documents_per_s"])),
    )
    with (
        OpenSearchEngine.connect(str(task["url"])) as engine,
        ClusterEvaluator(engine, corpus, queries, qrels, settings) as evaluator,
    ):
        for wanted in programs():
            evaluator.scores(wanted)
            print(wanted.name, flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
