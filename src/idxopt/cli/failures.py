"""The one place where errors are shown: `error: place: message` and `remedy: ...`, or one JSON document."""

from __future__ import annotations

import re
import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import typer

from idxopt.cli.interruption import Stopped, stopped_by
from idxopt.cli.streams import emit_json
from idxopt.cli.units import harmless
from idxopt.errors import ExitCode, IdxoptError

_USAGE = typer.BadParameter.__mro__[1]  # UsageError, whose module differs between releases of Typer
_CLICK = typer.BadParameter.__mro__[2]
_HELP_SHOWN = "NoArgsIsHelpError"
_EXTRA = re.compile(r"got unexpected extra arguments?(?:\(s\))? \((.*)\)")
_PARSED = re.compile(r"Input should be a valid (\w+)(?:, .*)?$")
_KINDS = {"integer": "whole number"}


@dataclass(frozen=True, slots=True)
class Failure:
    """An error as it is shown."""

    exit_code: int
    code: str
    message: str
    remedy: str | None = None
    path: str | None = None

    def document(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, "remedy": self.remedy, "path": self.path}}

    def lines(self) -> list[str]:
        shown = [f"error: {self.path}: {self.message}" if self.path else f"error: {self.message}"]
        return [*shown, f"remedy: {self.remedy}"] if self.remedy else shown


def report(error: BaseException, arguments: Sequence[str]) -> int:
    """Shows an error and returns the exit code. With `--debug` the traceback comes first."""
    if type(error).__name__ == _HELP_SHOWN:  # raised after the help was printed
        return ExitCode.OK
    words = _before_separator(arguments)
    if "--debug" in words:
        traceback.print_exception(error, file=sys.stderr)
    failure = failure_of(error)
    if "--json" in words:
        emit_json(failure.document())
    else:
        _write(failure.lines())
    return failure.exit_code


def failure_of(error: BaseException) -> Failure:
    """Any exception as a failure with its exit code."""
    if isinstance(error, IdxoptError):
        return Failure(error.exit_code, error.code, error.message, error.remedy, error.place)
    if isinstance(error, Stopped):
        told = "stopped" if error.kept is None else f"stopped; {error.kept}"
        return Failure(error.exit_code, "stopped", told, error.remedy)
    if isinstance(error, KeyboardInterrupt):
        return failure_of(Stopped(stopped_by(error)))
    if isinstance(error, typer.Abort):
        return Failure(ExitCode.ERROR, "aborted", "stopped at the question; nothing was changed")
    if isinstance(error, _USAGE):
        return _usage(error)
    if isinstance(error, _CLICK):
        return Failure(ExitCode.ERROR, "error", _message(error))
    what = " ".join(f"{type(error).__name__}: {error}".split())
    return Failure(ExitCode.ERROR, "bug", what, "this is a bug; run again with --debug and report what it prints")


def _usage(error: BaseException) -> Failure:
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "idxopt"
    message, remedy = _message(error), f"see `{command} --help`"
    if extra := _EXTRA.fullmatch(message):
        message = f"has an argument too many: {extra[1]}"
        if command.endswith((" search", " explain")):
            remedy = f'quote the query, as in {command} NAME "rotate api keys"'
    return Failure(ExitCode.USAGE, "usage", message, remedy, command)


def _message(error: BaseException) -> str:
    """Click's message as a sentence like ours: lower case first, no full stop."""
    text = str(error.format_message()) if hasattr(error, "format_message") else str(error)
    text = _PARSED.sub(
        lambda found: f"is no {_KINDS.get(found[1], found[1])}", " ".join(text.split()).removesuffix(".")
    )
    return text[:1].lower() + text[1:]


def _before_separator(arguments: Sequence[str]) -> Sequence[str]:
    return arguments[: list(arguments).index("--")] if "--" in arguments else arguments


def _write(lines: Sequence[str]) -> None:
    sys.stdout.flush()
    sys.stderr.write("".join(f"{harmless(line)}\n" for line in lines))
    sys.stderr.flush()
