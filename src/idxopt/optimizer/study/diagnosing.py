"""The diagnosis of a program of a study: over its dev queries, and over no others."""

from __future__ import annotations

import json

from idxopt.errors import EvaluationError
from idxopt.optimizer.diagnosis.diagnose import diagnose
from idxopt.optimizer.diagnosis.findings import Diagnosis
from idxopt.optimizer.ports import Candidate
from idxopt.optimizer.study.prepared import Prepared
from idxopt.optimizer.study.scoring import Scoring


def diagnosed(prepared: Prepared, scoring: Scoring, candidate: Candidate) -> Diagnosis:
    """Why dev queries fail under a program that was scored. Raises EvaluationError for one that was not."""
    stored = scoring.known(candidate.hash)
    if stored is None:
        raise EvaluationError("only a program with scores can be diagnosed", remedy="score it first")
    gathered = prepared.gathered
    queries = [gathered.queries[place] for place in prepared.split.dev_places]
    qrels = {query.id: gathered.qrels[query.id] for query in queries}
    return diagnose(scoring.evaluator, prepared.corpus, candidate.program, queries, qrels, stored.scores)


def diagnosis_text(diagnosis: Diagnosis) -> str:
    """The diagnosis as a JSON document."""
    return json.dumps(diagnosis.to_json(), ensure_ascii=False, indent=1) + "\n"
