"""Searches for the program a corpus deserves: studies, evaluators, diagnosis, proposers, acceptance (AutoIndex)."""
