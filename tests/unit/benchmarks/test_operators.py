"""The interpreter benchmark leaves no form out."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.deployment import program
from benchmarks.operators import SAMPLES
from idxopt.operators.registry import FORMS, form_name
from idxopt.program.steps import GENERATED

ELSEWHERE = {"reweight", *(f"enrich {kind}" for kind in GENERATED)}
"""The first acts when searching, the second needs a model."""


def test_every_form_has_a_sample() -> None:
    assert set(SAMPLES) == set(FORMS) - ELSEWHERE


@pytest.mark.parametrize("form", sorted(SAMPLES))
def test_the_sample_is_of_its_form(form: str) -> None:
    searched: dict[str, Any] = {"fields": {"title": {}}}
    views = {"content": {"lexical": searched}, "form": {"steps": list(SAMPLES[form]), "lexical": searched}}
    made = program("sample", views)
    assert form_name(made.views["form"].steps[-1]) == form
