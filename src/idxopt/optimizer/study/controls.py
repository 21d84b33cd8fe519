"""The control beside a search: programs one random change away from the baseline, scored as the search scores its own.

They are no trials: the budget does not count them, and none is kept.
"""

from __future__ import annotations

from idxopt.evaluation.bootstrap import mean_interval
from idxopt.optimizer.autoindex.random import RandomProposer
from idxopt.optimizer.diagnosis.findings import Diagnosis
from idxopt.optimizer.edits import edited
from idxopt.optimizer.ports import Candidate, SearchState
from idxopt.optimizer.record import Control
from idxopt.optimizer.study.inputs import Progress
from idxopt.optimizer.study.proposers import mined_tables
from idxopt.optimizer.study.recording import RESAMPLES, Finished


def controls_of(
    finished: Finished, number: int, seed: int, diagnosis: Diagnosis, progress: Progress
) -> tuple[Control, ...]:
    """At most `number` programs with their figure over the dev queries; one that cannot be scored is left out.

    `diagnosis`: of the baseline, which a random proposer does not look at. Equal seeds, equal programs.
    """
    if not number:
        return ()
    prepared, baseline = finished.prepared, finished.found.baseline.program
    metric, dev = finished.found.objective.metrics[0], prepared.split.dev_places
    proposer = RandomProposer(seed, mined_tables(prepared.corpus, baseline))
    proposals = proposer.ask(SearchState(round=1, baseline=baseline, current=baseline, diagnosis=diagnosis), number)
    found = []
    for place, proposal in enumerate(proposals):
        progress.advance("score random programs", place, len(proposals))
        progress.check()
        result = finished.scoring.one(Candidate.of(edited(baseline, proposal.edits), proposal))
        if result.scores is None:
            continue
        scores = result.scores.scores
        value = mean_interval(scores.at(metric, dev).tolist(), resamples=RESAMPLES)
        found.append(Control(f"random: {proposal.kind}", value, scores.size))
    return tuple(found)
