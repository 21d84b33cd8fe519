"""Searches for the program that a corpus deserves: studies, evaluators, diagnosis, proposers, acceptance (AutoIndex)."""
