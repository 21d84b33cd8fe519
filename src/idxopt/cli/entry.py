"""`main`: runs one command, and is the only place where an exception becomes an exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from idxopt.cli.failures import report
from idxopt.cli.interruption import terminable


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line (`sys.argv` without the program by default) and returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    _writable_streams()
    with terminable():
        try:
            from typer.main import get_command

            from idxopt.cli.app import app

            result = get_command(app).main(args=given, prog_name="idxopt", standalone_mode=False)
            sys.stdout.flush()
            return int(result or 0)
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last line of defence
            return report(error, given)
        except SystemExit as stop:  # a reader of our output went away
            return stop.code if isinstance(stop.code, int) else 1


def _writable_streams() -> None:
    """Text that the terminal's encoding lacks is shown escaped instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
