"""`main`: runs one command, and is the only place where an exception becomes an exit code.

Little is imported before `main` stands: a Ctrl-C in the first tenths of a second is handled like any other.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from idxopt.cli.interruption import Terminated, stopped_by, terminable
from idxopt.cli.outlets import outlets
from idxopt.errors import ExitCode


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line (`sys.argv` without the program by default) and returns its exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        with terminable() as terminated, outlets() as output:
            code = _run(given, terminated)
            output.flush()
            if output.failure is None:
                return code
            why = output.failure.strerror or output.failure
            sys.stderr.write(f"error: standard output: cannot be written ({why}); what the command did is done\n")
            return ExitCode.ERROR if code in (ExitCode.OK, ExitCode.CHANGES) else code
    except KeyboardInterrupt as interrupt:  # while the first one was being dealt with
        os.write(2, b"error: stopped\nremedy: run the command again\n")
        return stopped_by(interrupt)


def _run(given: Sequence[str], terminated: Sequence[Terminated]) -> int:
    try:
        from typer.main import get_command

        from idxopt.cli.app import app

        result = get_command(app).main(args=list(given), prog_name="idxopt", standalone_mode=False)
        if result == ExitCode.INTERRUPTED:  # what Typer makes of an interrupt outside the command proper
            raise terminated[-1] if terminated else KeyboardInterrupt
        return int(result or 0)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the last line of defence
        return _report(error, given)


def _report(error: BaseException, given: Sequence[str]) -> int:
    from idxopt.cli.failures import report

    return report(error, given)
