"""Scores of many programs over one corpus and one list of queries, without rebuilding what did not change."""
