"""The command has the defaults of the library: what benchmarks measure is what a user gets."""

from __future__ import annotations

import inspect

import pytest

from idxopt.cli.commands.optimize import optimize
from idxopt.optimizer.autoindex.settings import SearchSettings


@pytest.mark.parametrize("name", ["rounds", "candidates", "patience", "rule", "objective", "evaluations"])
def test_a_default_is_that_of_the_search(name: str) -> None:
    assert inspect.signature(optimize).parameters[name].default == getattr(SearchSettings(), name)
