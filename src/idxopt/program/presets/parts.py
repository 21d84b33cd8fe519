"""What presets are made of: a name with its reasons, the options, and the parts of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from idxopt.errors import ProgramError
from idxopt.program.schema import Source

MINILM = "sentence-transformers/all-MiniLM-L6-v2"
BGE_SMALL = "BAAI/bge-small-en-v1.5"
BGE_QUERY = "Represent this sentence for searching relevant passages: "
CROSS_ENCODER = "cross-encoder/ms-marco-MiniLM-L-6-v2"

ENCODER, RERANKER, GENERATOR = "encoder", "reranker", "generator"
"""The names of models in the programs of presets."""

Plain = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PresetOptions:
    """The models of a preset. `reranker` None: no second stage. `max_tokens`: of the encoder, special tokens counted.

    `stopwords` none: the literal formula of PRIME's terms.
    """

    model: str = MINILM
    dimension: int = 384
    max_tokens: int = 256
    similarity: Literal["cosine", "dot", "l2"] = "cosine"
    query_prefix: str = ""
    passage_prefix: str = ""
    reranker: str | None = f"maxsim:{ENCODER}"
    reranker_tokens: int | None = None
    generator: str = "extractive"
    generator_tokens: int | None = None
    stopwords: Literal["english", "none"] = "english"


PAPER = PresetOptions(
    model=BGE_SMALL, max_tokens=512, query_prefix=BGE_QUERY, reranker=CROSS_ENCODER, reranker_tokens=512
)
"""The models of the paper; BM25 1.2/.75 over Porter stems, m 32 and ef 200 are those of every PRIME preset.

The prefix is the one that the model's authors ask for; the paper says nothing of it.
"""

PROFILES: Mapping[str, PresetOptions] = {"default": PresetOptions(), "paper": PAPER}


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a program that a preset decides, as plain JSON values."""

    views: Mapping[str, Plain]
    models: Mapping[str, Plain] = field(default_factory=dict)
    fusion: Plain = field(default_factory=dict)
    rerank: Plain | None = None


@dataclass(frozen=True, slots=True)
class Preset:
    """A named way to make a program from a source.

    `what`: how documents are represented; `when`: when to use it; `cost`: what it takes beside BM25. A sentence each.
    """

    name: str
    what: str
    when: str
    cost: str
    make: Callable[[Source, PresetOptions], Parts]


def needs_body(preset: str, source: Source) -> None:
    """Raises ProgramError where the source maps no field `body`."""
    if "body" not in source.fields:
        raise ProgramError(
            f'the preset "{preset}" reads the field "body", and the source has none',
            remedy='map it: "fields": {"body": "PATH", ...}',
            place="source.fields",
        )


def searched(source: Source, title_weight: float = 1.0) -> Plain:
    """BM25 over every field of the source."""
    return {"fields": {name: {"weight": title_weight if name == "title" else 1.0} for name in source.fields}}
