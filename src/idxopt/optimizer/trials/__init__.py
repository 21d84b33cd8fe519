"""Trials: programs built for a while on any engine to be scored, marked as such, and cleaned away."""

from idxopt.optimizer.trials.agreement import compare_engines
from idxopt.optimizer.trials.embedded import embedded_trials
from idxopt.optimizer.trials.evaluator import ClusterEvaluator
from idxopt.optimizer.trials.settings import TrialSettings

__all__ = ["ClusterEvaluator", "TrialSettings", "compare_engines", "embedded_trials"]
