"""`idxopt status`: what is live, whether anybody changed it, how old its data is."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from idxopt.cli import options
from idxopt.cli.session import Session, session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, hint, print_tables, say, write
from idxopt.cli.suggestions import other_name
from idxopt.cli.units import parse_seconds
from idxopt.errors import ExitCode, LockedError, SourceError

if TYPE_CHECKING:
    from idxopt.deploy.status import Status

_POLL_S = 1.0


def status(
    settings: Settings,
    name: options.Name,
    check: Annotated[bool, typer.Option("--check", help="Exit code 2 when somebody changed what idxopt made.")] = False,
    source: options.Source = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until no run holds the lock.")] = False,
    timeout: Annotated[str, typer.Option("--timeout", metavar="TIME", help="How long --wait waits.")] = "10m",
) -> ExitCode:
    """Show what is live under a name.

    Example: idxopt status handbook --check
    """
    from idxopt.cli.render.states import status_json, status_lines, view_table

    limit = parse_seconds(timeout, "--timeout")
    with session(settings) as work:
        if wait:
            _wait(work, name, limit)
        found = _read(work, name, source)
        if settings.json:
            emit_json(status_json(found))
        else:
            for line in status_lines(found):
                write(line)
            if found.live is None:
                hint(settings, other_name(work, name))
            if found.views:
                print_tables(settings, view_table(found))
    return ExitCode.CHANGES if check and found.drifted else ExitCode.OK


def _read(work: Session, name: str, given: str | None) -> Status:
    """The status. Documents that only the profile names may be gone: that is told, and no error."""
    from idxopt.builds.resolver import Resolver
    from idxopt.deploy.status import read_status

    place = work.source_place(given)
    live = Resolver(work.engine, name).live() if place is not None else None
    source = None
    if place is not None and live is not None:
        try:
            source = work.open_source(place, live.program)
        except SourceError as error:
            if given is not None:
                raise
            say(work.settings, f"warning: {error.place or place}: {error.message}")
    return read_status(work.engine, name, cluster=work.cluster, source=source)


def _wait(work: Session, name: str, limit: float) -> None:
    from idxopt.builds.lock import locked_error
    from idxopt.builds.lockrecord import read_lock

    deadline = time.monotonic() + limit
    told = False
    while (held := read_lock(work.engine, name)) is not None:
        if time.monotonic() >= deadline:
            error = locked_error(held[0])
            raise LockedError(f"still locked after {limit:g} s: {error.message}", place=name, remedy=error.remedy)
        if not told:
            say(work.settings, f"waiting: {held[0].who} runs `{held[0].operation}` since {held[0].created}")
            told = True
        time.sleep(min(_POLL_S, max(0.0, deadline - time.monotonic())))
