"""A canary: a build beside the live one that answers a share of the queries.

One document a name, beside the manifests: whoever may read builds may read it. It holds only while its incumbent is
the live build, so one that a killed run left behind changes nothing.
"""

from __future__ import annotations

import contextlib
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from idxopt.builds import names
from idxopt.builds.state import state_document
from idxopt.engines.port import Engine, Reader, Version
from idxopt.errors import BuildError, NotFound

Arm = Literal["incumbent", "candidate"]
"""The live build, or the build beside it."""

STARTED, STOPPED, ENDED = "canary start", "canary stop", "canary end"
"""Events of the history; `build` is the candidate. ENDED: an apply or a rollback moved the readers."""


class Canary(BaseModel):
    """Two builds and the share of queries (0 to 1) that go to the candidate.

    `salt` decides with the share which keys those are. `log`: where the run log is, as the one who started it named it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    incumbent: str
    candidate: str
    share: float = Field(gt=0, lt=1)
    salt: str
    started: str
    who: str
    log: str | None = None
    message: str = ""


def read_canary(reader: Reader, name: str) -> tuple[Canary, Version] | None:
    """The document of a name, in force or not. Raises BuildError where it cannot be read as one."""
    found = state_document(reader, names.BUILDS_INDEX, _canary_id(name))
    if found is None:
        return None
    try:
        return Canary.model_validate(found.source["canary"]), found.version
    except (KeyError, ValidationError) as error:
        raise BuildError(
            f"the record of the canary cannot be read ({_reason(error)})",
            place=name,
            remedy=f"`idxopt canary stop {name}` removes it; the live build serves all queries",
        ) from error


def _reason(error: KeyError | ValidationError) -> str:
    if isinstance(error, KeyError):
        return f"it lacks {error}"
    first = error.errors(include_url=False, include_input=False)[0]
    return ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))


def running_canary(reader: Reader, name: str, live: str | None) -> Canary | None:
    """The canary that is in force: its incumbent is the live build."""
    found = read_canary(reader, name)
    return found[0] if found is not None and live is not None and found[0].incumbent == live else None


def put_canary(engine: Engine, canary: Canary, *, over: Version | None) -> Version:
    """Stores it; `over`: the version of a record that is no longer in force. Conflict where another run was faster."""
    source = {"kind": "canary", "name": canary.name, "build": canary.candidate, "canary": canary.model_dump()}
    return engine.put_document(
        names.BUILDS_INDEX, _canary_id(canary.name), source, create=over is None, expect=over, refresh=True
    )


def delete_canary(engine: Engine, name: str, *, expect: Version | None = None) -> None:
    """Removes it; one that is gone already is fine."""
    with contextlib.suppress(NotFound):
        engine.delete_document(names.BUILDS_INDEX, _canary_id(name), expect=expect)


def has_canary(reader: Reader, name: str) -> bool:
    """Whether there is a document, whatever it says."""
    return state_document(reader, names.BUILDS_INDEX, _canary_id(name)) is not None


def _canary_id(name: str) -> str:
    return f"canary:{name}"
