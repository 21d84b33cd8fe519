"""Trials: programs built for a while on any engine to be scored, marked as such, and cleaned away."""

from idxopt.optimizer.trials.evaluator import ClusterEvaluator
from idxopt.optimizer.trials.settings import TrialSettings

__all__ = ["ClusterEvaluator", "TrialSettings"]
