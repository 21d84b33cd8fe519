"""The steps of a plan:

typed data. Planning makes the list, apply walks it, the dry run prints it (one list for all three).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from idxopt.deploy.changes import Data


class PutTemplate(Data):
    """Stores the view's index template with that priority."""

    step: Literal["put_template"] = "put_template"
    view: str
    name: str
    priority: int


class PutPipeline(Data):
    """Stores the view's ingest pipeline."""

    step: Literal["put_pipeline"] = "put_pipeline"
    view: str
    name: str


class BuildIndex(Data):
    """Creates the physical index, reads it back, loads, verifies.

    An unfinished one of ours is taken up or dropped first.
    """

    step: Literal["build_index"] = "build_index"
    view: str
    index: str


class RestoreSettings(Data):
    """Sets dynamic settings of a served index back to the compiled ones."""

    step: Literal["restore_settings"] = "restore_settings"
    index: str
    settings: dict[str, str | None]


class RestoreMeta(Data):
    """Writes our mark (`_meta.idxopt`) back, keeping what others have in `_meta`."""

    step: Literal["restore_meta"] = "restore_meta"
    view: str
    index: str


class Switch(Data):
    """The one commit: all aliases to the wanted state in ONE compare-and-swap request (contract 5).

    `build` is the build to be marked live: "" when apply makes a new one.
    """

    step: Literal["switch"] = "switch"
    build: str = ""


Step = Annotated[
    PutTemplate | PutPipeline | BuildIndex | RestoreSettings | RestoreMeta | Switch, Field(discriminator="step")
]


def touches(step: Any) -> frozenset[str]:
    """The fingerprint keys that a step itself changes."""
    match step:
        case PutTemplate(name=name):
            return frozenset({f"template:{name}"})
        case PutPipeline(name=name):
            return frozenset({f"pipeline:{name}"})
        case BuildIndex(index=index) | RestoreSettings(index=index) | RestoreMeta(index=index):
            return frozenset({f"index:{index}"})
        case _:
            return frozenset()
