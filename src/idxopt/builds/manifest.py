"""The manifest of a build: immutable, one document in `.idxopt-builds` (contract 5)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from idxopt.hashing import digest

BUILD_ID_DIGITS = 8


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class SourceSnapshot(_Data):
    """The data that a build was made from. `kind` file, folder, beir or index; `place` as the user named it.

    `marks` is what tells later data from this (file: size and modification time by path; index: uuid and checkpoints by
    shard). `digest` covers ids and contents of all documents in reading order; it is known only after they were read.
    """

    kind: Literal["file", "folder", "beir", "index"]
    place: str
    marks: dict[str, Any]
    documents: int
    digest: str


class ViewBuild(_Data):
    """One physical index of a build."""

    index: str
    view_hash: str
    uuid: str
    rows: int


class TablesRecord(_Data):
    """Frozen corpus tables: stored as chunked documents by digest."""

    digest: str
    documents: int
    created: str


class Generation(_Data):
    build: int = 0
    table: int = 0


class Manifest(_Data):
    """`program` is the canonical program. `generations` by view. `previous` is the build that was live before."""

    schema_: Literal["idxopt-build/1"] = Field(default="idxopt-build/1", alias="schema")
    build: str
    name: str
    program: dict[str, Any]
    program_hash: str
    primary: str
    views: dict[str, ViewBuild]
    generations: dict[str, Generation]
    tables: TablesRecord | None = None
    source: SourceSnapshot
    created: str
    by: str
    message: str = ""
    metrics: dict[str, float] = {}
    previous: str | None = None
    idxopt: str
    engine: str


def build_id(manifest: Manifest) -> str:
    """First 8 hex digits of the sha256 of the manifest's canonical JSON without its id."""
    return digest(manifest.model_dump(mode="json", by_alias=True, exclude={"build"}))[:BUILD_ID_DIGITS]


def sealed(manifest: Manifest) -> Manifest:
    """The manifest with its id filled in: make it with any `build`, then seal it."""
    return manifest.model_copy(update={"build": build_id(manifest)})
