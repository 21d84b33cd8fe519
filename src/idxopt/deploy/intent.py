"""What the user asks for, and the plan that answers it, as data."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from idxopt.builds.manifest import Generation
from idxopt.deploy.changes import Change, Data, ProgramChange
from idxopt.deploy.steps import BuildIndex, Step, Switch

PLAN_SCHEMA = "idxopt-plan/1"


class Layout(Data):
    """Shards and replicas of every index of the build, from the cluster profile."""

    shards: int = 1
    replicas: int = 0


class Intent(Data):
    """A program and what the command line says about putting it live.

    `rebuild`: new physical indices even where nothing changed. `only`: build these views alone and do not switch
    unless all others are there. `take_over`: the foreign index whose alias `{name}` we may take.
    """

    program: dict[str, Any]
    layout: Layout = Layout()
    rebuild: bool = False
    refresh: bool = False
    only: tuple[str, ...] = ()
    take_over: str | None = None


class TextsEstimate(Data):
    """Texts that a generator must make, and what that may cost at list price: the input as it is counted, and the
    longest answers that are asked for (PRIME's c(D): tokens of each section, and of the prompt around it). `model`: the
    program's name of it; `id`: the model's own. `later`: steps that have texts written from these or after them: they
    come on top, and cannot be counted before these are made.
    """

    model: str
    id: str
    texts: int
    tokens_in: int
    tokens_out: int
    money: float
    currency: str = ""
    later: tuple[str, ...] = ()


class Estimate(Data):
    """What the build will cost, from `sampled` documents of the source (never a scan of the corpus). `vectors`: rows to
    embed, whose time is not in `seconds`. `generated`: texts that are not in the store yet.
    """

    sampled: int
    documents: int
    documents_exact: bool
    rows: int
    bytes: int
    seconds: float
    shards: int
    vectors: int = 0
    generated: tuple[TextsEstimate, ...] = ()


class Lag(Data):
    """How the source differs from what the live build was made from (shown, never a change)."""

    what: str


class Plan(Data):
    """Everything that apply needs to do what was shown, and nothing secret.

    `marks` are the fingerprints of all that the plan names; apply refuses when one of them moved. `generations` by
    view.
    """

    schema_: Literal["idxopt-plan/1"] = Field(default="idxopt-plan/1", alias="schema")
    name: str
    cluster: str
    cluster_uuid: str
    intent: Intent
    program_hash: str
    live: str
    target: str = ""
    generations: dict[str, Generation] = {}
    program_changes: tuple[ProgramChange, ...] = ()
    changes: tuple[Change, ...] = ()
    steps: tuple[Step, ...] = ()
    marks: dict[str, str] = {}
    notes: tuple[str, ...] = ()
    lost_on_write: dict[str, tuple[str, ...]] = {}
    source: str | None = None
    estimate: Estimate | None = None
    lag: tuple[Lag, ...] = ()

    @property
    def empty(self) -> bool:
        """True when applying would change nothing."""
        return not self.steps

    @property
    def builds(self) -> tuple[BuildIndex, ...]:
        return tuple(step for step in self.steps if isinstance(step, BuildIndex))

    @property
    def switches(self) -> bool:
        return any(isinstance(step, Switch) for step in self.steps)
