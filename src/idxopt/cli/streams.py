"""stdout for results, stderr for everything else; colour and width decided once."""

from __future__ import annotations

import json
import logging
import os
import re
import sys
from typing import TYPE_CHECKING, Any

from idxopt.cli.units import harmless

if TYPE_CHECKING:
    from collections.abc import Collection

    from rich.console import Console
    from rich.table import Table

    from idxopt.cli.settings import Settings

PLAIN_WIDTH = 160
"""Columns of a table that goes to a file or a pipe."""
_BEYOND_JSON = re.compile("[\x7f-\x9f]")
"""Control characters that JSON does not escape by itself."""


def emit_json(document: Any) -> None:
    """The one JSON document of a command."""
    text = json.dumps(document, ensure_ascii=False, indent=2, default=_plain)
    sys.stdout.write(_BEYOND_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")
    sys.stdout.flush()


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json", by_alias=True)
    if isinstance(value, frozenset | set):
        return sorted(value)
    return dict(value) if hasattr(value, "keys") else str(value)


def write(text: str = "") -> None:
    """A line of the result."""
    sys.stdout.write(f"{harmless(text)}\n")


def say(settings: Settings, text: str) -> None:
    """A line beside the result, on stderr; not with -q."""
    if not settings.quiet:
        sys.stdout.flush()
        sys.stderr.write(f"{harmless(text)}\n")
        sys.stderr.flush()


def hint(settings: Settings, text: str) -> None:
    """What to do next; not with -q, and not where IDXOPT_IN_AUTOMATION says that nobody reads it."""
    if os.environ.get("IDXOPT_IN_AUTOMATION", "") in ("", "0"):
        say(settings, text)


def console(settings: Settings, *, stderr: bool = False) -> Console:
    """A rich console for tables. `--no-color` and NO_COLOR switch colour off, FORCE_COLOR on; a pipe gets none."""
    from idxopt.cli.render.harmless import HarmlessConsole

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else PLAIN_WIDTH
    no_color = True if settings.no_color else None
    return HarmlessConsole(file=stream, no_color=no_color, highlight=False, width=width, emoji=False)


def print_tables(settings: Settings, *tables: Table, spare: Collection[str] = ()) -> None:
    """Rich tables on stdout, with an empty line between them. Columns headed `spare` go where the width is short."""
    from idxopt.cli.render.narrow import fitted

    out = console(settings)
    for number, table in enumerate(tables):
        if number:
            out.print()
        out.print(fitted(table, out, spare))


def start_log(settings: Settings) -> None:
    """The log goes to stderr: warnings, with -v what is done, with -vv everything; IDXOPT_LOG names a level."""
    level = {0: logging.WARNING, 1: logging.INFO}.get(settings.verbose, logging.DEBUG)
    levels = logging.getLevelNamesMapping()
    asked = os.environ.get("IDXOPT_LOG", "")
    named = levels.get(asked.upper())
    if asked and named is None:
        say(settings, f"warning: IDXOPT_LOG={asked} names no level; use debug, info, warning or error")
    logging.basicConfig(level=logging.ERROR, format="%(levelname)s %(name)s: %(message)s", force=True)
    logging.getLogger("idxopt").setLevel(named if named is not None and not settings.verbose else level)
    if level == logging.DEBUG or named == logging.DEBUG:
        logging.getLogger().setLevel(logging.INFO)
