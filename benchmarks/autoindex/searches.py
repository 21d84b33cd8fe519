"""Searches over a collection, replayed over the store of scores, and what they found for the test queries."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.autoindex.bench import Bench
from idxopt.evaluation.bootstrap import Interval, mean_interval
from idxopt.evaluation.metrics import Metric
from idxopt.optimizer.autoindex.acceptance import Rule
from idxopt.optimizer.autoindex.heuristic import HeuristicProposer
from idxopt.optimizer.autoindex.random import RandomProposer
from idxopt.optimizer.autoindex.search import Search
from idxopt.optimizer.autoindex.settings import MOST_ROUNDS, Found, SearchSettings
from idxopt.optimizer.diagnosis.findings import Diagnosis
from idxopt.optimizer.ports import NDCG, Proposer, Scores, Values
from idxopt.optimizer.splits import HELD_OUT, Places, Split, pooled, split_queries
from idxopt.optimizer.study.prepared import dev_slices
from idxopt.program.schema import Program

HALF = 0.5


@dataclass(frozen=True)
class Searched:
    """One search and its figures over the test queries, which it never saw.

    `charged_s`: what it would take alone: reading, tables, the recorded seconds of every program and diagnosis, the
    rest as measured. `spent_s`: what it took here. `evaluated`: programs that the store did not have.
    """

    collection: str
    seed: int
    found: Found
    baseline: Scores
    given: Places
    test: Places
    charged_s: float
    spent_s: float
    evaluated: int

    def before(self, metric: Metric) -> float:
        """The baseline's mean."""
        return float(np.mean(self.baseline.at(metric, self.test)))

    def after(self, metric: Metric) -> float:
        """The mean of the program found."""
        return float(np.mean(self.found.scores.at(metric, self.test)))

    def differences(self, metric: Metric) -> Values:
        """Program minus baseline, by query."""
        difference: Values = self.found.scores.at(metric, self.test) - self.baseline.at(metric, self.test)
        return difference

    def gain(self, metric: Metric) -> float:
        return self.after(metric) - self.before(metric)

    @property
    def relative(self) -> float:
        """Of nDCG@10."""
        return self.gain(NDCG) / self.before(NDCG)

    @cached_property
    def interval(self) -> Interval:
        """BCa, of the differences in nDCG@10."""
        return mean_interval(self.differences(NDCG).tolist())

    @property
    def lost(self) -> bool:
        """A significant loss in nDCG@10: the interval lies below 0."""
        return self.interval.high is not None and self.interval.high < 0

    @property
    def accepted(self) -> bool:
        """Something was kept at the end."""
        return self.found.cut.kept > 0

    @property
    def changes(self) -> str:
        """The kinds of the changes that stay; what the held-out queries cut off is counted."""
        kept, cut = self.found.path[: self.found.cut.kept], len(self.found.path) - self.found.cut.kept
        kinds = [step.proposal.kind for step in kept] + ([f"({cut} cut off)"] if cut else [])
        return "; ".join(kinds) or "none"


def halves(bench: Bench, seed: int) -> Split:
    """Half of the queries for the search (a fifth of them held out), the other half for the test."""
    return split_queries(bench.gathered, seed=seed, test=HALF)


def few(bench: Bench, seed: int, dev: int) -> Split:
    """So many dev queries, their share of held-out queries beside them; all others are for the test."""
    given = dev / (1 - HELD_OUT)
    return split_queries(bench.gathered, seed=seed, test=1 - given / len(bench.queries))


def heuristic(bench: Bench, split: Split, rule: Rule = "guarded") -> Searched:
    """A search with the defaults of `idxopt optimize`."""
    return _searched(bench, split, HeuristicProposer(bench.tables), SearchSettings(rule=rule, seed=split.seed))


def control(bench: Bench, split: Split, evaluations: int) -> Searched:
    """A search with random proposals that evaluates as many programs: it does not stop early."""
    settings = SearchSettings(seed=split.seed, evaluations=max(1, evaluations), patience=MOST_ROUNDS)
    return _searched(bench, split, RandomProposer(split.seed, bench.tables), settings)


def _searched(bench: Bench, split: Split, proposer: Proposer, settings: SearchSettings) -> Searched:
    started, busy, evaluated = time.perf_counter(), bench.busy_s, bench.evaluated
    diagnosing = 0.0

    def diagnose(program: Program) -> Diagnosis:
        nonlocal diagnosing
        found, seconds = bench.diagnosis(split, program)
        diagnosing += seconds
        return found

    search = Search(
        settings,
        bench.baseline,
        bench.scores(bench.baseline),
        split.dev,
        proposer,
        diagnose,
        documents=len(bench.corpus.documents),
        slices=dev_slices(bench.prepared(split)),
    )
    scored = {search.current.hash}
    while pending := search.pending():
        search.report({candidate.hash: bench.result(candidate) for candidate in pending})
        scored.update(candidate.hash for candidate in pending)
    found = search.finish(split.held_out)
    test = pooled(split.test)
    spent = time.perf_counter() - started
    recorded = sum(bench.seconds_of(program) for program in sorted(scored)) + diagnosing
    return Searched(
        collection=bench.name,
        seed=split.seed,
        found=found,
        baseline=bench.baseline_scores,
        given=np.setdiff1d(np.arange(len(bench.queries)), test),
        test=test,
        charged_s=bench.setup_s + recorded + spent - (bench.busy_s - busy),
        spent_s=spent,
        evaluated=bench.evaluated - evaluated,
    )
