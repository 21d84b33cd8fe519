"""`idxopt demo`: two programs over the standard library's documentation, from plan to explain."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from idxopt.cli.settings import Settings
from idxopt.errors import ExitCode


def demo(
    settings: Settings,
    folder: Annotated[
        Path, typer.Option("--folder", metavar="FOLDER", help="Where corpus, configuration and index go.")
    ] = Path("idxopt-demo"),
) -> ExitCode:
    """Build, compare and query an index of Python's own documentation, without any server.

    Example: idxopt demo --folder /tmp/idxopt-demo
    """
    from idxopt.cli.showcase import run_demo

    run_demo(settings, folder)
    return ExitCode.OK
