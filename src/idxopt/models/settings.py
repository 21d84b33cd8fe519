"""Where a model of a program runs: one `[models."ID"]` table of idxopt.toml. Nothing here changes what is stored."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

Provider = Literal["onnx", "sentence-transformers", "http"]
Pooling = Literal["mean", "cls", "last"]
Dtype = Literal["float32", "float16", "bfloat16"]


class ModelSettings(BaseModel):
    """How one model is reached; the table's key is the model's id.

    `path`: folder of a local model; `file`: the ONNX file inside, `tokenizer`: a folder or tokenizer.json when it is
    not in `path`. `url`, `model` (the name that the server knows; the id where left out), `key` (reference to a
    secret), `ca`: of a server. `pooling`: as the model's folder says where left out. `batch_tokens`: padded tokens of
    one batch; see `tokens_at_once`. `price_input`, `price_output`: of a million tokens, in `currency`; a budget
    wants both written (0 for a model that costs nothing).
    """

    model_config = ConfigDict(extra="forbid", frozen=True, protected_namespaces=())

    provider: Provider
    path: str | None = None
    file: str | None = None
    tokenizer: str | None = None
    url: str | None = None
    model: str | None = None
    key: str | None = None
    ca: str | None = None
    device: str | None = None
    dtype: Dtype = "float32"
    pooling: Pooling | None = None
    batch_tokens: Annotated[int, Field(ge=16, le=10_000_000)] = 8_192
    threads: Annotated[int, Field(ge=1, le=1_024)] | None = None
    timeout_s: Annotated[float, Field(gt=0, le=3_600)] = 60.0
    concurrency: Annotated[int, Field(ge=1, le=256)] = 4
    retries: Annotated[int, Field(ge=0, le=20)] = 4
    price_input: Annotated[float, Field(ge=0)] | None = None
    price_output: Annotated[float, Field(ge=0)] | None = None
    currency: Annotated[str, Field(min_length=1, max_length=8)] = "USD"

    @model_validator(mode="after")
    def _place(self) -> ModelSettings:
        if self.provider == "onnx" and not self.path:
            raise ValueError("the provider onnx needs a path: name the model's folder")
        if self.provider == "http" and not self.url:
            raise ValueError('the provider http needs a url: name the server, like "http://127.0.0.1:8080/v1"')
        if self.url and "@" in self.url.partition("://")[2].partition("/")[0]:
            raise ValueError("the address holds a user or password: give a key as a reference")
        return self

    def tokens_at_once(self, usual: int) -> int:
        """`batch_tokens` where the table sets it, else what is usual for the device."""
        return self.batch_tokens if "batch_tokens" in self.model_fields_set else usual
