"""Judged queries, metrics, intervals, comparisons (contract 10: figures are honest)."""
