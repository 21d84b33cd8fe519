"""One cluster profile of idxopt.toml."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from idxopt.config.secrets import SecretReference

LOCAL = "local"
"""The profile that is always there: the embedded engine in a folder beside the configuration."""


class Auth(BaseModel):
    """Credentials, all of them references. `user` may be plain: it is no secret."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    user: str | None = None
    password: SecretReference | None = None
    client_cert: str | None = None
    client_key: str | None = None

    @model_validator(mode="after")
    def _pairs(self) -> Auth:
        if (self.user is None) != (self.password is None):
            raise ValueError("user and password belong together")
        if self.client_key is not None and self.client_cert is None:
            raise ValueError("client_key needs client_cert")
        return self


class Profile(BaseModel):
    """A named place to build.

    `ttl_s`, `heartbeat_s`: the lock's time to live and heartbeat (contract 7). `keep`: old builds kept beside the live
    one. `grace_s`: how long an old index stays after readers moved. `source`: where the documents come from when the
    command names none. `hnsw_rows`: vectors of an embedded index beyond which it is searched through graphs (extra
    `hnsw`).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    engine: Literal["embedded", "opensearch"] = "opensearch"
    url: str | list[str] | None = None
    folder: str | None = None
    auth: Auth = Auth()
    ca: str | None = None
    verify: bool = True
    timeout_s: Annotated[float, Field(gt=0, le=3_600)] = 30.0
    shards: Annotated[int, Field(ge=1, le=1_024)] = 1
    replicas: Annotated[int, Field(ge=0, le=20)] = 0
    source: str | None = None
    max_document_bytes: Annotated[int, Field(ge=1)] = 32 * 1024 * 1024
    workers: Annotated[int, Field(ge=1, le=64)] = 2
    keep: Annotated[int, Field(ge=0, le=100)] = 1
    grace_s: Annotated[float, Field(ge=0)] = 600.0
    ttl_s: Annotated[float, Field(gt=0)] = 60.0
    heartbeat_s: Annotated[float, Field(gt=0)] = 10.0
    on_leg_failure: Literal["fail", "degrade"] = "fail"
    on_model_failure: Literal["fail", "lexical"] = "fail"
    hnsw_rows: Annotated[int, Field(ge=1)] = 200_000

    @model_validator(mode="after")
    def _place(self) -> Profile:
        if self.engine == "embedded" and self.folder is None:
            raise ValueError("an embedded profile needs a folder")
        if self.engine != "embedded" and not self.url:
            raise ValueError("a profile needs a url")
        for address in [self.url] if isinstance(self.url, str) else self.url or []:
            if "@" in address.partition("://")[2].partition("/")[0]:
                raise ValueError("the address holds a user or password; give them as references under auth")
        if self.heartbeat_s * 2 > self.ttl_s:
            raise ValueError("ttl_s must be at least twice heartbeat_s")
        return self
