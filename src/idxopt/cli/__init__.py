"""The command line: one command a file in `commands`, nothing there but wiring; `render` turns answers into text.

Results go to stdout; progress, log, prompts and errors to stderr; with `--json` stdout holds exactly one document.
"""

from idxopt.cli.entry import main

__all__ = ["main"]
