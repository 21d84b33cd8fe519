"""Proposers by name."""

from __future__ import annotations

from collections.abc import Mapping

from idxopt.errors import UsageError
from idxopt.models.ports import Generator
from idxopt.optimizer.autoindex.heuristic import HeuristicProposer
from idxopt.optimizer.autoindex.llm import LlmProposer, Refusal
from idxopt.optimizer.autoindex.mixed import MixedProposer
from idxopt.optimizer.autoindex.prompt import VERSION
from idxopt.optimizer.autoindex.random import RandomProposer
from idxopt.optimizer.corpus import Corpus
from idxopt.optimizer.mining.acronyms import acronym_table
from idxopt.optimizer.mining.synonyms import synonym_table
from idxopt.optimizer.ports import Proposer
from idxopt.optimizer.study.inputs import ProposerChoice, ProposerTools
from idxopt.program.schema import Program

PROPOSERS = ("heuristic", "llm", "random", "mixed")
ASKING = ("llm", "mixed")
"""Proposers that ask a language model; `mixed` does where there is one."""


def proposer_choice(
    name: str, *, seed: int, generator: Generator | None = None, samples: int = 1, currency: str = "USD"
) -> ProposerChoice:
    """The proposer of that name. `samples`: answers of the language model that must agree, each is one request.

    Raises UsageError for an unknown name, and where a model is missing or nobody would ask it.
    """
    if name not in PROPOSERS:
        raise UsageError(f"there is no proposer {name!r}", place="--proposer", remedy=f"use {', '.join(PROPOSERS)}")
    if name == "llm" and generator is None:
        raise UsageError("the proposer llm asks a language model", place="--model", remedy="name one with --model ID")
    if name not in ASKING and generator is not None:
        raise UsageError(
            f"the proposer {name} asks no model", place="--model", remedy="leave --model out, or use --proposer mixed"
        )
    identity = "" if generator is None else f"{generator.identity.key[:16]} x{samples} prompt {VERSION}"
    return ProposerChoice(name, lambda tools: _made(name, seed, samples, tools), generator, identity, currency)


def _made(name: str, seed: int, samples: int, tools: ProposerTools) -> Proposer:
    if name == "llm":
        return _asking(samples, tools)
    tables = mined_tables(tools.corpus, tools.baseline)
    if name == "random":
        return RandomProposer(seed, tables)
    heuristic = HeuristicProposer(tables)
    if name == "heuristic":
        return heuristic
    chance = RandomProposer(seed, tables)
    if tools.generator is None:
        return MixedProposer([(heuristic, 3), (chance, 1)])
    return MixedProposer([(heuristic, 2), (_asking(samples, tools), 1), (chance, 1)])


def _asking(samples: int, tools: ProposerTools) -> LlmProposer:
    assert tools.generator is not None  # checked with the choice

    def note(refusal: Refusal) -> None:
        tools.note("refused answer", f"round {refusal.round}, sample {refusal.sample}: {refusal.reason}")

    return LlmProposer(tools.generator, tools.corpus, samples=samples, note=note)


def mined_tables(corpus: Corpus, baseline: Program) -> Mapping[str, dict[str, list[str]]]:
    """Term tables of the corpus by scheme of `normalize`, without those that are empty."""
    found = {
        "abbreviations": acronym_table(corpus, baseline.source),
        "terms": synonym_table(corpus, baseline.source),
    }
    return {scheme: table for scheme, table in found.items() if table}
