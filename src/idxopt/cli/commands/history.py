"""`idxopt history`: what was put live, when, by whom, why."""

from __future__ import annotations

from idxopt.cli import options
from idxopt.cli.session import session
from idxopt.cli.settings import Settings
from idxopt.cli.streams import emit_json, hint, print_tables, write
from idxopt.cli.suggestions import other_name
from idxopt.errors import ExitCode


def history(settings: Settings, name: options.Name) -> ExitCode:
    """Show the builds of a name, oldest first; `current` marks the live one.

    Example: idxopt history handbook
    """
    from idxopt.builds.resolver import Resolver
    from idxopt.builds.state import StateStore
    from idxopt.cli.render.states import history_json, history_table

    with session(settings) as work:
        events = StateStore(work.engine).history(name)
        live = Resolver(work.engine, name).live()
        other = "" if events else other_name(work, name)
    current = live.manifest.build if live else None
    if settings.json:
        emit_json(history_json(name, events, current))
    elif events:
        print_tables(settings, history_table(events, current))
    else:
        write(f"{name}: no history on this cluster")
        hint(settings, other)
    return ExitCode.OK
