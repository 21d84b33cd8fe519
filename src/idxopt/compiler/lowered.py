"""What the compiler makes of a program for one engine: artifacts as JSON, placements, and legs. Pure data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Place = Literal["client", "server", "both", "query"]


@dataclass(frozen=True, slots=True)
class Target:
    """What lowering must know of an engine (from `engines.port.Capabilities`) and of the profile's layout."""

    engine: Literal["embedded", "opensearch", "elasticsearch"]
    bm25_factor: bool
    pipelines: bool
    shards: int = 1
    replicas: int = 0


@dataclass(frozen=True, slots=True)
class Generations:
    """Counters that force new physical indices: `build` by `apply --rebuild` and repairs, `table` by `refresh`."""

    build: int = 0
    table: int = 0


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one step runs and why; `number` counts the steps of the view from 0."""

    number: int
    operator: str
    place: Place
    why: str


@dataclass(frozen=True, slots=True)
class LegField:
    """One searched field: where it is stored, and its BM25. `weight` includes `reweight` steps."""

    path: str
    analyzer: str
    k1: float
    b: float
    weight: float


@dataclass(frozen=True, slots=True)
class DenseText:
    """What is embedded of each row, and where the vector is kept.

    `texts`: stored paths of the fields, in order, joined by a line feed. `model`: a key of the program's `models`.
    `path`: where the row keeps the vector (`idxopt.vector`).
    """

    model: str
    dimension: int
    similarity: Literal["cosine", "dot", "l2"]
    texts: tuple[str, ...]
    path: str


@dataclass(frozen=True, slots=True)
class Leg:
    """One ranked list. `key` is `view.kind` (`content.lexical`). `many_rows`: several rows a document, so collapse.
    `primary`: a hit's `_id` is the document's own (elsewhere it is the row's, and `idxopt.doc_id` names the document).

    `boosts` by path are what the engine is sent (weights, divided by k1 + 1 where the engine multiplies and fields
    differ); a raw score times `scale` is the sum over fields of weight * BM25 as the embedded engine has it. A dense
    leg has `dense`, no fields, and the engines' common score: cosine (1 + cos) / 2; l2 1 / (1 + d^2); dot 1 + x for
    x >= 0, else 1 / (1 - x).
    """

    key: str
    view: str
    kind: Literal["lexical", "dense"]
    index: str
    fields: Mapping[str, LegField]
    boosts: Mapping[str, float]
    scale: float
    many_rows: bool
    weight: float
    primary: bool = False
    dense: DenseText | None = None


@dataclass(frozen=True, slots=True)
class CompiledView:
    """Everything that one view needs on an engine.

    `index` is `{name}--{view}--{hash8}`; `view_hash` the full 64 hex digits. `index_body` has settings as created
    (hidden, `refresh_interval: -1`, no replicas) and mappings with `_meta.idxopt` (owner, index, view_hash, name, view,
    lowering). `served_settings` are set after the load (refresh interval, replicas, default pipeline; flat names).
    `pipeline` is None outside the primary view and where the engine has none; without steps it still writes
    `idxopt.doc_id`. `pipeline_tables`: it carries frozen corpus tables (a placeholder where they are not known).
    `lost_on_write`: program fields that a document written through the alias will lack until the next build (empty:
    none).
    """

    view: str
    index: str
    view_hash: str
    index_body: Mapping[str, Any]
    served_settings: Mapping[str, Any]
    template_name: str
    template: Mapping[str, Any]
    pipeline_name: str | None
    pipeline: Mapping[str, Any] | None
    placements: tuple[Placement, ...]
    many_rows: bool
    lost_on_write: tuple[str, ...]
    dense: DenseText | None = None
    pipeline_tables: bool = False


@dataclass(frozen=True, slots=True)
class Compiled:
    """A program lowered to one engine."""

    name: str
    program_hash: str
    target: Target
    views: Mapping[str, CompiledView]
