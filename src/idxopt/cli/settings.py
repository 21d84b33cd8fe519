"""Options that every command takes, before and after the subcommand; and the decorator that adds them.

An option given after the subcommand wins over one given before it, and both win over a variable.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from idxopt.cli.interruption import Stopped, stopped_by
from idxopt.errors import ExitCode

PANEL = "Options of every command"


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options of every command say. `json` implies `no_input`."""

    cluster: str | None = None
    config: str | None = None
    json: bool = False
    verbose: int = 0
    quiet: int = 0
    debug: bool = False
    no_color: bool = False
    no_input: bool = False

    def over(self, outer: Settings) -> Settings:
        """These settings, with the outer ones (given before the subcommand) where nothing was said here."""
        return Settings(
            cluster=self.cluster or outer.cluster,
            config=self.config or outer.config,
            json=self.json or outer.json,
            verbose=self.verbose + outer.verbose,
            quiet=self.quiet + outer.quiet,
            debug=self.debug or outer.debug,
            no_color=self.no_color or outer.no_color,
            no_input=self.no_input or outer.no_input,
        )

    @property
    def asks(self) -> bool:
        """True when questions are allowed (whether there is a terminal is another matter)."""
        return not (self.json or self.no_input or os.environ.get("IDXOPT_NO_INPUT", "") not in ("", "0"))


def _options() -> dict[str, Any]:
    """Parameter name to annotation; `default` is the same for both places."""
    return {
        "cluster": Annotated[
            str | None,
            typer.Option(
                "--cluster", metavar="NAME", rich_help_panel=PANEL, help="Cluster profile (variable: IDXOPT_CLUSTER)."
            ),
        ],
        "config": Annotated[
            str | None,
            typer.Option(
                "--config",
                metavar="FILE",
                rich_help_panel=PANEL,
                help="Configuration instead of the nearest idxopt.toml (variable: IDXOPT_CONFIG).",
            ),
        ],
        "json": Annotated[
            bool, typer.Option("--json", rich_help_panel=PANEL, help="One JSON document on stdout; never asks.")
        ],
        "verbose": Annotated[
            int,
            typer.Option("-v", "--verbose", count=True, rich_help_panel=PANEL, help="More detail; -vv for the log."),
        ],
        "quiet": Annotated[int, typer.Option("-q", "--quiet", count=True, rich_help_panel=PANEL, help="No progress.")],
        "debug": Annotated[
            bool, typer.Option("--debug", rich_help_panel=PANEL, help="Show the traceback of an error.")
        ],
        "no_color": Annotated[
            bool, typer.Option("--no-color", rich_help_panel=PANEL, help="No colour (also: variable NO_COLOR).")
        ],
        "no_input": Annotated[
            bool,
            typer.Option(
                "--no-input", rich_help_panel=PANEL, help="Never ask; refuse instead (variable: IDXOPT_NO_INPUT)."
            ),
        ],
    }


_DEFAULTS: dict[str, Any] = {
    "cluster": None,
    "config": None,
    "json": False,
    "verbose": 0,
    "quiet": 0,
    "debug": False,
    "no_color": False,
    "no_input": False,
}


def command(function: Callable[..., ExitCode]) -> Callable[..., int]:
    """A command: gets its merged `Settings` as first argument, and returns an exit code."""
    signature = inspect.signature(function, eval_str=True)
    own = list(signature.parameters.values())[1:]

    @functools.wraps(function)
    def run(context_: typer.Context, **given: Any) -> int:
        here = Settings(**{name: given.pop(name) for name in _DEFAULTS})
        try:
            return int(function(_merged(context_, here), **given))
        except KeyboardInterrupt as interrupt:
            raise Stopped(stopped_by(interrupt)) from None

    _set_signature(run, own, returns=int)
    return run


def group(function: Callable[..., None]) -> Callable[..., None]:
    """The callback of the application or of a group: keeps the settings that stand before the subcommand."""
    signature = inspect.signature(function, eval_str=True)
    own = list(signature.parameters.values())[1:]

    @functools.wraps(function)
    def run(context_: typer.Context, **given: Any) -> None:
        context_.obj = _merged(context_, Settings(**{name: given.pop(name) for name in _DEFAULTS}))
        function(context_, **given)

    _set_signature(run, own, returns=None)
    return run


def _merged(context: typer.Context, here: Settings) -> Settings:
    """With what stands further left; a context starts with its parent's object."""
    return here.over(context.obj) if isinstance(context.obj, Settings) else here


def _set_signature(function: Any, own: list[inspect.Parameter], returns: Any) -> None:
    """What Typer sees: the context, the command's own parameters, then the options of every command."""
    keyword = inspect.Parameter.KEYWORD_ONLY
    parameters = [inspect.Parameter("context_", keyword, annotation=typer.Context)]
    parameters += [parameter.replace(kind=keyword) for parameter in own]
    parameters += [
        inspect.Parameter(name, keyword, default=_DEFAULTS[name], annotation=annotation)
        for name, annotation in _options().items()
    ]
    function.__signature__ = inspect.Signature(parameters, return_annotation=returns)
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    del function.__wrapped__
