"""The proposer that needs no model: maps what the corpus is like and why queries fail to changes, the likeliest first,
and learns from what each change brought.

Deterministic: a function of the state alone. What is expected of an aspect (`moves.Aspect`) is its prior until one of
its options was scored; then the best gain seen, less with every further option that brought nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from idxopt.errors import IdxoptError
from idxopt.optimizer.autoindex.moves import Aspect, Option, Tables, aspects
from idxopt.optimizer.autoindex.shape import shape_of
from idxopt.optimizer.edits import EDITS, ReplaceStep, edited
from idxopt.optimizer.ports import Outcome, Proposal, SearchState
from idxopt.program.canonical import program_hash

EXPECTED = 0.02
"""The gain that a prior of 1 stands for."""
BUNDLE = "together"
LEAST_BUNDLED, LEAST_CONFIDENCE = 0.002, 0.6
"""A change that gained less, or less surely, is not worth bundling."""
_AGAIN = 0.7
"""What is left of an expectation with every option that was scored."""
_BESIDE = 0.8
"""What is left of it for each further option of an aspect in one round: how a thing is done first is hard to change
later, when the difference between two ways is small beside the noise.
"""
_AFTER_LOSS = 0.3


@dataclass(frozen=True, slots=True)
class _Ranked:
    expected: float
    place: int
    aspect: Aspect
    option: Option


class HeuristicProposer:
    """See `Proposer`. `tables`: term tables mined from the corpus, by scheme (`abbreviations`, `terms`)."""

    name = "heuristic"

    def __init__(self, tables: Tables | None = None) -> None:
        self._tables = tables or {}

    def ask(self, state: SearchState, n: int) -> Sequence[Proposal]:
        """One option an aspect and its other form, then second ones."""
        shape = shape_of(state.current, state.diagnosis.facts)
        ranked = [
            _Ranked(_expected(aspect, state.outcomes) * _BESIDE**order, order, aspect, option)
            for aspect in aspects(shape, state.diagnosis, self._tables)
            for order, option in _in_order(aspect, state)
        ]
        ranked += [
            _Ranked(expected, 0, Aspect(BUNDLE, 1, "each gained a little", ()), option)
            for expected, option in _bundles(state)
        ]
        ranked.sort(key=lambda one: (-one.expected, one.place, one.aspect.name, one.option.label))
        return [_proposal(one.aspect, one.option) for one in ranked[:n]]

    def tell(self, outcomes: Sequence[Outcome]) -> None:
        """Nothing to keep: the state has all outcomes."""


def _bundles(state: SearchState) -> Iterator[tuple[float, Option]]:
    """Changes that gained too little to be sure of, together: their gains add up faster than their noise.

    Of each aspect the best, measured since the current program is what it is.
    """
    last = max((outcome.round for outcome in state.outcomes if outcome.status == "kept"), default=0)
    best: dict[str, tuple[float, Proposal]] = {}
    for outcome in state.outcomes:
        proposal = outcome.candidate.proposal
        if outcome.round <= last or outcome.gain is None or proposal is None or proposal.kind.startswith(BUNDLE):
            continue
        small = outcome.gain >= LEAST_BUNDLED and (outcome.confidence or 0) >= LEAST_CONFIDENCE
        aspect = proposal.aspect
        if small and outcome.status == "refused" and outcome.gain > best.get(aspect, (0.0,))[0]:
            best[aspect] = (outcome.gain, proposal)
    chosen = sorted(best.values(), key=lambda pair: (-pair[0], pair[1].kind))
    for most in (2, 3, 4):
        if len(chosen) < most:
            return
        together = chosen[:most]
        every = [edit for _, one in together for edit in one.edits]
        every.sort(key=lambda edit: not isinstance(edit, ReplaceStep))  # numbers of steps are those of the program now
        edits = tuple(edit.model_dump(mode="json", by_alias=True) for edit in every)
        option = Option(" + ".join(one.aspect for _, one in together), edits)
        if _is_new(option, state):
            yield _AGAIN * sum(gain for gain, _ in together), option


def _in_order(aspect: Aspect, state: SearchState) -> Iterator[tuple[int, Option]]:
    """The options that give a valid program that was not seen, and how many of this round stand before each."""
    before = 0
    for option in aspect.options:
        if _is_new(option, state):
            yield before, option
            before += not option.another_form


def _is_new(option: Option, state: SearchState) -> bool:
    try:
        program = edited(state.current, EDITS.validate_python(option.edits))
    except (IdxoptError, ValidationError):  # the latter: more edits than one change may have
        return False
    return program_hash(program) not in state.seen


def _expected(aspect: Aspect, outcomes: Sequence[Outcome]) -> float:
    """The gain to expect of the aspect's next option."""
    gains = [
        outcome.gain
        for outcome in outcomes
        if outcome.gain is not None and outcome.candidate.proposal and outcome.candidate.proposal.aspect == aspect.name
    ]
    if not gains:
        return EXPECTED * aspect.prior
    best = max(gains)
    if best > 0:
        return best * _AGAIN ** len(gains)
    return EXPECTED * aspect.prior * _AFTER_LOSS ** len(gains)


def _proposal(aspect: Aspect, option: Option) -> Proposal:
    edits = tuple(EDITS.validate_python(option.edits))
    return Proposal(
        edits, f"{aspect.name}: {option.label}", f"{aspect.name}, {option.label}: {aspect.why}", "heuristic"
    )
