"""The `[sidecar]` table of idxopt.toml: limits of the server. Which models there are is said by `[models."ID"]`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from idxopt.config.load import Config, validated
from idxopt.config.secrets import SecretReference
from idxopt.models.ports import Similarity


class SidecarSettings(BaseModel):
    """What the sidecar takes on.

    `token`: reference to the secret that clients send as `Authorization: Bearer`. `rerankers`: ids that are rerankers
    although their folder does not say so, and `maxsim:ID` over an embedder. `similarity`: of embedders; vectors have
    length 1 for cosine, the default. `batch_tokens`: tokens of a batch; `wait_ms`: longest wait of a free model for
    company; `queue`: texts that may wait for one model. `long_texts`: what becomes of a text over the model's limit.
    `max_texts`, `max_text_bytes`, `max_body_bytes`: of one request; `max_held_bytes`: of the bodies of all requests at
    once. `connections`: at once. `body_s`: for a body to arrive whole; `timeout_s`: for one request from then on;
    `drain_s`: for all of them after SIGTERM.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    token: SecretReference | None = None
    rerankers: tuple[str, ...] = ()
    similarity: dict[str, Similarity] = {}
    batch_tokens: Annotated[int, Field(ge=16, le=10_000_000)] = 8_192
    wait_ms: Annotated[float, Field(ge=0, le=1_000)] = 2.0
    queue: Annotated[int, Field(ge=1, le=10_000_000)] = 8_192
    long_texts: Literal["truncate", "refuse"] = "truncate"
    max_texts: Annotated[int, Field(ge=1, le=1_000_000)] = 2_048
    max_text_bytes: Annotated[int, Field(ge=1)] = 1024 * 1024
    max_body_bytes: Annotated[int, Field(ge=1)] = 32 * 1024 * 1024
    max_held_bytes: Annotated[int, Field(ge=1)] = 256 * 1024 * 1024
    connections: Annotated[int, Field(ge=1, le=100_000)] = 1_024
    body_s: Annotated[float, Field(gt=0, le=86_400)] = 60.0
    timeout_s: Annotated[float, Field(gt=0, le=86_400)] = 300.0
    drain_s: Annotated[float, Field(ge=0, le=3_600)] = 30.0

    @model_validator(mode="after")
    def _room(self) -> SidecarSettings:
        if self.queue < self.max_texts:
            raise ValueError("queue must be at least max_texts: a full request would never find room")
        if self.max_held_bytes < self.max_body_bytes:
            raise ValueError("max_held_bytes must be at least max_body_bytes: the largest body would never find room")
        return self


def sidecar_settings(config: Config) -> SidecarSettings:
    """The table of a configuration; defaults where it has none. Raises ConfigError."""
    return validated(SidecarSettings, config.sidecar, f"{config.file}: sidecar")
