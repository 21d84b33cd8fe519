"""Steps as functions over rows: the one place that knows which module makes which operator."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from idxopt.operators.discard import compile_discard
from idxopt.operators.enrich.acronyms import compile_acronyms
from idxopt.operators.enrich.entities import compile_entities
from idxopt.operators.enrich.heading_tree import compile_heading_tree
from idxopt.operators.enrich.keywords import compile_keywords
from idxopt.operators.enrich.lead import compile_lead
from idxopt.operators.enrich.neighbours import compile_neighbours
from idxopt.operators.enrich.prime_terms import compile_prime_terms
from idxopt.operators.enrich.synonyms import compile_synonyms
from idxopt.operators.generated import compile_generated
from idxopt.operators.normalize import compile_normalize
from idxopt.operators.reorganize import compile_reorganize
from idxopt.operators.reweight import compile_reweight
from idxopt.operators.slice import compile_slice
from idxopt.operators.transform import Context, Transform
from idxopt.program.steps import (
    Acronyms,
    Discard,
    Entities,
    Generated,
    HeadingTree,
    Keywords,
    Lead,
    Neighbours,
    Normalize,
    PrimeTerms,
    Reorganize,
    Reweight,
    Slice,
    Step,
    Synonyms,
)

_MAKERS: dict[type[Any], Any] = {
    Slice: compile_slice,
    Normalize: compile_normalize,
    Reweight: compile_reweight,
    Reorganize: compile_reorganize,
    Discard: compile_discard,
    PrimeTerms: compile_prime_terms,
    HeadingTree: compile_heading_tree,
    Keywords: compile_keywords,
    Acronyms: compile_acronyms,
    Synonyms: compile_synonyms,
    Lead: compile_lead,
    Entities: compile_entities,
    Neighbours: compile_neighbours,
    Generated: compile_generated,
}


def compile_step(step: Step, context: Context) -> Transform:
    """The step as a pure function over the rows of one document. ProgramError for what this version does not build."""
    if isinstance(step, Keywords) and step.generator is not None:
        return compile_generated(step, context)
    transform: Transform = _MAKERS[type(step)](step, context)
    return transform


def compile_steps(steps: Sequence[Step], context: Context) -> list[Transform]:
    """Each step of a view, in order."""
    return [compile_step(step, context) for step in steps]
