"""The closed set of the sidecar's refusals, each with its status, in OpenAI's error shape."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Literal

import orjson
from pydantic_core import ErrorDetails

from idxopt.errors import ModelError
from idxopt.program.wording import plain_words

Code = Literal[
    "invalid_json",
    "invalid_request",
    "model_not_found",
    "wrong_kind_of_model",
    "unauthorized",
    "not_found",
    "method_not_allowed",
    "too_large",
    "text_too_long",
    "body_too_slow",
    "bodies_full",
    "queue_full",
    "timed_out",
    "model_failed",
    "shutting_down",
    "bug",
]
STATUS: Mapping[Code, int] = {
    "invalid_json": 400,
    "invalid_request": 422,
    "model_not_found": 404,
    "wrong_kind_of_model": 400,
    "unauthorized": 401,
    "not_found": 404,
    "method_not_allowed": 405,
    "too_large": 413,
    "text_too_long": 413,
    "body_too_slow": 408,
    "bodies_full": 429,
    "queue_full": 429,
    "timed_out": 504,
    "model_failed": 500,
    "shutting_down": 503,
    "bug": 500,
}
_TYPES = {401: "authentication_error", 429: "rate_limit_error"}
_LONGEST_RETRY_S = 60
_TEXT_NUMBER = re.compile(r"\btext \d+\b")


class Refusal(Exception):
    """An answer that is no 200. `param`: the field or item that is to blame."""

    def __init__(
        self, code: Code, message: str, param: str | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param
        self.headers = dict(headers or {})

    @property
    def status(self) -> int:
        return STATUS[self.code]

    def body(self) -> bytes:
        """`{"error": {...}}`."""
        kind = _TYPES.get(self.status, "invalid_request_error" if self.status < 500 else "server_error")
        return orjson.dumps({"error": {"message": self.message, "type": kind, "param": self.param, "code": self.code}})


def of_validation(errors: Sequence[ErrorDetails]) -> Refusal:
    """The first mistake of a request's body; its values are not repeated."""
    first = errors[0]
    loc = [str(part) for part in first["loc"] if part != "body"]
    if first["type"] == "json_invalid":
        return Refusal("invalid_json", "the body is not valid JSON")
    if not loc:
        return Refusal("invalid_request", "the body must be a JSON object, sent as application/json")
    if first["type"] == "missing":
        return Refusal("invalid_request", f"`{loc[0]}` is missing", loc[0])
    cause, remedy = plain_words(first)
    return Refusal("invalid_request", f"`{loc[0]}` {cause}: {remedy}" if remedy else f"`{loc[0]}` {cause}", loc[0])


def of_model(error: ModelError, field_name: str) -> Refusal:
    """A model that failed; the item is the client's, not the batch's."""
    message, param = error.message, field_name
    if error.item is not None:
        message = _TEXT_NUMBER.sub(f"text {error.item}", message)
        param = f"{field_name}[{error.item}]"
        message = f"{param}: {message}"
    return Refusal("model_failed", f"{message}; {error.remedy}" if error.remedy else message, param)


def queue_full(waiting_tokens: int, tokens_per_second: float) -> Refusal:
    """With Retry-After: when the queue should be empty, at the rate of late."""
    seconds = math.ceil(waiting_tokens / tokens_per_second) if tokens_per_second > 0 else 1
    seconds = max(1, min(seconds, _LONGEST_RETRY_S))
    return Refusal(
        "queue_full", f"too many texts wait already; try again in {seconds} s", headers={"Retry-After": str(seconds)}
    )
