"""What is compared: methods (programs from presets) under three pipelines that differ in weights and reranking only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from idxopt.program.presets import PresetOptions, preset
from idxopt.program.schema import Fusion, Program, Source

Column = Literal["dense", "hybrid", "reranked"]
COLUMNS: tuple[Column, ...] = ("dense", "hybrid", "reranked")
COLUMN_NAMES: Mapping[Column, str] = {"dense": "dense only", "hybrid": "hybrid", "reranked": "hybrid + reranker"}


@dataclass(frozen=True, slots=True)
class Method:
    """One row of a table. `paper`: nDCG@5 in the paper's Table 2 (QASPER), by column."""

    name: str
    label: str
    preset: str
    literal: bool = False
    strong: bool = False
    paper: tuple[float, float, float] | None = None

    @property
    def rewrites(self) -> bool:
        """Whether its text is rewritten, so that BM25 and the reranker read D*."""
        return self.preset in ("sr-text", "full")

    def program(self, name: str, source: Source, options: PresetOptions) -> Program:
        """The method as a program: hybrid with reranker."""
        chosen = replace(options, stopwords="none") if self.literal else options
        return preset(self.preset, program_name=name, source=source, options=chosen)


RAW = "raw"
OFFLINE = "offline"
CHUNKS = "structure-chunks"
FULL = "full"
STRONG = "raw, second encoder"
METHODS: tuple[Method, ...] = (
    Method(RAW, "Raw (windows of 256 tokens)", "raw", paper=(0.175, 0.311, 0.391)),
    Method(CHUNKS, "Structure-chunks", "structure-chunks", paper=(0.201, 0.338, 0.396)),
    Method(OFFLINE, "PRIME (offline)", "offline", paper=(0.201, 0.332, 0.396)),
    Method("sr-text", "SR (full-text)", "sr-text", paper=(0.208, 0.245, 0.328)),
    Method(FULL, "PRIME (full)", "full", paper=(0.214, 0.241, 0.325)),
    Method("offline-literal", "PRIME (offline), literal formula", "offline", literal=True),
    Method("title", "control: title", "title"),
    Method("title-headings", "control: title + headings", "title-headings"),
    Method("terms-beside-text", "PRIME (Full-Text)", "terms-beside-text"),
    Method("summary-augmented", "Summary-augmented", "summary-augmented"),
    Method("raptor-lite", "RAPTOR-lite", "raptor-lite"),
    Method(STRONG, "Raw, second encoder", "raw", strong=True),
)
BY_NAME: Mapping[str, Method] = {method.name: method for method in METHODS}

TABLE_1 = (RAW, STRONG, "summary-augmented", "raptor-lite", OFFLINE, CHUNKS)
"""The paper's six methods; its second encoder is BGE-M3."""
TABLE_2 = (RAW, CHUNKS, OFFLINE, "sr-text", FULL)
CONTROLS = ("title", "title-headings", "terms-beside-text", "summary-augmented", "raptor-lite")
FORMULAS = (OFFLINE, "offline-literal")


def variant(program: Program, column: Column) -> Program:
    """The program of one pipeline: same views, so the same physical indices serve all three."""
    if column == "reranked":
        return program
    weights = {**program.fusion.weights}
    if column == "dense":
        weights[f"{program.primary}.lexical"] = 0.0
    fusion = Fusion(**{**program.fusion.model_dump(), "weights": weights})
    return program.model_copy(update={"fusion": fusion, "rerank": None})
