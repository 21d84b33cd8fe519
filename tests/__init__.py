"""Tests; a package so that benchmarks can start the same nodes (`from tests.nodes.launcher import node`)."""
