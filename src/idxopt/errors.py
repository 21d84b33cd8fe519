"""The one exception tree of idxopt.

::

    IdxoptError                      exit 1
    |-- UsageError                   exit 64   the command line itself is wrong
    |-- ConfigError                  exit 1    idxopt.toml, environment, secret references
    |-- ProgramError                 exit 1    program.json (has the JSON path)
    |-- SourceError                  exit 1    documents, queries, judgments (has file and line)
    |-- EvaluationError              exit 1    a query failed, nothing to evaluate
    |-- BuildError                   exit 1    a build or its state cannot be made or read
    |-- ModelError                   exit 1    a model or its server failed, or answered what cannot be used
    |-- EngineError                  exit 1    the engine answered with an error
    |   |-- Unreachable                        no answer, time-out, TLS
    |   |-- Unauthorized                       401
    |   |-- Forbidden                          403
    |   |-- NotFound                           404: index, alias, document, pipeline
    |   |-- Conflict                           409 or a failed compare-and-swap
    |   |-- Overloaded                         429 or 503 after all retries
    |   |-- Rejected                           400: the engine does not accept the request
    |   `-- LegFailed                          a search leg with an error, failed shards or a time-out
    |-- LockedError                  exit 3    another apply holds the lock
    |-- StalePlanError               exit 4    something that the plan names has moved
    |-- GateRefused                  exit 5    a check before the switch did not pass
    `-- BudgetReached                exit 6    the money or token budget is used up

Every error carries one sentence (`message`), where (`place`: file, line, JSON path, index...) and a `remedy`.
The exit codes are those of `ExitCode`; the command line turns an error into its code in one place.
"""

from __future__ import annotations

import enum
from typing import ClassVar


class ExitCode(enum.IntEnum):
    """What the process returns; a test covers each one."""

    OK = 0
    ERROR = 1
    CHANGES = 2
    LOCKED = 3
    STALE = 4
    REFUSED = 5
    BUDGET = 6
    USAGE = 64
    INTERRUPTED = 130
    TERMINATED = 143


class IdxoptError(Exception):
    """Base of everything that idxopt raises on purpose."""

    exit_code: ClassVar[ExitCode] = ExitCode.ERROR
    code: ClassVar[str] = "error"

    def __init__(self, message: str, *, remedy: str | None = None, place: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.place = place

    def __str__(self) -> str:
        parts = [f"{self.place}: {self.message}" if self.place else self.message]
        if self.remedy:
            parts.append(f"Remedy: {self.remedy}")
        return "\n".join(parts)


class UsageError(IdxoptError):
    """The command line asks for something that makes no sense."""

    exit_code = ExitCode.USAGE
    code = "usage"


class ConfigError(IdxoptError):
    """Configuration, environment variable or secret reference is wrong."""

    code = "config"


class ProgramError(IdxoptError):
    """A program is not valid; `place` is `FILE: JSON path` or the path alone."""

    code = "program"


class SourceError(IdxoptError):
    """A document, query or judgment cannot be read; `place` is `FILE:LINE` where there is one."""

    code = "source"


class EvaluationError(IdxoptError):
    """Figures cannot be computed honestly (a query failed, nothing is judged...)."""

    code = "evaluation"


class BuildError(IdxoptError):
    """A build, its manifest or its state cannot be made, read or trusted."""

    code = "build"


class ModelError(IdxoptError):
    """A model or its server failed, or answered what cannot be used. `item`: position of the text that is to blame."""

    code = "model"

    def __init__(
        self, message: str, *, remedy: str | None = None, place: str | None = None, item: int | None = None
    ) -> None:
        super().__init__(message, remedy=remedy, place=place)
        self.item = item


class EngineError(IdxoptError):
    """The engine answered with an error. `status` is the HTTP status where there is one."""

    code = "engine"

    def __init__(
        self, message: str, *, remedy: str | None = None, place: str | None = None, status: int | None = None
    ) -> None:
        super().__init__(message, remedy=remedy, place=place)
        self.status = status


class Unreachable(EngineError):
    """No answer: refused connection, time-out, TLS failure, red cluster."""

    code = "unreachable"


class Unauthorized(EngineError):
    """401: no or wrong credentials."""

    code = "unauthorized"


class Forbidden(EngineError):
    """403: the user may not do this, or the index is read-only."""

    code = "forbidden"


class NotFound(EngineError):
    """404: no such index, alias, document, template or pipeline."""

    code = "not_found"


class Conflict(EngineError):
    """409, or a compare-and-swap whose expectation no longer holds."""

    code = "conflict"


class Overloaded(EngineError):
    """429 or 503 that did not end within the allowed retries."""

    code = "overloaded"


class Rejected(EngineError):
    """400: the engine does not accept the request."""

    code = "rejected"


class LegFailed(EngineError):
    """A search leg answered with an error, failed shards or a time-out (contract 3)."""

    code = "leg_failed"


class LockedError(IdxoptError):
    """Another run holds the lock of this name."""

    exit_code = ExitCode.LOCKED
    code = "locked"


class StalePlanError(IdxoptError):
    """Something that the plan names has moved since it was made."""

    exit_code = ExitCode.STALE
    code = "stale_plan"


class GateRefused(IdxoptError):
    """A check before readers move did not pass; the old build still serves."""

    exit_code = ExitCode.REFUSED
    code = "gate_refused"


class BudgetReached(IdxoptError):
    """The money or token budget is used up."""

    exit_code = ExitCode.BUDGET
    code = "budget_reached"
